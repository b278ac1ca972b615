"""Reading labels, and scoring hand-made reports against them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from lmemscope.model import (
    Cause,
    CauseShare,
    IndexFacts,
    IndexSource,
    InlineFrame,
    KernelReport,
    SassSites,
    SiteClass,
    SourceLocation,
)
from lmemscope.rules.verdict import judge
from tests.support.builders import access, facts, find, local_object
from tests.support.labels import LabelError, read
from tests.support.scoring import COLUMNS, REQUIRED, Item, score, tallies

SOURCE = """
/* labels
[[find]]
cause = "dynamic-index"
object = "table"
type = "float [20]"
size = 80
declared = "table"
lines = ["write", "read"]
primary = "read"
index = ["[k]", "[n % 20]"]
sources = ["parameter n"]
optional = ["loop-counter constant"]
uniformity = "uniform"
*/
__global__ void __launch_bounds__(32 * (2 + 2)) k(int n, float *y) {
  float table[20];  //@table
  table[n] = y[n];  //@write
  y[0] = table[n % 20];  //@read @unused
}
"""
DECLARED, WRITE, READ = 17, 18, 19
INDEX = IndexFacts("n % 20", (IndexSource("parameter", "n", 0),), "uniform", None)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    file = tmp_path / "a.cu"
    file.write_text(SOURCE)
    return file


def reported(
    cause: Cause = "dynamic-index",
    lines: tuple[int, ...] = (READ, WRITE),
    index: IndexFacts = INDEX,
    primary: int = READ,
    **changes: Any,
) -> KernelReport:
    """A kernel ``k`` with one object, accessed on some lines."""
    declared = SourceLocation("a.cu", DECLARED)
    table = local_object(cause, **{"declared": declared, "index": index, **changes})
    accesses = tuple(
        access(cause, pc=16 * number, chain=(InlineFrame("a.cu", line, None),))
        for number, line in enumerate(lines)
    )
    sites = SiteClass.of(accesses)
    made = facts(
        "k",
        objects=(table,),
        accesses=accesses,
        causes=(CauseShare.of(cause, (0, table), table.size, sites),),
        sass=SassSites.of(accesses),
    )
    (finding,) = find(made)
    shown = replace(finding, location=SourceLocation("a.cu", primary))
    return KernelReport.of(made, judge(made), (shown,))


def scored(file: Path, *kernels: KernelReport) -> list[Item]:
    (label,) = read(file)
    return score(label, kernels, "sm_90")


def wrong(items: list[Item]) -> set[str]:
    return {item.column for item in items if not item.right}


def test_all_that_is_right_counts(written: Path) -> None:
    items = scored(written, reported())
    assert wrong(items) == set()
    assert {item.column for item in items} == set(COLUMNS) - {"also"}


@pytest.mark.parametrize(
    ("changed", "columns"),
    [
        ({"cause": "const-table"}, {"cause"}),
        ({"name": "other"}, {"object", "type", "size", "declaration"}),
        ({"name": None}, {"object", "type", "size", "declaration"}),
        ({"type": "float[21]"}, {"type"}),
        ({"size": 84}, {"size"}),
        ({"declared": SourceLocation("a.cu", 1)}, {"declaration"}),
        ({"declared": SourceLocation("b.cu", DECLARED)}, {"declaration"}),
        ({"lines": (READ,)}, {"lines"}),
        ({"primary": WRITE}, {"primary"}),
        ({"index": replace(INDEX, expression="i")}, {"expression"}),
        ({"index": replace(INDEX, expression=None)}, {"expression"}),
        ({"index": replace(INDEX, sources=())}, {"missing"}),
        ({"index": replace(INDEX, uniformity="unknown")}, {"uniformity"}),
    ],
)
def test_each_column_sees_its_own_mistake(
    written: Path, changed: dict[str, Any], columns: set[str]
) -> None:
    assert wrong(scored(written, reported(**changed))) == columns


def test_a_source_that_is_neither_required_nor_optional_is_false(written: Path) -> None:
    counter = IndexSource("loop-counter", None, constant_trip=True)
    more = (*INDEX.sources, counter, replace(counter, constant_trip=False))
    items = scored(written, reported(index=replace(INDEX, sources=more)))
    assert [i.got for i in items if not i.right] == ["loop-counter run-time"]
    assert tallies(items)["false", "sm_90"].total == 3


def test_a_source_may_have_two_spellings(written: Path) -> None:
    written.write_text(SOURCE.replace('"parameter n"', '"parameter m | parameter n"'))
    assert wrong(scored(written, reported())) == set()
    other = replace(INDEX, sources=(IndexSource("parameter", "k", 1),))
    assert wrong(scored(written, reported(index=other))) == {"missing", "false"}


def test_a_kernel_without_the_finding_has_everything_wrong(written: Path) -> None:
    clean = facts("k")
    items = scored(written, KernelReport.of(clean, judge(clean)))
    assert wrong(items) == set(COLUMNS) - {"also", "false", "unattributed"}


def test_a_missing_kernel_is_a_wrong_cause(written: Path) -> None:
    assert wrong(scored(written)) == {"cause"}


def test_a_finding_that_no_label_expects_is_a_wrong_cause(written: Path) -> None:
    one = reported()
    spill = access("register-spill", object=None)
    share = CauseShare.of("register-spill", None, 4, SiteClass.of([spill]))
    more = replace(
        one.facts,
        accesses=(*one.facts.accesses, spill),
        causes=(*one.facts.causes, share),
    )
    (finding,) = (found for found in find(more) if found.cause == "register-spill")
    items = scored(written, KernelReport.of(more, judge(more), (finding, *one.findings)))
    assert [(i.column, i.got) for i in items if not i.right] == [("cause", "register-spill")]
    unknown = replace(share, cause="unattributed")
    more = replace(more, causes=(*one.facts.causes, unknown))
    items = scored(written, KernelReport.of(more, judge(more), find(more)))
    assert "unattributed" in wrong(items)


def test_clean_and_promoted_kernels(tmp_path: Path) -> None:
    file = tmp_path / "a.cu"
    kernel = "__global__ void k(float *y) {}\n"
    promoted = reported("promoted", lines=())
    clean = KernelReport.of(facts("k"), judge(facts("k")))
    file.write_text(f"/* labels\nclean = true\n*/\n{kernel}")
    assert wrong(scored(file, clean)) == set()
    assert wrong(scored(file, promoted)) == {"cause"}
    assert wrong(scored(file, reported())) == {"cause"}
    file.write_text(f'/* labels\npromoted = ["table"]\n*/\n{kernel}')
    assert wrong(scored(file, promoted)) == set()
    assert wrong(scored(file, clean)) == {"cause", "object"}
    named = reported("promoted", lines=(), name=None)
    assert wrong(scored(file, named)) == {"object"}
    file.write_text(f'/* labels\npromoted = ["table", "other"]\n*/\n{kernel}')
    assert wrong(scored(file, promoted)) == {"object"}


def test_two_variables_of_one_name_are_told_apart_by_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "a.cu"
    finds = "".join(
        '[[find]]\ncause = "const-table"\nobject = "table"\n'
        f'declared = "{name}"\nlines = ["{name}_read"]\n'
        for name in ("first", "second")
    )
    lines = ["//@first", "//@first_read", "//@second", "//@second_read"]
    file.write_text(f"/* labels\n{finds}*/\n__global__ void k() {{\n" + "\n".join(lines) + "\n}")
    start = file.read_text().split("\n").index("//@first") + 1
    one, two = (
        reported("const-table", (at + 1,), declared=SourceLocation("a.cu", at)).facts
        for at in (start, start + 2)
    )
    both = replace(
        one,
        objects=(*two.objects, *one.objects),
        accesses=(*two.accesses, *(replace(a, object=1) for a in one.accesses)),
        causes=(*two.causes, replace(one.causes[0], object_index=1)),
    )
    items = scored(file, KernelReport.of(both, judge(both), find(both)))
    assert wrong(items) == set()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (("//@table", ""), "the marker @table is on 0 lines"),
        (('"[k]"', "[k]"), "k: "),
        (("optional", "optionally"), "unknown keys: optionally"),
        (('uniformity = "uniform"\n', ""), "without uniformity"),
        (("[[find]]", "clean = true\n[[find]]"), "is clean, or"),
        (("/* labels", "/* table"), "k has no label"),
        (("__global__", ""), "a label of the kernels []"),
        (("primary", 'archs = ["sm_42"]\nprimary'), "unknown architectures"),
    ],
)
def test_a_label_that_cannot_be_meant_is_refused(
    tmp_path: Path, changed: tuple[str, str], message: str
) -> None:
    file = tmp_path / "a.cu"
    file.write_text(SOURCE.replace(*changed))
    with pytest.raises(LabelError) as raised:
        read(file)
    assert message in str(raised.value)


def test_markers_are_the_kernels_own_first(tmp_path: Path) -> None:
    file = tmp_path / "a.cu"
    other = SOURCE.replace(" k(", " other(").replace("//@table", "/*here*/")
    declaration = "__global__ void later(int n);\n"
    file.write_text(declaration + SOURCE + other.replace('declared = "table"', 'declared="unused"'))
    first, second = read(file)
    assert (first.kernel, second.kernel) == ("k", "other")
    assert first.finds[0].primary == {READ + 1}
    assert second.finds[0].primary == {READ + 1 + SOURCE.count("\n")}
    assert second.finds[0].declared == READ + 1 + SOURCE.count("\n")


def test_each_column_has_a_threshold() -> None:
    assert set(REQUIRED) == set(COLUMNS)
