"""The kernels on the rules' pages: their figures are what the toolchain gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from docs import generate_rules, rule_examples, rule_figures
from docs.rule_examples import Build, Example, Shown, keyed, quoted
from lmemscope.rules import RULES
from tests.conftest import Once
from tests.support.program import Finished, run_program

KNOWN: dict[str, Any] = json.loads(rule_figures.TARGET.read_text())
EXAMPLES = dict(keyed())
PAIRS = [key for key, example in EXAMPLES.items() if example.after is not None]
FIXED = [key for key, example in EXAMPLES.items() if example.rewrite]
CLEAN = ("stack_frame", "ldl", "stl", "spill_stores", "spill_loads")
SPILLS_TO_SHARED = 13
"""From this CUDA on."""


@pytest.fixture(scope="session")
def measured(
    shipped: Finished, fixed: Finished, once: Once, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """The pages' figures, made anew."""

    def made() -> dict[str, Any]:
        cubin = tmp_path_factory.mktemp("bare") / "bare.cubin"
        cubin.write_bytes(rule_figures.bare_cubin())
        bare = run_program("scan", str(cubin), "--format", "json").document
        debug = run_program(*rule_figures.DEBUG).document
        scans: dict[Build, Any] = {"release": shipped.document, "debug": debug, "bare": bare}
        return rule_figures.figures(scans, fixed.document)

    return once("rule-figures", made)


@pytest.mark.toolchain
@pytest.mark.parametrize("key", EXAMPLES)
def test_the_figures_are_what_the_toolchain_gives(key: str, measured: dict[str, Any]) -> None:
    known, found = KNOWN["examples"][key], measured["examples"][key]
    if measured["toolkit"] == KNOWN["toolkit"]:
        assert found == known
        return
    for name in ("before", "after"):
        row = known[name]
        if row is not None and not any(row[figure] for figure in CLEAN):
            assert not any(found[name][figure] for figure in CLEAN), name


def skip_what_is_promoted(key: str, measured: dict[str, Any]) -> None:
    """Another ptxas than the pages' may keep in registers what they show: CUDA 12.9 does once."""
    found = [one["name"] for one in measured["examples"][key]["before"]["findings"]]
    another = measured["toolkit"] != KNOWN["toolkit"]
    if another and found == ["promoted"] and EXAMPLES[key].rule != "LM601":
        pytest.skip("this ptxas keeps it in registers")


@pytest.mark.toolchain
@pytest.mark.parametrize("key", EXAMPLES)
def test_the_rule_speaks_of_the_kernel_before(key: str, measured: dict[str, Any]) -> None:
    skip_what_is_promoted(key, measured)
    findings = measured["examples"][key]["before"]["findings"]
    assert EXAMPLES[key].rule in {finding["rule"] for finding in findings}


@pytest.mark.toolchain
@pytest.mark.parametrize("key", PAIRS)
def test_and_not_so_of_the_kernel_after(key: str, measured: dict[str, Any]) -> None:
    own = measured["examples"][key]
    assert own["before"]["findings"][0] not in own["after"]["findings"]


@pytest.mark.toolchain
@pytest.mark.parametrize("key", FIXED)
def test_the_rewrite_on_the_page_removes_it(key: str, measured: dict[str, Any]) -> None:
    rewrite, cuda = EXAMPLES[key].rewrite, int(measured["toolkit"]["nvrtc"].partition(".")[0])
    if "smem-spilling" in rewrite and cuda < SPILLS_TO_SHARED:
        pytest.skip("this CUDA spills to local memory only")
    skip_what_is_promoted(key, measured)
    fix = measured["examples"][key]["fix"]
    assert (fix["rewrite"], fix["verdict"]) == (rewrite, "removed")
    assert not any(fix["after"][figure] for figure in CLEAN)


@pytest.mark.toolchain
def test_what_has_no_rewrite_on_its_page_has_none(measured: dict[str, Any]) -> None:
    for key, example in EXAMPLES.items():
        if example.asked and not example.rewrite:
            fix = measured["examples"][key]["fix"]
            assert fix["offered"] == []
            assert fix["reason"] or fix["vain"], key


def test_every_rule_has_an_example_with_figures() -> None:
    assert [*dict.fromkeys(one.rule for one in EXAMPLES.values())] == [rule.id for rule in RULES]
    assert list(KNOWN["examples"]) == list(EXAMPLES)
    for key, example in EXAMPLES.items():
        assert (example.after is None) == (KNOWN["examples"][key]["after"] is None)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.cause)
def test_a_page_quotes_its_kernels_as_they_stand(rule: Any) -> None:
    page = generate_rules.page(rule)
    for example in (one for one in EXAMPLES.values() if one.rule == rule.id):
        source = (rule_examples.ROOT / "kernels" / example.source).read_text()
        for shown in filter(None, (example.before, example.after)):
            text = quoted(example.source, (shown.kernel,))
            assert text in source
            assert text in page
            assert f"| `{shown.kernel}`" in page


SOURCE = """\
// Speaks of one and two.

struct Pair { int first, second; };

__device__ int one(Pair p) { return two(p.first); }
__device__ int three() { return 3; }

__device__ int two(int n) {

  return n;
}
"""


def test_a_quotation_is_what_defines_a_name(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "a.cu").write_text(SOURCE)
    monkeypatch.setattr(rule_examples, "ROOT", tmp_path)
    paragraphs = SOURCE.split("\n\n")
    assert quoted("a.cu", ("three",)) == paragraphs[2]
    assert quoted("a.cu", ("one", "three", "Pair")) == f"{paragraphs[1]}\n\n{paragraphs[2]}"
    with pytest.raises(LookupError, match="two has empty lines"):
        quoted("a.cu", ("two",))
    with pytest.raises(LookupError, match="no first"):
        quoted("a.cu", ("first",))


def figures(**others: Any) -> dict[str, Any]:
    names = ("registers", "stack_frame", "cumulative_stack", "ptx_local", "shared", "ldl", "stl")
    return dict.fromkeys((*names, "spill_stores", "spill_loads"), 0) | {"findings": []} | others


@pytest.mark.parametrize(
    ("others", "columns"),
    [
        ({}, "registers | frame | LDL/STL"),
        ({"shared": 64}, "registers | frame | LDL/STL | shared"),
        ({"cumulative_stack": None}, "registers | frame | with calls | LDL/STL"),
        ({"spill_loads": 8}, "registers | frame | spilled st/ld | LDL/STL"),
        ({"ptx_local": 16}, "registers | frame | LDL/STL | PTX .local"),
    ],
)
def test_columns_that_say_nothing_are_left_out(others: dict[str, Any], columns: str) -> None:
    example = Example("LM601", "a.cu", Shown("k"), Shown("l"))
    own = {"before": figures(), "after": figures(**others), "fix": None}
    head, rule, first, second = generate_rules.table(example, KNOWN, own)
    assert f"| {columns} | findings |" in head
    assert len({line.count("|") for line in (head, rule, first, second)}) == 1
    assert ("| ? |" in second) == (None in others.values())
