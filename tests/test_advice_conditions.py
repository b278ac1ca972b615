"""Conditional advice: what the source, launches and bounds decide is not left to the reader."""

from __future__ import annotations

import dataclasses

import pytest

from lmemscope.model import (
    Advice,
    CallFacts,
    Finding,
    IndexFacts,
    IndexSource,
    KernelFacts,
    LaunchBounds,
    LocalObject,
)
from tests.builders import access, find, kernel_with, local_object

LOADED = IndexSource("memory", "x", 0)


def array(kind: str = "float[8]", size: int = 32, **changes: object) -> KernelFacts:
    """A kernel with an array, ``table``, in a loop, indexed by what it loads."""
    index = IndexFacts("x[i]", (LOADED,), "uniform", None)
    made = kernel_with("dynamic-index", index=index, depth=1)
    one = local_object(type=kind, size=size, index=index)
    return dataclasses.replace(made, objects=(dataclasses.replace(one, **changes),))  # type: ignore[arg-type]


def only(facts: KernelFacts, source: str = "", file: str = "a.cu") -> Finding:
    (finding,) = find(facts, {file: source})
    return finding


def offered(finding: Finding, rewrite: str) -> Advice | None:
    """The advice that a rewrite does."""
    return next((one for one in finding.advice if one.rewrite == rewrite), None)


@pytest.mark.parametrize(("threads", "is_offered"), [(None, True), (96, True), (128, False)])
def test_launch_bounds_that_do_not_fit_take_no_condition(
    threads: int | None, is_offered: bool
) -> None:
    bounds = LaunchBounds(threads, None) if threads is not None else None
    facts = dataclasses.replace(array("float[96]", 384), launch_bounds=bounds)
    assert facts.ptxas is not None
    taken = dataclasses.replace(facts.ptxas, shared=12 * 1024 if bounds else 0)
    facts = dataclasses.replace(facts, ptxas=taken)
    assert (offered(only(facts), "shared-memory") is not None) == is_offered


@pytest.mark.parametrize(
    "launch",
    [
        "kernel<<<1, 64>>>(x);\nauto k = kernel;\nk<<<n, 256>>>(x);",
        "Kernel k = &kernel;\nk<<<n, dim3(16, 16)>>>(x);",
        "cudaLaunchKernel((void *)kernel, grid, 256, args, 0, s);",
        "cudaLaunchCooperativeKernel(kernel, grid, dim3(256), args);",
    ],
)
def test_a_launch_in_sight_is_the_least_that_a_condition_allows(launch: str) -> None:
    """However the kernel is launched, a block of 256 is told."""
    facts = dataclasses.replace(array(), demangled="void kernel(float*)")
    advice = offered(only(facts, f"float a[16];\n{launch}\n"), "shared-memory")
    assert advice is not None
    assert "× 256 threads" in advice.text


def test_what_fits_no_launch_in_sight_is_not_offered() -> None:
    facts = dataclasses.replace(array("float[64]", 256), demangled="void kernel(float*)")
    source = "float a[16];\nauto k = kernel;\nk<<<n, 256>>>(x);\n"
    assert offered(only(facts), "shared-memory") is not None
    assert offered(only(facts, source), "shared-memory") is None


@pytest.mark.parametrize(
    ("line", "is_offered"),
    [
        ("  float table[8];", True),
        ("  auto f = [=](int i) mutable { return table[i % 8]; };", False),
        ("  run([=] __device__ (int i) {", False),
        ("  float table[8]; auto f = [&](int i) { return table[i]; };", True),
        ("  auto f = [n](int i) { float table[8]; return g(table, i); };", True),
    ],
)
def test_a_lambdas_capture_cannot_be_in_shared_memory(line: str, is_offered: bool) -> None:
    advice = offered(only(array(), f"\n\n{line}\n"), "shared-memory")
    assert (advice is not None) == is_offered


def test_recursive_calls_have_an_array_each() -> None:
    calls = CallFacts(("walk",), ("walk",), False)
    facts = dataclasses.replace(array(function="walk"), calls=calls)
    assert offered(only(facts), "shared-memory") is None


@pytest.mark.parametrize(
    ("use", "is_array", "is_copied"),
    [
        ("atomicAdd(&table[i], 1);", False, False),
        ("f(&table[i]);", True, False),
        ("f(table);", True, False),
        ("memset(table, 0, sizeof(table));", False, True),
    ],
)
def test_a_layout_is_asked_of_whom_it_concerns(use: str, is_array: bool, is_copied: bool) -> None:
    advice = offered(only(array(), f"{{\n\n  float table[8];\n  {use}\n}}"), "shared-memory")
    assert advice is not None
    assert ("as a pointer" in advice.text) == is_array
    assert ("memset" in advice.text) == is_copied


def test_what_a_pointer_is_chosen_among_moves_together() -> None:
    facts = array()
    other = LocalObject(
        function="k",
        offset=80,
        size=32,
        cause="dynamic-index",
        name="other",
        type="float[8]",
        declared=None,
        confidence="certain",
        index=facts.objects[0].index,
        evidence=(),
    )
    both = access(loop_depth=1, others=(1,))
    facts = dataclasses.replace(facts, objects=(*facts.objects, other), accesses=(both,))
    (finding,) = (one for one in find(facts) if one.object == "table")
    advice = offered(finding, "shared-memory")
    assert advice is not None
    assert "`other`" in advice.text
