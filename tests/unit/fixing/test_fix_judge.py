"""What a trial is called by a kernel's figures before and after."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lmemscope import rules
from lmemscope.analysis.cost import Grid
from lmemscope.analysis.ptx.effects import POINTED
from lmemscope.fixing.attempts import has_equals
from lmemscope.fixing.effect import Classes
from lmemscope.fixing.judge import NOTHING, frees, harm, judge, refusal
from lmemscope.fixing.kernel_figures import figures
from lmemscope.fixing.lost import missing_effects
from lmemscope.model import (
    Cause,
    CauseShare,
    Edit,
    FunctionFacts,
    InlineFrame,
    KernelKind,
    KernelReport,
    SassSites,
    SiteClass,
    SourceLocation,
    UnitReport,
    Work,
)
from lmemscope.rewrites.base import Hit, Target
from lmemscope.sources.syntax import Syntax
from tests.support.builders import access, changed, judged, report, source_text


def unit(kernel: KernelReport) -> UnitReport:
    return report(kernel).units[0]


def verdict(before: KernelReport, after: KernelReport) -> str:
    case, finding = next(iter(rules.cases(before.facts, source_text({}))))
    assert finding.cause == "dynamic-index"
    found = judge(unit(before), unit(after), [Hit(before.facts, finding, case)])
    return found[before.facts.name].verdict


@pytest.mark.parametrize(
    ("lines", "expected"), [(32.0, "no-effect"), (28.0, "no-effect"), (10.0, "reduced")]
)
def test_a_loop_that_is_unrolled_otherwise_reduces_nothing(lines: float, expected: str) -> None:
    # 16 copies that run twice, and half of 16 steps that are left over, are 40; rolled it is 32.
    before = replace(judged("k", "dynamic-index"), work=Work(local_lines=40.0))
    fewer = before.facts.causes[0].with_bytes(
        before.facts.causes[0].frame_bytes, SiteClass(1, 1, 4, 4)
    )
    facts = replace(before.facts, causes=(fewer,))
    after = changed(before, facts=facts, work=Work(local_lines=lines))
    assert verdict(before, after) == expected


def test_more_sites_are_not_less_however_often_they_are_taken_to_run() -> None:
    # A loop of unknown length, written out for the largest one there is.
    before = replace(judged("k", "dynamic-index"), work=Work(local_lines=400.0))
    assert before.facts.sass is not None
    copies = replace(before.facts.sass, load_sites=300, load_bytes=1200)
    share = before.facts.causes[0].with_bytes(
        before.facts.causes[0].frame_bytes, SiteClass(300, 1, 1200, 4)
    )
    facts = replace(before.facts, causes=(share,), sass=copies)
    after = changed(before, facts=facts, work=Work(local_lines=40.0))
    assert verdict(before, after) == "no-effect"


@pytest.mark.parametrize(("slots", "expected"), [(0, "removed"), (80, "no-effect")])
def test_frames_without_spill_slots_have_their_objects(slots: int, expected: str) -> None:
    before = judged("k", "dynamic-index")
    spills = CauseShare.of("register-spill", None, slots, SiteClass(1, 1, 4, 4))
    ptxas = before.facts.ptxas
    assert ptxas is not None
    more, less = (replace(ptxas, stack_frame=size) for size in (160, 80))
    causes = (*before.facts.causes, spills)
    facts = changed(before.facts, causes=causes, ptxas=more)
    left = before.facts.causes if slots else ()
    after = changed(before.facts, causes=left, ptxas=less)
    # A trial without names of variables: what is left has none.
    made = KernelReport.of(after, before.verdict, work=Work(local_lines=1.0))
    before = changed(before, facts=facts, work=Work(local_lines=40.0))
    assert verdict(before, made) == expected


@pytest.mark.parametrize(
    ("sites", "spilled", "expected"),
    [
        (SiteClass(0, 0, 0, 0), 0, "reduced"),
        (SiteClass(2, 2, 8, 8), 0, "worse"),
        (SiteClass(2, 2, 8, 8), 200, "no-effect"),  # No harm: what is gone are spills.
        (None, 200, "worse"),
    ],
)
def test_a_routines_own_code_tells_what_it_keeps_in_local_memory(
    sites: SiteClass | None, spilled: int, expected: str
) -> None:
    # ptxas brings another routine of a division, of which it reports nothing.
    before = replace(judged("k", "dynamic-index"), work=Work(local_lines=40.0))
    ptxas = before.facts.ptxas
    assert ptxas is not None
    more = replace(ptxas, spill_stores=spilled, stack_frame=(ptxas.stack_frame or 0) + spilled)
    routine = FunctionFacts("$__internal_0_$rcp", "$__internal_0_$rcp", None, sites, None)
    fewer = before.facts.causes[0].with_bytes(
        before.facts.causes[0].frame_bytes, SiteClass(1, 1, 4, 4)
    )
    facts = replace(before.facts, callees=(routine,), causes=(fewer,))
    after = changed(before, facts=facts, work=Work(local_lines=1.0))
    before = changed(before, facts=changed(before.facts, ptxas=more))
    assert verdict(before, after) == expected


def test_ptxas_counts_its_routines_anew() -> None:
    def calling(number: int, sites: SiteClass) -> KernelReport:
        found = judged("k", "dynamic-index")
        name = f"$__internal_{number}_$__cuda_sm20_rcp"
        routine = FunctionFacts(name, name, None, None, None)
        share = found.facts.causes[0].with_bytes(found.facts.causes[0].frame_bytes, sites)
        facts = replace(found.facts, callees=(routine,), causes=(share,))
        return changed(found, facts=facts, work=Work(local_lines=sites.load_sites))

    before, after = calling(11, SiteClass(40, 1, 160, 4)), calling(10, SiteClass(1, 1, 4, 4))
    assert verdict(before, after) == "reduced"


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [((), False), ((80,), True), ((200,), False), ((40, 40), True), ((20, 24, 28), True)],
)
def test_objects_that_are_as_large_together_need_names(
    sizes: tuple[int, ...], expected: bool
) -> None:
    before = judged("k", "dynamic-index")
    (own,) = before.facts.objects
    others = (replace(own, size=size, name=f"o{size}") for size in sizes)
    case, finding = next(iter(rules.cases(before.facts, source_text({}))))
    assert case.object is own
    assert own.size == 80
    facts = replace(before.facts, objects=(own, *others))
    place = SourceLocation("a.cu", 1)
    given = Target(
        "dynamic-index",
        own.name,
        own.type,
        place,
        place,
        "/a.cu",
        Syntax(b""),
        (Hit(facts, finding, case),),
    )
    assert has_equals(given) == expected


def test_another_variable_of_the_name_is_another() -> None:
    before = judged("k", "dynamic-index")
    (own,) = before.facts.objects
    twins = replace(before.facts.causes[0], object_index=1)
    facts = replace(before.facts, objects=(own, own), causes=(*before.facts.causes, twins))
    both = changed(before, facts=facts)
    case, finding = next(iter(rules.cases(facts, source_text({}))))
    hits = [Hit(facts, finding, case)]
    # One of two is gone: which, the name does not tell.
    one_left = changed(before, facts=replace(facts, causes=(twins,)))
    none_left = changed(before, facts=replace(facts, causes=()))
    assert not frees(unit(both), unit(one_left), hits)
    assert frees(unit(both), unit(none_left), hits)


@pytest.mark.parametrize(("left", "expected"), [(80, False), (40, False), (0, True)])
def test_bytes_of_something_else_are_not_its_own(left: int, expected: bool) -> None:
    # What was made for another object takes 648 bytes from the frame, and none of these 80.
    before = judged("k", "dynamic-index")
    other = CauseShare.of("rolled-loop", None, 648, SiteClass(1, 1, 4, 4))
    facts = replace(before.facts, causes=(*before.facts.causes, other))
    before = changed(before, facts=facts)
    kept = replace(facts.causes[0], frame_bytes=left)
    after = changed(before, facts=replace(facts, causes=(kept,)))
    case, finding = next(iter(rules.cases(before.facts, source_text({}))))
    hits = [Hit(before.facts, finding, case)]
    assert frees(unit(before), unit(after), hits) is expected


@pytest.mark.parametrize(
    ("name", "expected"), [("other", "removed"), ("table", "no-effect"), (None, "no-effect")]
)
def test_what_comes_to_be_like_an_object_is_not_it(name: str | None, expected: str) -> None:
    # Another object loses a site with it, and has as many bytes and sites then.
    before = judged("k", "dynamic-index")
    (own,), (share,) = before.facts.objects, before.facts.causes
    assert own.name == "table"
    ptxas = before.facts.ptxas
    assert ptxas is not None
    one_more = replace(share.with_bytes(share.frame_bytes, SiteClass(2, 2, 9, 9)), object_index=1)
    both = changed(
        before.facts,
        objects=(own, replace(own, name="other", offset=own.size)),
        causes=(share, one_more),
        ptxas=replace(ptxas, stack_frame=2 * own.size),
    )
    made = changed(
        before.facts,
        objects=(replace(own, name=name),),
        causes=(share,),
        ptxas=replace(ptxas, stack_frame=own.size),
    )
    case, finding = next(iter(rules.cases(both, source_text({}))))
    left = (replace(finding, object=name),)
    found = judge(
        unit(changed(before, facts=both)),
        unit(changed(before, facts=made, findings=left)),
        [Hit(both, finding, case)],
    )
    assert found[both.name].verdict == expected


@pytest.mark.parametrize(
    ("cause", "expected"), [("param-copy", "removed"), ("dynamic-index", "no-effect")]
)
def test_what_has_the_name_of_a_copied_parameter_is_not_the_copy(
    cause: Cause, expected: str
) -> None:
    before = judged("k", cause)
    (own,), (share,) = before.facts.objects, before.facts.causes
    ptxas = before.facts.ptxas
    assert ptxas is not None
    other = replace(own, name=None, cause="address-taken", offset=own.size)
    more = share.with_bytes(share.frame_bytes, SiteClass(2, 2, 9, 9))
    another = replace(more, object_index=1, cause="address-taken")
    facts = changed(
        before.facts,
        objects=(own, other),
        causes=(share, another),
        ptxas=replace(ptxas, stack_frame=2 * own.size),
    )
    before = changed(before, facts=facts)
    made = changed(
        facts,
        objects=(replace(other, name=own.name),),
        causes=(replace(another, object_index=0),),
        ptxas=replace(ptxas, stack_frame=own.size),
    )
    case, finding = next(iter(rules.cases(before.facts, source_text({}))))
    left = (replace(finding, cause="address-taken"),)
    after = changed(before, facts=made, findings=left)
    found = judge(unit(before), unit(after), [Hit(before.facts, finding, case)])
    assert found["k"].verdict == expected


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("entry", "the kernel is gone"),
        ("function", "nothing is left of the function, which other sources may call"),
    ],
)
def test_why_nothing_is_offered_after_which_a_kernel_is_not_there(
    kind: KernelKind, error: str
) -> None:
    before = judged("k", "dynamic-index")
    before = changed(before, facts=replace(before.facts, kind=kind))
    case, finding = next(iter(rules.cases(before.facts, source_text({}))))
    after = replace(unit(before), kernels=())
    found = judge(unit(before), after, [Hit(before.facts, finding, case)])[before.facts.name]
    assert (found.verdict, found.error) == ("failed", error)


@pytest.mark.parametrize(
    ("ldl", "is_modelled", "refused"),
    [(98, False, False), (105, False, True), (105, True, False), (60, False, False)],
)
def test_more_accesses_for_a_smaller_frame_take_a_model(
    ldl: int, is_modelled: bool, refused: bool
) -> None:
    """A kernel that calls functions of other sources has no modelled cost."""
    was = replace(NOTHING, stack_frame=5112, ldl=41, stl=57)
    found = replace(NOTHING, stack_frame=4984, ldl=ldl - 50, stl=50)
    why = refusal(was, found, None, is_modelled=is_modelled)
    assert (why is not None) == refused
    if refused:
        assert why == "it accesses local memory more often (98 → 105 LDL/STL)"


# What a rewrite does to other kernels, and to which object.


def two_kernels(cost: float) -> tuple[UnitReport, UnitReport, list[Hit], KernelReport]:
    """A unit before and after: `k` loses its object, and `clean_kernel` gets another cost."""
    own = judged("k", "dynamic-index")
    ptxas = own.facts.ptxas
    assert ptxas is not None
    gone = changed(
        own.facts,
        objects=(),
        causes=(),
        ptxas=replace(ptxas, stack_frame=0),
        sass=SassSites(0, 0, 0, 0),
    )
    other = judged("other")
    slower = replace(other, work=Work(local_lines=cost))
    case, finding = next(iter(rules.cases(own.facts, source_text({}))))
    before = replace(unit(own), kernels=(own, other))
    after = replace(unit(own), kernels=(changed(own, facts=gone, findings=()), slower))
    return before, after, [Hit(own.facts, finding, case)], other


@pytest.mark.parametrize(
    ("speed", "expected"), [(0.7, "worse"), (0.98, "removed"), (2.0, "removed")]
)
def test_the_speed_of_every_kernel_counts(speed: float, expected: str) -> None:
    """A helper of two kernels is rewritten for one of them; no figure of the other tells."""
    before, after, hits, other = two_kernels(1.0)

    def modelled(was: KernelReport, made: KernelReport) -> float | None:
        return speed if was.facts.name == other.facts.name else 0.5

    found = judge(before, after, hits, speed=modelled)["k"]
    assert found.verdict == expected
    assert found.is_slowing == (expected == "worse")
    assert ("other" in (found.error or "")) == (expected == "worse")
    harmed = harm(before, after, ["k"], modelled)
    assert (harmed is not None) == (expected == "worse")


def test_what_functions_of_a_kernel_keep_is_in_its_figures() -> None:
    """Inlined, a function's frame is the kernel's own: larger, and all of it together smaller."""
    base = judged("k", "dynamic-index").facts
    assert base.ptxas is not None
    called = replace(base.ptxas, stack_frame=100, spill_stores=8, spill_loads=8)
    function = FunctionFacts("f", "f", called, SiteClass(2, 2, 8, 8), None)
    with_function = replace(base, callees=(function,))
    shown = figures(with_function, "sm_90", Grid(256))
    assert shown.stack_frame == (base.stack_frame or 0) + 100
    assert shown.spill_stores == (base.spill_stores or 0) + 8
    alone = figures(base, "sm_90", Grid(256))
    assert alone.stack_frame == base.stack_frame


@pytest.mark.parametrize(("line", "expected"), [(12, "no-effect"), (40, "removed")])
def test_an_object_of_a_class_that_is_written_is_accessed_by_it(line: int, expected: str) -> None:
    """One of two like arrays is gone; what is left has its name, and the class's functions tell."""
    before = judged("k", "dynamic-index")
    (own,), (share,) = before.facts.objects, before.facts.causes
    ptxas = before.facts.ptxas
    assert ptxas is not None
    both = changed(
        before.facts,
        objects=(own, replace(own, name="other", offset=own.size)),
        causes=(share, replace(share, object_index=1)),
        ptxas=replace(ptxas, stack_frame=2 * own.size),
    )
    place = SourceLocation("/a.cu", line)
    used = access(object=0, chain=(InlineFrame.at(place, None),))
    left = replace(own, type="lmem_select<int, 20>")
    made = changed(
        before.facts,
        objects=(left,),
        causes=(share,),
        accesses=(used,),
        ptxas=replace(ptxas, stack_frame=own.size),
    )
    case, finding = next(iter(rules.cases(both, source_text({}))))
    edits = (Edit("/a.cu", 10, 10, b"struct lmem_select {\n  int e[20];\n};\n"),)
    classes = Classes.of(edits, {"/a.cu": b"\n" * 20})
    assert classes.lines["lmem_select"] == {("/a.cu", number) for number in range(11, 14)}
    found = judge(
        unit(changed(before, facts=both)),
        unit(changed(before, facts=made)),
        [Hit(both, finding, case)],
        classes=classes,
    )
    assert found[both.name].verdict == expected


@pytest.mark.parametrize(
    ("left", "missing"),
    [
        ((("store through a pointer", 2), ("store to global memory", 1)), []),
        # The compiler has come to know where it leads.
        ((("store through a pointer", 1), ("store to global memory", 2)), []),
        ((("store to global memory", 3),), []),
        # Another overload stores less.
        ((("store through a pointer", 1), ("store to global memory", 1)), [POINTED]),
        ((("store through a pointer", 3),), ["store to global memory"]),
    ],
)
def test_a_store_whose_memory_is_known_is_not_missed(
    left: tuple[tuple[str, int], ...], missing: list[str]
) -> None:
    had = (("store through a pointer", 2), ("store to global memory", 1))
    before = replace(judged("k", "param-copy"), work=Work(effects=had))
    after = replace(before, work=Work(effects=left))
    assert missing_effects("grid-constant", before, after) == missing
