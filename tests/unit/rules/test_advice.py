"""Advice: offered only where it applies, and its code compiles where the author would write it."""

from __future__ import annotations

import re
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from lmemscope import rules
from lmemscope.model import (
    Advice,
    CallFacts,
    Cause,
    CompileOptions,
    CubinFacts,
    Evidence,
    FunctionFacts,
    GateFailure,
    GateResult,
    IndexFacts,
    IndexSource,
    InlineFrame,
    KernelFacts,
    LaunchBounds,
    PtxasFacts,
    PtxFacts,
    SourceLocation,
    SourceText,
)
from lmemscope.rules.inlining import of_library
from lmemscope.rules.launched import block_of
from lmemscope.tools import nvrtc
from tests.support.builders import HERE, access, changed, find, gate_as, local_object, source_text
from tests.support.builders import kernel_with as kernel
from tests.support.program import ROOT

COUNTER = IndexSource("loop-counter", None, constant_trip=True)
OPEN_COUNTER = IndexSource("loop-counter", None, constant_trip=False)
LOADED = IndexSource("memory", "x", 0)


def advice(facts: KernelFacts, source: str = "") -> tuple[Advice, ...]:
    """Of a kernel's only finding; its source is `a.cu`."""
    (finding,) = find(facts, {"a.cu": source})
    return finding.advice


def said(facts: KernelFacts, source: str = "") -> str:
    return " ".join(one.text for one in advice(facts, source))


def codes(facts: KernelFacts, source: str = "") -> str:
    return "\n".join(one.code for one in advice(facts, source) if one.code is not None)


def block(facts: KernelFacts, sources: SourceText) -> int | None:
    """Threads of a block of a kernel's launches; None where they are not known."""
    ((case, _),) = rules.cases(facts, sources)
    found = block_of(case)
    return found.threads if found is not None else None


def indexed(*sources: IndexSource, expression: str | None = None) -> IndexFacts:
    return IndexFacts(expression, sources, "uniform", None)


def array(kind: str, size: int, **changes: Any) -> KernelFacts:
    """A kernel with an array in a loop, indexed by what it loads."""
    made = kernel("dynamic-index", index=indexed(LOADED, expression="x[i]"), depth=1)
    one = local_object(type=kind, size=size, index=made.objects[0].index)
    return replace(made, objects=(replace(one, **changes),))


# Shared memory.


def in_function(launch: str) -> str:
    """A launch in a function, closed where the text leaves one open."""
    text = launch if "void " in launch else f"void run() {{\n{launch}\n}}"
    return text + "}" * (text.count("{") - text.count("}"))


SIZES = """#define MACRO 64
static constexpr int constant{32};
#if A
#define TWO 32
#else
#define TWO 64
#endif
"""


@pytest.mark.parametrize(
    ("launch", "threads"),
    [
        ("kernel<<<grid, 64>>>(x);", 64),
        ("kernel<<<grid, 64, 0, stream>>>(x);", 64),
        ("kernel<<<dim3(n, m), dim3(8, 4)>>>(x);", 32),
        ("kernel<<<grid, dim3{8, 4}>>>(x);", 32),
        ("CHECK(kernel << <grid, 32 >> > (x));", 32),
        ("constexpr int size = 64;\nkernel<<<grid, size>>>(x);", 64),
        ("#define SIZE 32\nkernel<<<grid, SIZE * 2>>>(x);", 64),
        ("dim3 block(16, 4);\nkernel<<<grid, block>>>(x);", 64),
        ("dim3 block = dim3(16, 4);\nkernel<<<grid, block>>>(x);", 64),
        ("kernel<<<grid, 32>>>(x);\nkernel<<<grid, 64>>>(x);", 64),
        ("kernel<float, 3><<<grid, 64>>>(x);", 64),
        ("kernel<<<(n - 1) / 64 + 1, 64>>>(x);", 64),
        ("kernel<<<\n  (n - 1) / 64 + 1,\n  64>>>(\n  x);", 64),
        ("void f() {\nint size = n;\n}\nvoid g() {\nint size = 64;\nkernel<<<1, size>>>(x);", 64),
        ("void f() {\ndim3 b(n);\n}\nvoid g() {\ndim3 b(64);\nkernel<<<1, b>>>(x);\n}", 64),
        ("const int size = 64;\nvoid f() {\nif (n) {\nkernel<<<1, size>>>(x);\n}\n}", 64),
        ("int a = 2, size = 64;\nkernel<<<a, size>>>(x);", 64),
        ("const int size{64};\nkernel<<<1, dim3(size, 2)>>>(x);", 128),
        ("#define SIZE (1 << 6)\nkernel<<<grid, SIZE>>>(x);", 64),
        ("#define W 0x20u\n#define SIZE (W * 2ul + 64 / W - 2)\nkernel<<<grid, SIZE>>>(x);", 64),
        ("#define A (B * B)\n#define B (A * A)\nkernel<<<grid, A>>>(x);", None),
        ("#define A 2147483647\n#define B (A * A)\nkernel<<<grid, B>>>(x);", None),
        ("kernel<<<grid, 1if + 63>>>(x);", None),
        ("kernel<<<grid, 010>>>(x);", None),
        ("enum { SIZE = 64 };\nkernel<<<grid, SIZE>>>(x);", 64),
        ("dim3 b = {8, 8, 1};\nkernel<<<grid, b>>>(x);", 64),
        ("int w = 16;\ndim3 b;\nb.x = w;\nb.y = w / 4;\nkernel<<<grid, b>>>(x);", 64),
        ("dim3 b;\nb.x = 16;\nb.x = n;\nkernel<<<grid, b>>>(x);", None),
        ("dim3 b;\nb.x = 16;\nb.y = n;\nkernel<<<grid, b>>>(x);", None),
        ('#include "sizes.h"\nkernel<<<grid, MACRO>>>(x);', 64),
        ('#include "sizes.h"\nkernel<<<grid, constant * 2>>>(x);', 64),
        ('kernel<<<grid, 64>>>(x);\nputs("of (kernel) 1");', 64),
        ("kernel<<<grid, 64>>>(x);\n/* by\n(kernel) */", 64),
        ("cudaFuncSetCacheConfig(kernel, 1);\nkernel<<<grid, 64>>>(x);", 64),
        ("auto f = kernel;\nf<<<grid, 32>>>(x);\nkernel<<<grid, 64>>>(x);", 64),
        ("#if A\n#define S 64\n#else\n#define S 128\n#endif\nkernel<<<1, S>>>(x);", None),
        ("#define S 1\n#undef S\n#define S 64\nkernel<<<1, S>>>(x);", 64),
        ("#define S 64\n#define T S\nvoid f() {\ndim3 b(S);\nkernel<<<1, b>>>(x);\n}", 64),
        ('#include "sizes.h"\nkernel<<<grid, TWO>>>(x);', None),
        ("kernel<<<grid, MACRO>>>(x);", None),
        ("kernel<<<grid, threads>>>(x);", None),
        ("void f() {\nconst int size = 64;\n}\nvoid g(int size) {\nkernel<<<1, size>>>(x);", None),
        ("void f() {\nconst int size = 64;\n}\nvoid g() {\nkernel<<<1, size>>>(x);", None),
        ("void g(int n, int size = 64) {\nkernel<<<1, size>>>(x);\n}", None),
        ("template <int size>\nvoid g() {\nkernel<<<1, size>>>(x);\n}", None),
        ("void g() {\nint size = 64;\nif (n) {\nsize = n;\n}\nkernel<<<1, size>>>(x);\n}", None),
        ("kernel<<<1, 64>>>(x);\ncudaLaunchKernel(kernel, 1, n, args);", None),
        ("int size = 64;\nsize = n;\nkernel<<<grid, size>>>(x);", None),
        ("int size = 64;\nsize *= 2;\nkernel<<<grid, size>>>(x);", None),
        ("int size = 64;\nparse(&size);\nkernel<<<grid, size>>>(x);", None),
        ("dim3 block(16, 4);\nblock.x = n;\nkernel<<<grid, block>>>(x);", None),
        ("kernel<<<grid, 32>>>(x);\nkernel<<<grid, n>>>(x);", None),
        ("other_kernel<<<grid, 32>>>(x);", None),
        ("// kernel<<<grid, 32>>>(x);", None),
    ],
)
def test_the_block_is_that_of_the_launches(launch: str, threads: int | None) -> None:
    facts = replace(array("float[16]", 64), demangled="void kernel(float*)")
    files = {
        "a.cu": f"float a[16];\n{in_function(launch)}\n",
        "sizes.h": '#include "inner.h"\n',
        "inner.h": SIZES,
    }
    assert block(replace(facts, location=HERE), source_text(files)) == threads


def test_what_is_changed_behind_its_last_use_is_a_constant_before() -> None:
    facts = replace(array("float[16]", 64), demangled="void kernel(float*)")
    facts = replace(facts, location=HERE)
    launch = "void g() {\nint size = 64;\n%s {\nkernel<<<1, size>>>(x);\n}\nsize = 96;\n}"
    assert block(facts, source_text({"a.cu": launch % "if (n)"})) == 64
    launch = launch.replace("}\nsize = 96;", "size = 96;\n}")
    assert block(facts, source_text({"a.cu": launch % "for (int i = 0; i < n; ++i)"})) is None


def test_the_source_that_includes_a_kernel_tells_its_block() -> None:
    facts = replace(array("float[16]", 64), demangled="void kernel(float*)")
    facts = replace(facts, location=HERE)
    files = {"main.cu": "void g() {\nkernel<<<1, 64>>>(x);\n}"}
    text = SourceText(lambda file: files.get(file, "").splitlines(), "main.cu")
    assert block(facts, text) == 64


def test_the_command_line_tells_the_block_too() -> None:
    facts = replace(array("float[16]", 64), demangled="void kernel(float*)")
    facts = replace(facts, location=HERE)
    files = {
        "a.cu": '#include "lib/launch.h"\n#ifndef SIZE\n#define SIZE 32\n#endif\n',
        "include/lib/launch.h": "void g() {\n  kernel << <1, SIZE >> > (x);\n}",
    }

    def threads(options: CompileOptions) -> int | None:
        lines = SourceText(lambda file: files.get(file, "").splitlines(), "a.cu", options)
        return block(facts, lines)

    assert threads(CompileOptions(defines=("SIZE=64",))) is None
    assert threads(CompileOptions(include_dirs=("include",))) == 32
    both = CompileOptions(include_dirs=("other", "include"), defines=("SIZE=1", "SIZE=64"))
    assert threads(both) == 64


def test_long_sources_take_no_long() -> None:
    """What is repeated many times in a source is looked at as often, and no oftener."""
    facts = replace(array("Row[8]", 64), demangled="void kernel(float*)")
    facts = replace(facts, location=HERE)
    head = "void k() {\n\n  Row table[8];\n"
    product = " * ".join("B" * 60)
    steps = (f"#define {a} ({product.replace('B', b)})" for a, b in pairwise("ABCDEFG"))
    for tail in (
        "/*" * 20_000,
        f"type{chr(10) * 2_000} table ;",
        "Row a " * 5_000,
        "struct " * 5_000,
        "\n".join([*steps, "#define G 2", "kernel<<<1, A>>>(x);"]),
        "x = table, " * 5_000,
    ):
        before = time.process_time()
        said(facts, f"{head}{tail}\n}}\n")
        assert time.process_time() - before < 2, tail[:20]


def test_variables_of_one_name_are_told_apart_by_their_lines() -> None:
    facts = array("float[8]", 32)
    (one,) = facts.objects
    assert "`table` of line" not in said(replace(facts, objects=(one, one)))
    other = replace(one, declared=SourceLocation("b.cuh", 9))
    facts = replace(facts, objects=(one, other))
    (finding,) = find(facts, {})
    assert "`table` of line 3" in finding.message
    share = replace(facts.shares[0], object_index=1)
    (finding,) = find(replace(facts, causes=(share,), frame=()), {})
    assert "`table` of line 9 of b.cuh" in finding.message


def test_counters_alone_may_take_a_large_array_apart() -> None:
    facts = array("double[135]", 1080, name=None, type=None)
    by_data, index = said(facts), facts.objects[0].index
    assert index is not None
    counters = replace(index, sources=(IndexSource("loop-counter", None),))
    by_counters = said(array("double[135]", 1080, name=None, type=None, index=counters))
    assert "too large for registers" in by_data
    assert "not all of it is live at once" in by_counters
    assert "too large" not in by_counters


def test_an_object_without_a_name_is_not_to_be_moved() -> None:
    facts = array("float[20]", 80, name=None, type=None)
    assert said(facts) == (
        "The variable's name is unknown: check the array that "
        "is indexed at line 7. It can stay in registers only if every index is a constant."
    )
    counted = indexed(OPEN_COUNTER)
    assert "comparing with the index" in said(
        array("float[20]", 80, confidence="possible", index=counted)
    )
    assert "too large for registers" in said(array("float[300]", 1200, name=None, type=None))
    assert codes(facts) == ""


# Selection.

LOOKUP = "\n\n  float table[ROWS];\n\n\n\n  {statement}\n"


def test_what_cannot_be_rewritten_has_no_code_for_a_store() -> None:
    facts = array("float[20]", 80)
    stored = replace(facts.accesses[0], is_store=True)
    facts = replace(facts, accesses=(stored,))
    assert "if (" not in codes(facts, LOOKUP.replace("{statement}", "keep(&table[x[i]]) = {1};"))


# Unrolling.


def test_an_array_that_leaves_no_registers_is_not_unrolled() -> None:
    index = replace(indexed(COUNTER, expression="i"), loop=HERE)
    made = kernel("rolled-loop", index=index, kind="float[240]")
    large = replace(made, objects=(replace(made.objects[0], size=960, type_size=960),))
    assert "nroll" not in said(large)
    small = replace(made, objects=(replace(made.objects[0], size=800, type_size=800),))
    assert "once the loop at line 7" in said(small)


def test_advice_that_no_rewrite_follows_says_why() -> None:
    index = replace(indexed(COUNTER, expression="i"), loop=HERE)
    facts = kernel("rolled-loop", index=index)
    ((case, finding),) = rules.cases(facts, source_text({"a.cu": ""}))
    why = "the loop on line 7 has `unroll` before it already"
    (words,) = rules.advice_for(case, finding)
    (alone,) = rules.advice_for(case, finding, declined={"unroll": why})
    assert alone.text.startswith(words.text)
    assert why in alone.text
    other = Advice("Keep it elsewhere.", rewrite="shared-memory")
    assert rules.advice_for(case, finding, [other], {"unroll": why}) == (alone, other)
    same = Advice("Unroll it.", rewrite="unroll")
    assert rules.advice_for(case, finding, [same]) == (same,)


def test_where_no_rewrite_applies_the_nearest_reasons_are_said() -> None:
    facts = array("float[16]", 64)
    ((case, finding),) = rules.cases(facts, source_text({"a.cu": ""}))
    why = {
        "shared-memory": "it does not fit",
        "shared-row": "it does not fit",
        "select": "it is &a",
    }
    (only,) = rules.advice_for(case, finding, declined={**why, "narrow": "it is a float"})
    assert only.is_none
    assert "`shared-memory` or `shared-row` here: it does not fit." in only.text
    assert "`select` here: it is &a." in only.text
    assert "narrow" not in only.text


def test_an_index_that_is_chosen_beside_the_counters_stays_when_loops_are_unrolled() -> None:
    index = replace(indexed(COUNTER, expression="i"), loop=HERE)
    alone = kernel("rolled-loop", index=index)
    beside = kernel("rolled-loop", index=replace(index, other_uniformity="data-dependent"))
    assert "Every index of `table` is a constant once" in said(alone)
    assert "Every index" not in said(beside)


# Calls.


@pytest.mark.parametrize(
    ("calls", "sentence", "inlines"),
    [
        (CallFacts(("_Z4leafPf",), (), False), "Inline leaf", True),
        (CallFacts(("_Z4leafPf",), ("_Z4leafPf",), False), "leaf is recursive", False),
        (CallFacts((), (), False, external=("_Z4leafPf",)), "defined in another source", False),
        (
            CallFacts(("_Z4leafPf",), (), False, library=("_Z4leafPf",)),
            "cannot be in registers",
            False,
        ),
    ],
)
def test_only_what_can_be_inlined_is_to_be(calls: CallFacts, sentence: str, inlines: bool) -> None:
    facts = replace(kernel("address-taken"), calls=calls)
    assert sentence in said(facts)
    assert ("__forceinline__" in said(facts)) == inlines


@pytest.mark.parametrize("type_", ["float", "float[4]", "Ray"])
def test_nobody_promises_what_a_function_in_another_source_does(type_: str) -> None:
    # Even a number may be copied as bytes, as many as a length says.
    facts = kernel("address-taken", kind=type_)
    facts = replace(facts, calls=CallFacts((), (), False, external=("_Z4leafPf",)))
    assert "The outcome then depends on what it does with the address" in said(facts)
    assert "`table` stays in local memory if the address is stored" in said(facts)


@pytest.mark.parametrize("name", ["cudaStreamCreateWithFlags", "__cudaCDP2StreamDestroy", "malloc"])
def test_what_the_driver_defines_is_not_to_be_rewritten(name: str) -> None:
    facts = kernel("address-taken")
    (one,) = facts.objects
    passed = replace(one, evidence_facts=(Evidence("address-passed", name),))
    facts = replace(facts, objects=(passed,), calls=CallFacts((), (), False))
    assert "It cannot be in registers while" in said(facts)
    assert not re.search("values|__forceinline__|header", said(facts))
    own = replace(facts, calls=CallFacts((name,), (), False))
    assert ("It cannot be in registers while" in said(own)) == (name == "__cudaCDP2StreamDestroy")


@pytest.mark.parametrize(
    ("kind", "name", "by_value"),
    [
        ("float[4]", "_Z4leafPf", True),
        ("float[4]", None, True),
        ("Ray", "_Z4leafP3Ray", True),
        ("Ray", "_ZN3Ray4leafEv", False),
        ("vec3", "_ZN4vec34normEv", False),
        ("const uint4[2]", "_ZN2ns4leafEP5uint4", True),
        ("float *[4]", "_ZN2ns4leafEPPf", True),
        ("Ray", None, False),
    ],
)
def test_whose_function_is_called_cannot_be_passed_by_value(
    kind: str, name: str | None, by_value: bool
) -> None:
    facts = kernel("address-taken")
    (one,) = facts.objects
    proof = (Evidence("address-passed", name),)
    passed = replace(one, type=kind, evidence_facts=proof, size=32)
    calls = CallFacts(() if name is None else (name,), (), False)
    text = said(replace(facts, objects=(passed,), calls=calls))
    # A class may be passed by its address, whoever asks for its value.
    said_of_class = "make those `= default`"
    assert (said_of_class in text) == (by_value and kind == "Ray")
    is_plain = by_value and kind != "Ray"
    assert ("Or pass values instead of the pointer" in text) == is_plain
    # An array that the callee indexes at run time would be in its own frame.
    assert ("in a structure, if the callee" in text) == (by_value and "[" in kind)
    # What does not go in registers beside other arguments lies on the stack all the same.
    large = replace(facts, objects=(replace(passed, size=36),), calls=calls)
    assert "pass values" not in said(large)
    assert ("Do the same for every other function that receives the address" in text) == (
        name is not None
    )


@pytest.mark.parametrize(
    ("name", "is_static"),
    [
        ("_Z4gathPf", False),
        ("_ZN28_INTERNAL_00000000_1_a_cu_f54gathEPf", True),
        ("_Z4gathPf$3", True),
    ],
)
def test_who_can_call_a_function_that_saves_registers(name: str, is_static: bool) -> None:
    saves = replace(
        kernel("callee-save", with_object=False),
        name=name,
        kind="function",
        accesses=(access("callee-save", function=name, object=None),),
    )
    (finding,) = find(saves)
    assert ("for other files to call" in finding.message) != is_static
    assert ("`inline`" in said(saves)) != is_static
    whole = replace(saves, demangled="float metal::gath<int>(float*)")
    assert ("explicit instantiation" in said(whole)) != is_static
    assert ("__forceinline__" in said(saves)) == is_static


SCATTER = "_ZNK5metal7scatterEv"


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (
            ["sm20_rcp_rn_f32_slowpath", "sm3x_div_rn_noftz_f32_slowpath"],
            "sm20_rcp_rn_f32_slowpath and sm3x_div_rn_noftz_f32_slowpath serve divisions of "
            "float: if less accurate versions are enough, `-prec-div=false` avoids them.",
        ),
        (
            ["sm20_sqrt_rn_f32_slowpath"],
            "sm20_sqrt_rn_f32_slowpath serves square roots of float: if less accurate "
            "versions are enough, `-prec-sqrt=false` avoids it.",
        ),
        (
            ["sm20_div_u64", "sm20_dsqrt_rn_f64_mediumpath_v1"],
            "Not yours to inline: sm20_div_u64 and sm20_dsqrt_rn_f64_mediumpath_v1 (from "
            "CUDA or another library). Call them less often, or leave them as they are.",
        ),
    ],
)
def test_what_ptxas_divides_with_is_told_by_what_does_without(names: list[str], text: str) -> None:
    symbols = [f"$__internal_{n}_$__cuda_{name}" for n, name in enumerate(names)]
    assert [one.text for one in of_library(symbols)] == [text]


def test_functions_that_only_their_addresses_link_are_not_called() -> None:
    saves = kernel("callee-save", with_object=False)
    there = access("callee-save", function=SCATTER, object=None)
    callee = FunctionFacts(SCATTER, "metal::scatter() const", None, None, None)
    facts = replace(saves, accesses=(there,), callees=(callee,), calls=CallFacts((), (), False))
    (finding,) = find(facts)
    assert "it calls none of them" in finding.message
    assert said(facts).startswith("Nothing to do in this kernel")
    # What ptxas adds itself may be called by the kernel all the same.
    root = access("callee-save", function="$__internal_3_$__cuda_sm20_sqrt_rn", object=None)
    both = replace(facts, accesses=(there, root))
    assert said(both).startswith("Nothing to do about metal::scatter: this kernel calls none")
    assert "Not yours to inline: sm20_sqrt_rn (from CUDA" in said(both)
    called = replace(facts, calls=CallFacts((SCATTER,), (), False))
    assert "Inline metal::scatter" in said(called)
    assert "none of them" not in find(called)[0].message
    object_ = replace(kernel("address-taken"), callees=(callee,), calls=CallFacts((), (), False))
    (one,) = object_.objects
    theirs = replace(object_, objects=(replace(one, function=SCATTER),))
    assert said(theirs).startswith("Nothing to do in this kernel")
    assert not said(object_).startswith("Nothing to do")


def test_an_unknown_depth_of_functions_that_are_not_called_is_nobodys_to_mend() -> None:
    callee = FunctionFacts(SCATTER, "metal::scatter() const", None, None, None)
    facts = replace(
        kernel("call-frame", with_object=False),
        accesses=(),
        callees=(callee,),
        calls=CallFacts((), (), False),
    )
    (finding,) = find(facts)
    assert finding.message.startswith("the stack depth is unknown")
    assert "__forceinline__" not in said(facts)


def test_all_calls_that_share_a_buffer_are_to_be_compiled_out() -> None:
    made = kernel("printf-args")
    (one,) = made.accesses
    lines = [SourceLocation("a.cu", number) for number in (9, 7, 9)]
    sites = tuple(replace(one, chain=(InlineFrame.at(line, None),)) for line in lines)
    (found,) = advice(replace(made, accesses=sites), "\n" * 6 + 'printf("%d", n);\n')
    assert "every call that shares the buffer, at line 7 and line 9" in found.text
    assert found.code is None


def test_calls_are_where_they_are_known_and_not_where_a_store_seems_to_be() -> None:
    """A store of what all calls print can have the line of the function's caller alone."""
    made = kernel("printf-args")
    (one,), (held,) = made.accesses, made.objects
    caller = replace(one, chain=(InlineFrame("a.cu", 20, None),))
    known = replace(held, handed_at=(SourceLocation("a.cu", 7), SourceLocation("a.cu", 9)))
    facts = replace(made, accesses=(caller,), objects=(known,))
    (found,) = advice(facts, "\n" * 6 + 'printf("%d", n);\n')
    assert "every call that shares the buffer, at line 7 and line 9" in found.text


def printing(source: str, place: SourceLocation = HERE) -> tuple[Advice, ...]:
    facts = kernel("printf-args")
    (one,) = facts.objects
    proof = (Evidence("address-passed", "vprintf"),)
    made = replace(one, name=None, type=None, evidence_facts=proof, escape=place)
    return advice(replace(facts, objects=(made,)), source)


def test_a_kernel_that_does_nothing_but_print_is_left_as_it_is() -> None:
    made = kernel("printf-args")
    alone = replace(made, ptx=PtxFacts(8, 1, 0, 1, 0, only_prints=True))
    assert said(alone, "") == "Leave it: the kernel stores no results, so printing is its purpose."
    assert "stores no results" not in said(made, "")


def test_text_that_is_printed_is_in_memory_for_its_address() -> None:
    made = kernel("address-taken", kind="char[32]")
    (one,) = made.objects
    proof = Evidence("ptx-instruction", ptx_line=339, opcode="st.local.u64")
    one = replace(one, evidence_facts=(proof,))
    store = access("printf-args", object=None, ptx_line=339)
    facts = replace(made, objects=(one,), accesses=(*made.accesses, store))
    assert "`%c` for each character of `table`" in said(facts)
    # As for `%p`: there is no text.
    numbers = replace(facts, objects=(replace(one, type="int[8]"),))
    assert "print values instead of the address of `table`" in said(numbers)
    assert "character" not in said(numbers)
    elsewhere = replace(store, ptx_line=340)
    facts = replace(facts, accesses=(*made.accesses, elsewhere))
    assert "store an index or a value" in said(facts)


def test_recursion_is_never_to_be_inlined() -> None:
    facts = kernel("call-frame", with_object=False)
    facts = replace(facts, calls=CallFacts(("_Z3facj",), ("_Z3facj",), False))
    assert "Rewrite fac as a loop" in said(facts)
    assert "__forceinline__" not in said(facts)


def test_a_function_that_calls_itself_is_not_to_be_defined_inline() -> None:
    facts = kernel("callee-save", with_object=False)
    alone = (Evidence("compiled-alone", "_Z5tracej"),)
    own = replace(facts.accesses[0], function="_Z5tracej", evidence_facts=alone)
    facts = replace(facts, name="_Z5tracej", kind="function", accesses=(own,))
    assert "define it `inline`" in said(facts)
    calls = CallFacts(("_Z5tracej",), ("_Z5tracej",), False)
    assert "cannot be inlined: use a loop" in said(replace(facts, calls=calls))


def test_what_pointers_lead_to_is_told_from_recursion() -> None:
    facts = kernel("call-frame", with_object=False)
    facts = replace(facts, calls=CallFacts(("_Z3facj",), ("_Z3facj",), True))
    (one, *_) = facts.accesses
    own = replace(one, evidence_facts=(Evidence("calls-itself", "_Z3facj"),))
    pointed = (Evidence("called-by-pointer", "_ZN1A1fEv"),)
    saved = replace(one, is_store=True, evidence_facts=pointed)
    (finding,) = find(replace(facts, accesses=(own, own, saved)), {})
    assert "on the stack: 2 loads and 0 stores per call" in finding.message
    assert finding.message.endswith(
        "functions called through pointers also save registers there: 0 loads and 1 store in all"
    )


# Registers.


def spill(bounds: LaunchBounds | None, used: int, cap: int) -> KernelFacts:
    return changed(
        kernel("register-spill", with_object=False),
        launch_bounds=bounds,
        ptxas=PtxasFacts(used, 64, 16, 16, 0, None, 0),
        cubin=CubinFacts(used, 64, 0, cap),
    )


def test_a_function_has_no_launch_bounds_of_its_own() -> None:
    capped = spill(None, 32, 32)
    assert "(-maxrregcount), or set __launch_bounds__ on this kernel" in said(capped)
    assert "`__maxnreg__`" in said(capped)
    own = replace(capped, kind="function")
    assert "(-maxrregcount); __launch_bounds__ on a kernel does not apply" in said(own)


@pytest.mark.parametrize(
    ("bounds", "code"),
    [
        (LaunchBounds(64, 16), "__launch_bounds__(64, 14)"),
        (LaunchBounds(1024, 2), "__launch_bounds__(1024, 1)"),
        (LaunchBounds(1024, 1), "__launch_bounds__(512, 1)"),
    ],
)
def test_launch_bounds_are_loosened_until_they_leave_more(bounds: LaunchBounds, code: str) -> None:
    assert bounds.max_threads is not None
    allowed = 65536 // (bounds.max_threads * (bounds.min_blocks or 1))
    first = advice(spill(bounds, allowed, allowed))[0]
    assert first.code == code
    assert f"instead of {allowed}" in first.text


def test_at_255_no_limit_is_to_be_raised() -> None:
    text = said(spill(LaunchBounds(128, None), 255, 255))
    assert "There is no limit left to raise" in text
    assert "Loosen" not in text


# Tables, parameters, functions of the library.


def test_a_parameter_that_is_changed_cannot_be_read_in_place() -> None:
    source = "\n\n__global__ void k(Settings table, int n) {\n"
    facts = kernel("param-copy")
    assert "`const __grid_constant__`" in said(facts, source)
    (one,) = facts.objects
    store = Evidence("parameter-changed", ptx_line=9, opcode="st.local.u32")
    changed = replace(facts, objects=(replace(one, evidence_facts=(store,)),))
    assert "__grid_constant__" not in said(changed, source)
    # A copy of the array that is indexed would be in local memory again.
    made = replace(changed.objects[0], type="float[16]", index=indexed(COUNTER))
    (load,) = changed.accesses
    own = replace(changed, objects=(made,), accesses=(load, replace(load, is_store=True)))
    assert "modifies `table`, so every thread" in said(own, source)
    # The store is another member's: the array itself stays as it is.
    other = replace(own, accesses=(load, replace(load, is_store=True, ptx_line=8)))
    assert "copy only the modified members" in said(other, source)
    several = replace(made, type="Settings")
    assert "copy only the modified members" in said(replace(changed, objects=(several,)), source)


@pytest.mark.parametrize(("space", "is_constant"), [("__constant__", True), ("__device__", False)])
def test_an_index_out_of_constant_memory_may_be_made_constant(
    space: str, is_constant: bool
) -> None:
    source = f"{space} unsigned char x[16];\n\n\n\n\n\n\n\n\n"
    text = said(array("float[16]", 64), source)
    assert ("`const` table" in text) is is_constant


def test_a_parameter_that_a_pointer_may_lead_to_is_read_by_value() -> None:
    source = "\n\n__global__ void k(Settings table, int n) {\n"
    facts = kernel("param-copy")
    assert "can return a copy" not in said(facts, source)
    shown = Evidence("chosen-address", ptx_line=9, opcode="ld.u32")
    chosen = replace(facts.objects[0], evidence_facts=(shown,))
    assert "can return a copy" in said(replace(facts, objects=(chosen,)), source)


COPIED = """\
__device__ float get(const Table table, int n,
                     int m) {
  return table.rows[n];
}
__global__ void %s {
  Table own = given;
  out[0] = get(given, n, 1) + own.rows[n];
}
"""


@pytest.mark.parametrize(
    ("name", "line", "kernel_head", "message", "text"),
    [
        (
            "table",
            1,
            "kernel(Table given)",
            "parameter `table.rows` (",
            "Let get take `table` by",
        ),
        ("own", 6, "kernel(Table given)", "a copy of a parameter", "Read the kernel's parameter"),
        ("given", 5, "kernel(Table given)", "parameter `given.rows` (", "Read `given` in place"),
    ],
)
def test_whose_parameter_a_copy_is_decides_what_is_declared(
    name: str, line: int, kernel_head: str, message: str, text: str
) -> None:
    facts = kernel("param-copy")
    (one,) = facts.objects
    one = replace(one, name=f"{name}.rows", declared=SourceLocation("a.cu", line))
    facts = replace(
        facts, objects=(one,), demangled="kernel(Table)", location=SourceLocation("a.cu", 5)
    )
    source = COPIED % kernel_head
    (finding,) = find(facts, {"a.cu": source})
    assert message in finding.message
    assert finding.advice[0].text.startswith(text)
    assert ("of get is copied" in finding.message) == (name == "table")


def test_what_else_keeps_an_object_is_said_with_how_its_address_goes() -> None:
    def taken(size: int, *also: Cause) -> tuple[Advice, ...]:
        facts = array(f"char[{size}]", size, also=also)
        (one,) = facts.objects
        proof = (Evidence("address-passed", "f"),)
        made = replace(one, cause="address-taken", evidence_facts=proof)
        causes = tuple(replace(share, cause="address-taken") for share in facts.causes)
        return advice(replace(facts, objects=(made,), causes=causes))

    assert not any("stays in memory" in one.text for one in taken(80))
    indexed = taken(80, "dynamic-index")
    assert "may stay in memory for another cause: dynamic-index" in indexed[0].text
    # Registers would not hold it, whoever gets its address.
    (whole,) = taken(2000, "dynamic-index")
    assert whole.is_none
    assert not taken(2000)[0].is_none


def test_a_function_of_cudas_that_gets_the_address_too_is_named() -> None:
    facts = array("char[80]", 80)
    (one,) = facts.objects
    proof = (Evidence("address-passed", "f"), Evidence("address-passed", "malloc"))
    made = replace(one, cause="address-taken", evidence_facts=proof)
    causes = tuple(replace(share, cause="address-taken") for share in facts.causes)
    found = advice(replace(facts, objects=(made,), causes=causes))
    assert "while malloc is called" in found[0].text
    assert "Inline f " in found[1].text


@pytest.mark.parametrize("name", ["free", "_ZdlPv", "_ZdaPvm"])
def test_what_lies_in_the_frame_is_not_to_be_freed(name: str) -> None:
    facts = kernel("address-taken")
    (one,) = facts.objects
    passed = replace(one, evidence_facts=(Evidence("address-passed", name),))
    calls = CallFacts((), (), False, library=(name,))
    assert "must not be freed" in said(replace(facts, objects=(passed,), calls=calls))
    own = replace(facts, objects=(passed,), calls=CallFacts((name,), (), False))
    assert "must not be freed" not in said(own)


def promise(source: str, chain: tuple[InlineFrame, ...] | None = None) -> Advice | None:
    facts = kernel("math-slow-path")
    (one,) = facts.objects
    proof = (Evidence("library-table", "__cudart_i2opi_f"),)
    facts = replace(facts, objects=(replace(one, evidence_facts=proof),))
    if chain is not None:
        facts = replace(facts, accesses=(access("math-slow-path", chain=chain),))
    found = [one for one in advice(facts, source) if "tell the compiler" in one.text]
    return found[0] if found else None


def test_no_promise_is_asked_for_where_a_library_calls_the_function() -> None:
    own = InlineFrame.at(HERE, None)
    library = InlineFrame("/usr/include/cub/agent.cuh", 9, None)
    source = "\n\n\n\n\n\ny = sinf(x);"
    assert promise(source, (library, own)) is not None
    assert promise(source, (library, own, library)) is None


def test_who_compares_an_address_is_who_can_leave_it() -> None:
    (one,) = kernel("address-taken").objects
    for subject, text in (
        (None, ("Remove the address comparison")),
        ("_ZN6thrust4copyEv", "Replace the call of the library function with a loop"),
    ):
        proof = (Evidence("address-compared", subject, ptx_line=9, opcode="setp.lt.u64"),)
        facts = replace(kernel("address-taken"), objects=(replace(one, evidence_facts=proof),))
        assert said(facts).startswith(text)
        (finding,) = find(facts)
        assert ("library function" in finding.message) == (subject is not None)
        assert "it is compared with another" in finding.message


# Whose code it is.

CUB = SourceLocation("/venv/lib/python3.11/site-packages/nvidia/cu13/include/cub/a.cuh", 9)


def test_an_installed_header_is_not_to_be_changed() -> None:
    facts = array("float[20]", 80)
    there = replace(facts.accesses[0], chain=(InlineFrame.at(CUB, None),))
    facts = replace(facts, accesses=(there,), location=CUB)
    assert said(facts).startswith("This is library code")
    (finding,) = find(facts)
    shown = gate_as("text", _failed(replace(finding, location=CUB)))
    assert "// lmemscope" not in shown
    mine = gate_as("text", _failed(replace(finding, location=HERE)))
    assert "// lmemscope: allow dynamic-index" in mine


def _failed(finding: Any) -> GateResult:
    failure = GateFailure(
        "new", "a.cu", "sm_90", "k", "k", "none", "one", finding, finding.location, "nvrtc"
    )
    return GateResult("failed", False, (failure,), (), (), (), (), (), ())


# Every snippet compiles.


def sliced(unit: dict[str, Any]) -> bool:
    return bool(unit.get("sliced")) or "#include" in (ROOT / unit["input"]).read_text()


def compiled(text: str, path: Path) -> None:
    """Compile to PTX without optimisation; what is refused names the snippet's line."""
    options = nvrtc.debug_options(nvrtc.options_for("sm_90", CompileOptions()))
    nvrtc.compile_to_ptx(text, str(path), options, [])


INSTANCES = "template <int Threads> void run(float *x, int n) {\n%s\n}\nvoid go() {}"


@pytest.mark.parametrize(
    ("body", "threads"),
    [
        ("int threads = Threads;\nkernel<float, Threads><<<1, threads>>>(x);", 512),
        ("kernel<float, Threads><<<1, Threads>>>(x);", 512),
        ("kernel<float, Threads><<<1, dim3(Threads / 2, 4)>>>(x);", 1024),
        ("dim3 block(Threads);\nkernel<float, Threads><<<1, block>>>(x);", 512),
        ("int threads = Threads;\nkernel<float, Threads><<<1, threads / 4>>>(x);", 128),
        ("kernel<float, 512><<<1, 128>>>(x);\nkernel<float, 64><<<1, 1024>>>(x);", 128),
        ("kernel<float, 64><<<1, 256>>>(x);", None),
        ("int threads = Threads;\nkernel<float, Other><<<1, threads>>>(x);", None),
        ("int threads = Threads;\nthreads = n;\nkernel<float, Threads><<<1, threads>>>(x);", None),
    ],
)
def test_a_block_may_be_an_argument_of_the_template(body: str, threads: int | None) -> None:
    facts = array("float[8]", 32)
    name = "void ns::kernel<float, (int)512>(float*)"
    facts = replace(facts, demangled=name, location=HERE)
    assert block(facts, source_text({"a.cu": INSTANCES % body})) == threads


def test_an_array_that_fits_no_launch_of_its_instance_is_not_offered() -> None:
    name = "void kernel<1024>(float*)"
    facts = replace(array("float[16]", 64), demangled=name, location=HERE)
    launch = "int threads = Threads;\nkernel<Threads><<<1, threads>>>(x);"
    assert "keep `table` in shared memory" not in said(facts, INSTANCES % launch)


@pytest.mark.parametrize(
    ("bounds", "used", "cap", "code"),
    [
        (LaunchBounds(64, None), 96, 255, "__launch_bounds__(64, 1)"),
        (LaunchBounds(256, None), 48, 255, "__launch_bounds__(256, 1)"),
        (LaunchBounds(384, None), 80, 168, "__launch_bounds__(384, 1)"),
        (LaunchBounds(64, 1), 96, 255, None),
        (LaunchBounds(1024, None), 64, 64, "__launch_bounds__(512, 1)"),
        (None, 96, 255, None),
    ],
)
def test_a_minimum_of_one_block_is_offered_where_ptxas_may_leave_room_for_more(
    bounds: LaunchBounds | None, used: int, cap: int, code: str | None
) -> None:
    first = advice(spill(bounds, used, cap))[0]
    assert first.code == code
    assert "changes nothing" not in first.text
    assert ("Without a minimum block count" in first.text) == (code is not None and used < cap)


def test_values_are_said_to_live_across_what_the_kernel_has() -> None:
    own = spill(LaunchBounds(64, None), 96, 255)
    assert "calls" not in said(own)
    callee = FunctionFacts("_Z4leafPf", "leaf(float*)", None, None, None)
    assert "across calls (leaf)" in said(replace(own, callees=(callee,)))


@pytest.mark.parametrize(("size", "is_said"), [(400, True), (4000, False)])
def test_a_loop_may_have_one_end_in_all_launches(size: int, is_said: bool) -> None:
    index = replace(indexed(OPEN_COUNTER, expression="i"), loop=HERE)
    facts = array(f"float[{size // 4}]", size)
    (one,) = facts.objects
    facts = replace(facts, objects=(replace(one, index=index),))
    bounds = "__launch_bounds__(1024)\n"
    assert ("use the same loop bound" in said(facts, bounds)) == is_said


@pytest.mark.parametrize(
    ("file", "line"), [("/usr/include/curand_kernel.h", 7), ("/home/me/mine.h", 319)]
)
def test_a_loop_of_a_librarys_has_the_line_of_the_users_that_calls_for_it(
    file: str, line: int
) -> None:
    place = SourceLocation(file, 319)
    index = replace(indexed(COUNTER, expression="i"), loop=place)
    facts = kernel("rolled-loop", index=index)
    used = replace(
        facts.accesses[0], chain=(InlineFrame.at(place, "curand_init"), InlineFrame.at(HERE, None))
    )
    (finding,) = find(replace(facts, accesses=(used,)))
    assert finding.location is not None
    assert finding.location.line == line


def test_no_shared_memory_beside_bounds_that_allow_more_threads_than_fit() -> None:
    facts = replace(array("float[96]", 384), launch_bounds=LaunchBounds(256, None))
    (finding,) = find(facts)
    assert [one for one in finding.advice if one.rewrite == "shared-memory"] == []


@pytest.mark.parametrize("cause", ["large-array", "const-table", "address-taken", "volatile"])
def test_only_of_indices_it_is_said_what_to_do_for_other_members(cause: Cause) -> None:
    facts = kernel(cause)
    (one,) = facts.objects
    first, second = replace(one, name="s.a"), replace(one, name="s.b", cause="dynamic-index")
    said = " ".join(
        advice.text
        for finding in find(replace(facts, objects=(first, second)), {"a.cu": ""})
        for advice in finding.advice
    )
    assert "Do the same for `s.b`" not in said
    assert "No small change is known" not in said
