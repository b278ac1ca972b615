"""Advice on kernels that are not written in C++: in the words of their language, never in C++."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from lmemscope.model import (
    LANGUAGES,
    Cause,
    CubinFacts,
    Evidence,
    Finding,
    KernelFacts,
    LanguageName,
    LaunchBounds,
)
from lmemscope.rules import RULES
from lmemscope.rules.base import Rule
from tests.support.builders import changed, find
from tests.support.builders import kernel_with as kernel

_CPP = re.compile(
    r"__\w+__|#pragma|#if|\bconstexpr\b|\btemplates?\b|-maxrregcount|asm volatile|extern |printf\b"
)
_OTHERS = [name for name, language in LANGUAGES.items() if not language.is_cpp]


def in_language(name: LanguageName, facts: KernelFacts) -> Finding:
    (finding,) = find(replace(facts, language=name))
    return finding


@pytest.mark.parametrize("one", RULES, ids=lambda r: r.cause)
@pytest.mark.parametrize("name", _OTHERS)
def test_no_sentence_speaks_of_cpp(name: LanguageName, one: Rule) -> None:
    without = ("register-spill", "callee-save", "call-frame", "alloca", "device-launch")
    finding = in_language(name, kernel(one.cause, with_object=one.cause not in without))
    assert finding.advice
    prints = LANGUAGES[name].prints
    for text in (finding.message, *(advice.text for advice in finding.advice)):
        assert _CPP.search(text.replace(prints, "")) is None, text
    assert all(advice.code is None for advice in finding.advice)


def _spilling(limit: int, bounds: LaunchBounds | None = None) -> KernelFacts:
    spill = kernel("register-spill", with_object=False)
    return changed(spill, cubin=CubinFacts(limit, 80, 80, limit), launch_bounds=bounds, ptxas=None)


@pytest.mark.parametrize(
    ("name", "setting"),
    [("triton", "`maxnreg`"), ("warp", "`cuda_max_registers`"), ("numba", "`max_registers`")],
)
def test_a_limit_is_raised_where_the_language_sets_it(name: LanguageName, setting: str) -> None:
    finding = in_language(name, _spilling(32))
    assert setting in finding.advice[0].text


def test_a_triton_kernel_at_the_architectures_limit_gets_more_warps() -> None:
    finding = in_language("triton", _spilling(255))
    assert any("`num_warps`" in advice.text for advice in finding.advice)
    assert not any("`maxnreg`" in advice.text for advice in finding.advice)


def test_a_large_block_is_called_by_its_threads() -> None:
    bounds = LaunchBounds(1024, None)
    assert "__launch_bounds__(1024)" in find(_spilling(64, bounds))[0].message
    assert "blocks of 1024 threads" in in_language("triton", _spilling(64, bounds)).message


@pytest.mark.parametrize(("table", "is_offered"), [("__cudart_i2opi_f", True), ("x_d", False)])
def test_fast_functions_are_offered_for_float_alone(table: str, is_offered: bool) -> None:
    facts = kernel("math-slow-path")
    (one,) = facts.objects
    proof = (Evidence("library-table", table),)
    finding = in_language("numba", replace(facts, objects=(replace(one, evidence_facts=proof),)))
    offered = any("fast_sinf" in advice.text for advice in finding.advice)
    assert offered == is_offered


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (32, "keep it in shared memory: `cuda.shared.array`"),
        (400, "(blocks of up to 96 threads)"),
        (1500, "(blocks of up to 32 threads)"),
        (2048, None),
        (32768, None),
    ],
)
@pytest.mark.parametrize("cause", ["dynamic-index", "large-array"])
def test_shared_memory_is_offered_where_a_block_fits(
    cause: Cause, size: int, said: str | None
) -> None:
    facts = kernel(cause)
    (one,) = facts.objects
    finding = in_language("numba", replace(facts, objects=(replace(one, size=size),)))
    text = " ".join(advice.text for advice in finding.advice)
    assert ("shared memory" in text) == (said is not None)
    assert said is None or said in text
    # Registers hold 1020 bytes of a thread.
    assert ("constants only" in text) == (cause == "dynamic-index" and size <= 1020)
