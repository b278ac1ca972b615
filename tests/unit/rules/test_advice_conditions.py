"""Conditional advice: what the source, launches and bounds decide is not left to the reader."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lmemscope import rules
from lmemscope.model import (
    Advice,
    CallFacts,
    Evidence,
    Finding,
    IndexFacts,
    IndexSource,
    InlineFrame,
    KernelFacts,
    SourceLocation,
    Uniformity,
)
from lmemscope.rules.launched import block_of
from tests.support.builders import access, find, kernel_with, local_object, source_text

LOADED = IndexSource("memory", "x", 0)


def array(kind: str = "float[8]", size: int = 32, **changes: object) -> KernelFacts:
    """A kernel with an array, ``table``, in a loop, indexed by what it loads."""
    index = IndexFacts("x[i]", (LOADED,), "uniform", None)
    made = kernel_with("dynamic-index", index=index, depth=1)
    one = local_object(type=kind, size=size, index=index)
    return replace(made, objects=(replace(one, **changes),))  # type: ignore[arg-type]


def only(facts: KernelFacts, source: str = "", file: str = "a.cu") -> Finding:
    (finding,) = find(facts, {file: source})
    return finding


def offered(finding: Finding, rewrite: str) -> Advice | None:
    """The advice that a rewrite does."""
    return next((one for one in finding.advice if one.rewrite == rewrite), None)


@pytest.mark.parametrize(
    "launch",
    [
        "cudaLaunchKernel((void *)kernel, grid, 256, args, 0, s);",
        "cudaLaunchCooperativeKernel(kernel, grid, dim3(256), args);",
    ],
)
def test_a_launch_in_sight_is_counted_however_it_is_written(launch: str) -> None:
    """However the kernel is launched, a block of 256 is told."""
    facts = replace(array(), demangled="void kernel(float*)")
    ((case, _),) = rules.cases(facts, source_text({"a.cu": f"float a[16];\n{launch}\n"}))
    found = block_of(case)
    assert found is not None
    assert found.threads == 256


def test_recursive_calls_have_an_array_each() -> None:
    calls = CallFacts(("walk",), ("walk",), False)
    facts = replace(array(function="walk"), calls=calls)
    assert offered(only(facts), "shared-memory") is None


@pytest.mark.parametrize(
    ("line", "uniformity", "is_alike", "is_copy", "is_shared"),
    [
        (6, "uniform", True, True, True),
        (6, "uniform", False, True, False),  # Lanes have put different values there.
        (7, "uniform", True, False, True),  # It is loaded on that line, and changed.
        # Each thread has put something elsewhere, which is no place of other memory either.
        (6, "data-dependent", True, False, False),
        (7, "lane-varying", True, False, False),
        (6, "unknown", True, True, True),
    ],
)
def test_conditions_that_accesses_refute_are_not_named(
    line: int, uniformity: Uniformity, is_alike: bool, is_copy: bool, is_shared: bool
) -> None:
    facts = array("float[2000]", 8000, is_alike=is_alike)
    place = (InlineFrame.at(SourceLocation("a.cu", line), None),)
    store = access(is_store=True, uniformity=uniformity, chain=place)
    text = "void k() {\n\n\n\n\n" + f"{facts.objects[0].name}[i] = in[i];\n" * 2 + "}\n"
    (advice,) = only(replace(facts, accesses=(*facts.accesses, store)), text).advice
    assert advice.is_none
    found = ("only copies" in advice.text.lower(), "same in all threads" in advice.text)
    assert found == (is_copy, is_shared)


@pytest.mark.parametrize(
    ("stored", "is_copy"),
    [
        ("{}[i] = in[i];", True),
        ("{}[i] = __ldg(in + i);", True),
        ("{}[i] = (float) s->rows[at[i]].x;", True),
        ("store({});", False),
        ("{}[i] = in[i] * in[j];", False),
        ("{}[i] = f(in[i]);", False),
        ("{}[i] = 1e20;", False),
        ("{}[n] = k;", False),
    ],
)
def test_what_is_stored_and_not_read_from_memory_is_no_copy(stored: str, is_copy: bool) -> None:
    facts = array("float[2000]", 8000)
    place = (InlineFrame.at(SourceLocation("a.cu", 6), None),)
    store = access(is_store=True, uniformity="uniform", chain=place)
    text = "void k() {\n\n\n\n\n" + stored.format(facts.objects[0].name) + "\n}\n"
    (advice,) = only(replace(facts, accesses=(*facts.accesses, store)), text).advice
    assert ("only copies" in advice.text.lower()) == is_copy


@pytest.mark.parametrize(("line", "is_offered"), [("", True), ("#ifdef DEBUG_PRINT", False)])
def test_what_debug_builds_print_is_compiled_out_already(line: str, is_offered: bool) -> None:
    facts = kernel_with("printf-args")
    source = f"void k() {{\n\n\n\n\n{line}\n  printf(x, 1);\n#endif\n}}"
    (advice,) = only(facts, source).advice
    assert ("To remove it from release builds" in advice.text) == is_offered
    assert advice.is_none != is_offered


@pytest.mark.parametrize(("above", "is_rare"), [("", False), ("if (t) ", True)])
def test_what_all_threads_print_is_not_rare(above: str, is_rare: bool) -> None:
    source = f"__global__ void k(int t)\n{{\n\n\n\n\n  {above}printf(x, t);\n}}"
    (advice,) = only(kernel_with("printf-args"), source).advice
    assert ("rare" in advice.text) == is_rare


def test_a_table_of_vectors_has_no_constructor() -> None:
    facts = kernel_with("const-table", kind="float4[5]")
    (advice,) = only(facts, "\n\n  const float4 table[5] = {{1, 2, 3, 4}};\n").advice
    assert "constructor" not in advice.text


def test_arrays_are_chosen_between_by_elements() -> None:
    facts = kernel_with("address-taken", kind="float[20]")
    one = replace(facts.objects[0], evidence_facts=(Evidence("chosen-address"),))
    arrays = only(replace(facts, objects=(one,))).advice
    plain = replace(one, type="float", size=4)
    numbers = only(replace(facts, objects=(plain,))).advice
    assert "a[i]" in arrays[0].text
    assert "a[i]" not in numbers[0].text


COUNTED = IndexFacts(
    "i",
    (IndexSource("loop-counter", None, constant_trip=True),),
    "uniform",
    SourceLocation("a.cu", 5),
    written_out=100,
)
"""An index of a table that a loop on line 5 counts in."""


def test_the_tables_loop_does_not_help_what_has_another_index_or_is_too_large() -> None:
    table = local_object("rolled-loop", name="x", offset=80, index=COUNTED)
    loaded = IndexFacts("x[i]", (LOADED, IndexSource("parameter", "n", 1)), "uniform", None)
    for facts in (array(index=loaded), array("float[300]", 1200)):
        facts = replace(facts, objects=(*facts.objects, table))
        assert not any("line 5" in one.text for one in only(facts).advice)
