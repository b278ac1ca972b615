from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.generate_rules import page
from lmemscope.rules import RULES
from tests.conftest import ROOT, run_program


@pytest.mark.toolchain
def test_an_explanation_tells_the_whole_story() -> None:
    finished = run_program("explain", "kernels/histogram.cu")
    assert finished.code == 0
    text = finished.out
    order = [
        "histogram_private",
        "Local memory is private",
        "bins is declared here",
        "Stack frame, 256 bytes",
        "lane 0",
        "error LM201 dynamic-index",
        "What removes it:",
    ]
    positions = [text.index(part) for part in order]
    assert positions == sorted(positions)
    assert "unsigned bins[64] = {};" in text
    assert "__shared__ unsigned int bins[64][BLOCK_SIZE];" in text
    assert "histogram_shared" not in text
    assert max(len(line) for line in text.splitlines()) <= 110


@pytest.mark.toolchain
def test_one_kernel_can_be_asked_for_and_a_clean_one_says_so() -> None:
    text = run_program("explain", "kernels/histogram.cu::histogram_shared").out
    assert "No local memory." in text
    assert "histogram_private" not in text
    missing = run_program("explain", "kernels/histogram.cu::nothing")
    assert missing.code == 3
    assert "no kernel that matches nothing" in missing.err


@pytest.mark.toolchain
def test_excerpts_are_shown_on_request() -> None:
    name = "kernels/histogram.cu::histogram_private"
    plain = run_program("explain", name).out
    assert "PTX behind it" not in plain
    shown = run_program("explain", name, "--ptx", "--sass").out
    assert re.search(r"^ +\d+  ld\.local\.u32", shown, re.MULTILINE)
    assert re.search(r"^ +0x[0-9a-f]{4}  LDL R\d+,\[R\d+\] +dynamic-index", shown, re.MULTILINE)


@pytest.mark.toolchain
def test_each_kernel_is_shown_its_own_ptx(tmp_path: Path) -> None:
    """Two files define one name: what is quoted is cut out of each file's own artefacts."""
    for name, kind in (("a", "float"), ("b", "double")):
        (tmp_path / f"{name}.cu").write_text(
            f'extern "C" __global__ void pick({kind} *x, int n) {{\n'
            f"  {kind} own[64] = {{}};\n"
            f"  for (int i = 0; i < n; ++i) own[(int)x[i] & 63] += x[i];\n"
            f"  for (int i = 0; i < n; ++i) x[i] = own[(int)x[i + n] & 63];\n}}\n"
        )
    text = run_program("explain", str(tmp_path), "--ptx", "--arch", "sm_90").out
    first, second = text.split("pick  ")[1:]
    assert "/a.cu:" in first.splitlines()[0]
    assert re.search(r"ld\.local\.(f|b|u)32", first)
    assert not re.search(r"ld\.local\.(f|b|u)64", first)
    assert re.search(r"ld\.local\.(f|b|u)64", second)
    assert not re.search(r"ld\.local\.(f|b|u)32", second)


@pytest.mark.toolchain
def test_spills_come_with_the_peak_of_live_registers() -> None:
    text = run_program("explain", "kernels/thirty_doubles.cu").out
    peak = re.search(r"at most (\d+) are live at once", text)
    assert peak is not None
    assert 20 < int(peak.group(1)) <= 32
    assert "__launch_bounds__(1024, 1)" in text


def test_a_failing_input_is_reported_with_its_message() -> None:
    finished = run_program("explain", "kernels/nothing.cu")
    assert finished.code == 3
    assert "does not exist" in finished.err


def test_rules_are_listed_and_shown() -> None:
    listed = run_program("rules").out.splitlines()
    assert [line.split()[0] for line in listed] == [rule.id for rule in RULES]
    page = run_program("rules", "dynamic-index")
    assert page.out.startswith("LM201 dynamic-index")
    assert run_program("rules", "lm201").out == page.out
    assert run_program("rules", "LM999").code == 2


def test_the_generated_pages_are_up_to_date() -> None:
    for rule in RULES:
        assert (ROOT / "docs" / "rules" / f"{rule.cause}.md").read_text() == page(rule)
    index = (ROOT / "docs" / "rules" / "README.md").read_text()
    assert all(f"{rule.cause}.md" in index for rule in RULES)
