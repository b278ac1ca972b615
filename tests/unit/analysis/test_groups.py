"""Kernels in groups: a template's instances with the same causes, worst first."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lmemscope.analysis.groups import Span, distinct_kernels, groups, template_name
from lmemscope.analysis.ranking import arch_order
from lmemscope.model import (
    Cause,
    CauseShare,
    KernelFacts,
    KernelReport,
    PtxasFacts,
    Report,
    SassSites,
    SiteClass,
    SourceLocation,
)
from lmemscope.rules.verdict import judge
from tests.support.builders import changed, facts, kernel_with, local_object, report


def instance(
    name: str, cause: Cause | None = "dynamic-index", *, bytes_: int = 4, object_: str = "table"
) -> KernelReport:
    """A kernel whose only cause has so many bytes at its sites, in as large a frame."""
    if cause is None:
        made = facts(name)
    else:
        sites, table = SassSites(1, 0, bytes_, 0), local_object(cause, name=object_)
        made = changed(
            kernel_with(cause),
            name=name,
            demangled=name,
            objects=(table,),
            causes=(CauseShare.of(cause, (0, table), bytes_, sites),),
            sass=sites,
            ptxas=PtxasFacts(32, bytes_, 0, 0, bytes_, None, 0),
        )
    return KernelReport.of(made, judge(made))


def test_instances_with_the_same_causes_are_one_group() -> None:
    (found,) = groups(report(instance("k<1>"), instance("k<2>", bytes_=16), instance("k<4>")))
    assert (found.name, found.file, found.input, found.archs) == ("k", "a.cu", "a.cu", ("sm_90",))
    assert [kernel.facts.name for _, kernel in found.kernels] == ["k<2>", "k<1>", "k<4>"]
    assert found.instances == 3
    assert found.verdict == found.kernels[0][1].verdict
    assert found.site_bytes == Span(4, 16)
    assert found.frame == Span(4, 16)
    (cause,) = found.causes
    assert (cause.cause, cause.object, cause.frame) == ("dynamic-index", "table", Span(4, 16))
    assert cause.sites == SiteClass(3, 0, 24, 0)


@pytest.mark.parametrize(
    "other",
    [
        instance("k<2>", "rolled-loop"),
        instance("k<2>", object_="other"),
        instance("j<2>"),
        instance("k<2>", None),
    ],
    ids=["cause", "object", "template", "clean"],
)
def test_what_differs_is_another_group(other: KernelReport) -> None:
    assert len(groups(report(instance("k<1>"), other))) == 2


def test_a_template_of_another_file_is_another_group() -> None:
    moved = instance("k<2>")
    elsewhere = replace(moved.facts, location=SourceLocation("b.cu", 3))
    there = changed(moved, facts=elsewhere)
    assert [one.file for one in groups(report(instance("k<1>"), there))] == ["a.cu", "b.cu"]


def both(first: Report, second: Report) -> Report:
    return replace(first, units=(*first.units, *second.units))


def test_architectures_do_not_make_more_instances() -> None:
    two = both(report(instance("k<1>")), report(instance("k<1>"), arch="sm_100"))
    (found,) = groups(two)
    assert found.archs == ("sm_90", "sm_100")
    assert (found.instances, len(found.kernels)) == (1, 2)


def test_a_kernel_counts_once_for_all_architectures() -> None:
    kernels = (instance("k<1>"), instance("k<2>"))
    two = both(report(*kernels), report(*kernels, arch="sm_100"))
    (found,) = groups(two)
    assert (len(found.kernels), distinct_kernels(found.kernels)) == (4, 2)


def test_architectures_sort_by_number() -> None:
    archs = ["sm_90", "sm_75", "sm_100", "sm_90a", ""]
    assert sorted(archs, key=arch_order) == ["", "sm_75", "sm_90", "sm_90a", "sm_100"]


def test_what_moves_most_in_one_kernel_comes_first_and_the_clean_last() -> None:
    made = report(
        instance("clean", None),
        instance("small"),
        instance("many<1>", bytes_=8),
        instance("many<2>", bytes_=8),
        instance("large", bytes_=12),
        instance("spills", "register-spill"),
    )
    found = groups(made)
    assert [one.name for one in found] == ["large", "many", "spills", "small", "clean"]
    assert [one.uses_memory for one in found] == [True, True, True, True, False]
    shuffled = replace(made, units=(replace(made.units[0], kernels=made.units[0].kernels[::-1]),))
    assert [one.name for one in groups(shuffled)] == [one.name for one in found]


def test_what_is_not_known_is_no_zero() -> None:
    def unknown(name: str) -> KernelFacts:
        return facts(name, sass=None, ptxas=None, cubin=None, sites=None, own_sites=None)

    made = [KernelReport.of(one, judge(one)) for one in (unknown("k<1>"), unknown("k<2>"))]
    (found,) = groups(report(*made))
    assert (found.site_bytes, found.frame, found.spills) == (None, None, None)


def test_spans_read_as_one_figure_where_they_are_one() -> None:
    assert str(Span(4, 4)) == "4"
    assert str(Span(4, 16)) == "4–16"


@pytest.mark.parametrize(
    ("demangled", "name"),
    [
        ("plain", "plain"),
        ("void ns::k<(int)32, float>(float*, int)", "ns::k"),
        ("void box<float>::run<1>(float*)", "box::run"),
        ("void k<std::pair<int, ns::v<2>>>(int)", "k"),
        ("void k<a<b>(int)", "k"),
        ("void (anonymous namespace)::k<4>(int)", "k"),
    ],
)
def test_templates_have_names(demangled: str, name: str) -> None:
    assert template_name(demangled) == name
