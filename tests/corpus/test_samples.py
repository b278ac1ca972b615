"""Files in the style of real samples: host code, headers, libraries; analysed without a flag."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.program import ROOT, Finished

SAMPLES = sorted(path.stem for path in (ROOT / "tests" / "corpus" / "samples").glob("*.cu"))

# What a reader of the source expects, checked against the machine code by hand: kernel, cause,
# object. A kernel that is not named here has no local memory in the end.
EXPECTED = {
    "debug_prints": [("check", "printf-args", None)],
    "device_class": [("delay", "dynamic-index", "ring.values_")],
    "device_launch": [("parent", "device-launch", None)],
    "double_math": [("wave", "math-slow-path", None)],
    "extended_lambda": [("for_each<main::{lambda(int)#2}>", "dynamic-index", "own")],
    "extern_c": [("digits", "dynamic-index", "own")],
    "macro_kernels": [
        ("count_i64", "dynamic-index", "own"),
        ("count_u16", "dynamic-index", "own"),
        ("count_u8", "dynamic-index", "own"),
    ],
    "matrix_multiply": [("accumulate", "dynamic-index", "own")],
    "namespaces": [("step", "dynamic-index", "seen")],
    "virtual_calls": [
        ("build", "callee-save", None),
        ("total", "call-frame", None),
        # The destructors, which the table leads to and nothing in the kernel calls.
        ("total", "callee-save", None),
    ],
}
pytestmark = pytest.mark.toolchain


def unit(samples: Finished, name: str) -> dict[str, Any]:
    (found,) = (
        u for u in samples.document["units"] if u["input"] == f"tests/corpus/samples/{name}.cu"
    )
    return dict(found)


def test_everything_is_analysed(samples: Finished) -> None:
    assert samples.code == 0, samples.err


def test_there_are_enough() -> None:
    assert len(SAMPLES) >= 25


@pytest.mark.parametrize("name", SAMPLES)
def test_analysed_without_flags(samples: Finished, name: str) -> None:
    found = unit(samples, name)
    assert found["failure"] is None
    source = (ROOT / "tests" / "corpus" / "samples" / f"{name}.cu").read_text()
    assert len(found["kernels"]) >= 1
    assert found["frontend"] == "nvcc", "it holds host code"
    assert all(kernel["registers"] for kernel in found["kernels"])
    assert "main" in source or "extern" in source


@pytest.mark.parametrize("name", SAMPLES)
def test_causes(samples: Finished, name: str) -> None:
    from lmemscope.formats.demangle import short_name

    found = [
        (short_name(kernel["demangled"]), finding["cause"], finding["object"])
        for kernel in unit(samples, name)["kernels"]
        for finding in kernel["findings"]
        if finding["cause"] != "promoted"
    ]
    if name == "thrust_functor":
        # The kernels are the library's, one or one for each type of its counter, as its version
        # has it; the array is the user's functor, passed by value.
        assert {cause for _, cause, _ in found} == {"param-copy"}
        return
    assert sorted(found, key=str) == sorted(EXPECTED.get(name, []), key=str)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_byte_has_a_cause(samples: Finished, name: str) -> None:
    for kernel in unit(samples, name)["kernels"]:
        sites = kernel["sass"]["ldl_bytes"] + kernel["sass"]["stl_bytes"]
        shares = [share for share in kernel["causes"] if share["cause"] != "unattributed"]
        assert sum(share["load_bytes"] + share["store_bytes"] for share in shares) == sites


def test_flags_that_a_file_asks_for_are_granted_and_said(samples: Finished) -> None:
    for name, flag in (
        ("extended_lambda", "--extended-lambda"),
        ("relaxed_constexpr", "--expt-relaxed-constexpr"),
    ):
        (gap,) = unit(samples, name)["gaps"]
        assert gap["reason"] == f"compiled with {flag}, which the file needs"


def test_restored_registers_are_no_accesses_of_what_a_neighbour_stores(samples: Finished) -> None:
    """An ``LDL`` that scheduling put on the line of a ``st.u64`` restores a register.

    ptxas's own figures are the witness: they count it among the spill loads of the function.
    """
    for kernel in unit(samples, "virtual_calls")["kernels"]:
        assert not [d for d in kernel["disagreements"] if d["quantity"].startswith("spill")]
