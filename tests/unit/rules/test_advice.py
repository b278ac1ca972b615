"""Advice: offered only where it applies, and its code compiles where the author would write it."""

from __future__ import annotations

import re
import time
from collections import defaultdict
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
    KernelKind,
    LaunchBounds,
    PtxasFacts,
    PtxFacts,
    SiteClass,
    SourceLocation,
    SourceText,
)
from lmemscope.rules.inlining import of_library
from lmemscope.rules.loops import early_exit
from lmemscope.tools import nvrtc
from tests.conftest import Once
from tests.support.builders import HERE, access, changed, find, gate_as, local_object, source_text
from tests.support.builders import kernel_with as kernel
from tests.support.program import DATA, ROOT, Finished, run_program

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


def indexed(*sources: IndexSource, expression: str | None = None) -> IndexFacts:
    return IndexFacts(expression, sources, "uniform", None)


def array(kind: str, size: int, **changes: Any) -> KernelFacts:
    """A kernel with an array in a loop, indexed by what it loads."""
    made = kernel("dynamic-index", index=indexed(LOADED, expression="x[i]"), depth=1)
    one = local_object(type=kind, size=size, index=made.objects[0].index)
    return replace(made, objects=(replace(one, **changes),))


# Shared memory.


@pytest.mark.parametrize(
    ("size", "threads", "shown"),
    [
        (384, None, "If no block has more than 128 threads, keep `table` in shared memory, one"),
        (384, None, "384 bytes × 128 threads = 48 KB of 48 KB; a larger block takes more."),
        (388, None, None),
        (1540, None, None),
        (192, 256, "the 256 threads of __launch_bounds__ = 48 KB of 48 KB"),
    ],
)
def test_shared_memory_is_offered_where_it_fits(
    size: int, threads: int | None, shown: str | None
) -> None:
    bounds = LaunchBounds(threads, None) if threads is not None else None
    facts = replace(array(f"float[{size // 4}]", size), launch_bounds=bounds)
    if shown is None:
        assert "in shared memory" not in said(facts)
        assert any(one.is_none for one in advice(facts))
        takes = "48.5 KB for 128" if size == 388 else "192.5 KB for 128"
        assert f"takes {takes} threads, and a block has 48 KB (more only as" in said(facts)
    else:
        assert shown in said(facts)


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
    (finding,) = find(replace(facts, location=HERE), files)
    text = " ".join(one.text for one in finding.advice)
    if threads is None:
        assert "If no block has more than 128 threads, keep" in text
    else:
        assert f"the {threads} threads it is launched with" in text


def test_what_is_changed_behind_its_last_use_is_a_constant_before() -> None:
    facts = replace(array("float[16]", 64), demangled="void kernel(float*)")
    facts = replace(facts, location=HERE)
    launch = "void g() {\nint size = 64;\n%s {\nkernel<<<1, size>>>(x);\n}\nsize = 96;\n}"
    assert "the 64 threads it is launched with" in said(facts, launch % "if (n)")
    launch = launch.replace("}\nsize = 96;", "size = 96;\n}")
    assert "If no block has more than" in said(facts, launch % "for (int i = 0; i < n; ++i)")


def test_the_source_that_includes_a_kernel_tells_its_block() -> None:
    facts = replace(array("float[16]", 64), demangled="void kernel(float*)")
    facts = replace(facts, location=HERE)
    files = {"main.cu": "void g() {\nkernel<<<1, 64>>>(x);\n}"}
    text = SourceText(lambda file: files.get(file, "").splitlines(), "main.cu")
    (finding,) = rules.find(facts, text)
    assert any("the 64 threads it is launched with" in one.text for one in finding.advice)


def test_the_command_line_tells_the_block_too() -> None:
    facts = replace(array("float[16]", 64), demangled="void kernel(float*)")
    facts = replace(facts, location=HERE)
    files = {
        "a.cu": '#include "lib/launch.h"\n#ifndef SIZE\n#define SIZE 32\n#endif\n',
        "include/lib/launch.h": "void g() {\n  kernel << <1, SIZE >> > (x);\n}",
    }

    def threads(options: CompileOptions) -> str:
        lines = SourceText(lambda file: files.get(file, "").splitlines(), "a.cu", options)
        (finding,) = rules.find(facts, lines)
        return " ".join(one.text for one in finding.advice)

    assert "If no block has more than 128" in threads(CompileOptions(defines=("SIZE=64",)))
    assert "the 32 threads it is" in threads(CompileOptions(include_dirs=("include",)))
    both = CompileOptions(include_dirs=("other", "include"), defines=("SIZE=1", "SIZE=64"))
    assert "the 64 threads it is launched with" in threads(both)


def test_an_element_of_many_dimensions_has_an_index_for_each() -> None:
    code = codes(array("double[2][2][3][2][2]", 384))
    assert "[i][j][k][l][m][threadIdx.x]" in code


@pytest.mark.parametrize(
    ("call", "kind", "passed"),
    [
        ("f(n, table);", "float[4][4]", True),
        ("f(\n  n,\n  table\n);", "float[4][4]", True),
        ("f(table + 1);", "float[4][4]", True),
        ("f(table[1]);", "float[4][4]", True),
        ("f(table[1][2]);", "float[4][4]", False),
        ("f(&table[1][2]);", "float[4][4]", True),
        ("f(n.table, tables);", "float[4][4]", False),
    ],
)
def test_a_layout_holds_for_functions_that_get_the_array(
    call: str, kind: str, passed: bool
) -> None:
    made = array(kind, 64)
    chain = (InlineFrame.at(HERE, None), InlineFrame("a.cu", 9, None))
    load = replace(made.accesses[0], chain=chain)
    text = said(replace(made, accesses=(load,)), "\n" * 8 + call)
    assert ("Functions that receive a pointer to it must use that layout too" in text) == passed


@pytest.mark.parametrize(
    ("behind", "passed"),
    [
        ("x[0] = f(table, 1);", True),
        ("if (n) {\nx[0] = f(\n table);\n}", True),
        ("x[0] = table[1] + table [2];", False),
        ("x[0] = n && table[1];", False),
        ("x[0] = n & table[1];", False),
        ("x = n ? &table[1] : x;", True),
        ("f(n, &table[1]);", True),
        ("x[0] = sizeof(table);", False),
        ("}\n__device__ void g(float* table) {\n f(table);", False),
    ],
)
def test_a_call_that_does_not_show_in_chains_gets_the_array_too(behind: str, passed: bool) -> None:
    source = f"void kernel(float* x) {{\n\n  float table[16];\n{behind}\n}}\n"
    text = said(array("float[16]", 64), source)
    assert ("Functions that receive a pointer to it must use that layout too" in text) == passed


def test_shared_memory_in_use_leaves_less() -> None:
    used = PtxasFacts(32, 384, 0, 0, 0, 1024, 0)
    facts = changed(array("float[92]", 368), ptxas=used)
    assert "in addition to 1 KB that the kernel already uses" in said(facts)
    more = replace(used, shared=3 * 1024)
    assert "in shared memory" not in said(changed(facts, ptxas=more))


@pytest.mark.parametrize(
    ("kind", "size", "sentence"),
    [
        ("unsigned char[40]", 40, "4 neighbouring lanes share a bank"),
        ("short[40]", 80, "2 neighbouring lanes share a bank"),
        ("int[40]", 160, "Each lane then has its own bank, whatever the index."),
        ("double[40]", 320, "an access takes 2 passes"),
        ("float4[20]", 320, "an access takes 4 passes"),
    ],
)
def test_banks_are_those_of_the_elements(kind: str, size: int, sentence: str) -> None:
    assert sentence in said(array(kind, size))
    assert ("its own bank" in said(array(kind, size))) == (kind == "int[40]")


@pytest.mark.parametrize(
    ("kind", "size", "opcodes", "sharing"),
    [
        ("Pair[40]", 320, ["ld.local.f32"], 2),
        ("Pair[40]", 320, ["st.local.v2.u32"], 2),
        ("Triple[32]", 384, ["ld.local.f32"], 1),
        ("Three[10]", 240, ["ld.local.f64"], 1),
        ("Three[10]", 240, ["ld.local.f32"], 2),
        ("Two[20]", 320, ["ld.local.f64"], 2),
        ("Two[20]", 320, ["ld.local.f64", "ld.local.u32"], 4),
        ("Two[20]", 320, [], None),
    ],
)
def test_banks_of_structures_are_those_of_their_members(
    kind: str, size: int, opcodes: list[str], sharing: int | None
) -> None:
    """A pass serves 128 bytes: the members of all lanes, or of half of them."""
    made = array(kind, size)
    evidence = tuple(Evidence("ptx-instruction", ptx_line=9, opcode=one) for one in opcodes)
    text = said(replace(made, accesses=(replace(made.accesses[0], evidence_facts=evidence),)))
    assert "in shared memory" in text
    assert ("use different banks" in text) == (sharing == 1)
    assert ("share a bank" in text) == (sharing is not None and sharing > 1)
    if sharing is not None and sharing > 1:
        assert f"Up to {sharing} lanes that access the same member" in text


@pytest.mark.parametrize(
    ("launch", "may"),
    [
        ("kernel<<<1, 1>>>(x);", False),
        ("kernel<<<1, 64>>>(x);", False),
        ("kernel<<<4000, 64>>>(x);", True),
        ("kernel<<<n, 64>>>(x);", True),
    ],
)
def test_a_block_alone_loses_no_occupancy(launch: str, may: bool) -> None:
    facts = replace(array("float[64]", 256), demangled="void kernel(float*)")
    text = said(replace(facts, location=HERE), launch)
    assert "in shared memory" in text
    assert ("lower occupancy" in text) == may


def test_lanes_that_share_a_word_do_not_use_different_banks() -> None:
    launch = "kernel<<<1, 16>>>(x);"
    for kind, size, is_said in (("unsigned char[40]", 40, False), ("int[40]", 160, True)):
        facts = replace(array(kind, size), demangled="void kernel(float*)")
        text = said(replace(facts, location=HERE), launch)
        assert "in shared memory" in text
        assert ("Lanes use different banks if their indices are equal" in text) == is_said


def test_the_declaration_is_the_sources_own() -> None:
    """An instance's type is not the template's; any declarator's extents are the source's."""
    facts = array("half *[8]", 64)
    assert "__shared__ T *table[ROWS][128]" in codes(facts, "\n\n  T* table[ROWS];\n")
    facts = array("float[8]", 32)
    assert "__shared__ float table[ROWS][128]" in codes(facts, "\n\n  float *p, table[ROWS];\n")
    defined = "#define ROWS 8\n\n  float p[4], table[ROWS];\n"
    assert "__shared__ float table[ROWS][128]" in codes(facts, defined)
    for other in (
        "float p = f(n, table[k]);",
        "MAKE(table, 8);",
        "float p[2] = {1, table[k]};",
        "float p, table[9];",
    ):
        assert "__shared__ float table[8][128]" in codes(facts, f"\n\n  {other}\n")
    assert "__shared__" not in codes(array("Row[8]", 256), "\n\n  ns::Row<T> p, table[ROWS];\n")


ALIASED = "void k(int* o) {{\n\n  int table[8];\n{use}\n\n\n  o[0] = table[n];\n}}\n"


@pytest.mark.parametrize(
    ("use", "aliased"),
    [
        ("  unsigned char* bytes = (unsigned char*)table;", True),
        ("  o[1] = *(const short *)&table[2];", True),
        ("  auto* p = reinterpret_cast<float4*>(&table[0]);", True),
        ("  auto* p = reinterpret_cast<Pair<int, int>*>(table);", True),
        ("  o[1] = WIDE(table[0]).x;", True),
        ("  o[1] = (int)table[2];", False),
        ("  o[1] = *(short*)other + table[1];", False),
        ("}\nvoid g() {\n  char* p = (char*)table;", False),
    ],
)
def test_what_is_accessed_as_another_type_is_neither_compared_nor_moved(
    use: str, aliased: bool
) -> None:
    macro = "#define WIDE(x) (reinterpret_cast<int4*>(&(x))[0])"
    source = ALIASED.format(use=use).replace("{\n\n", f"{{\n{macro}\n", 1)
    text = said(array("int[8]", 32), source)
    assert ("shared memory, one copy per thread" not in text) == aliased
    assert ("select by comparing with the index" not in text) == aliased
    assert ("is also accessed as another type" in text) == aliased


def test_a_cast_to_a_type_of_the_same_size_takes_whole_elements() -> None:
    source = ALIASED.format(use="  take((const uint32_t *)table);")
    text = said(array("int[8]", 32), source)
    assert "shared memory, one copy per thread" in text
    assert "select by comparing with the index" not in text
    assert "is also accessed as another type" not in text


@pytest.mark.parametrize(
    ("access", "is_offered"),
    [
        ("table[i]", True),
        ("reinterpret_cast<unsigned char*>(table)[i]", False),
        ("((unsigned char *)table)[i]", False),
    ],
)
def test_no_loop_runs_over_elements_where_its_counter_counts_bytes(
    access: str, is_offered: bool
) -> None:
    """`m[16]` of words is copied byte by byte, 64 times: not in 16 turns."""
    open_loop = IndexSource("loop-counter", None, constant_trip=False)
    index = replace(indexed(open_loop, expression="i"), location=HERE)
    facts = replace(array("int[8]", 32), location=HERE)
    (one,) = facts.objects
    facts = replace(facts, objects=(replace(one, index=index),))
    lines = ["", "void k(char* o, int n) {", "  int table[8];", "", "", ""]
    lines += [f"  for (int i = 0; i < n; ++i) {access} = o[i];", "}"]
    text = said(facts, "\n".join(lines))
    assert ("over all 8 elements" in text) == is_offered
    assert ("select by comparing with the index" not in text) or is_offered


@pytest.mark.parametrize(
    ("behind", "meant"),
    [
        ("  o[0] = table[i];", True),
        ("  {\n  float table[9];\n  o[0] = table[i];", False),
        ("  {\n  float table[9];\n  }\n  o[0] = table[i];", True),
        ("  o[1] = 2 +\n  scale * table[1];\n  o[0] = table[i];", True),
        # An element behind a label or an operator is not declared there.
        ("  switch (n) {\n  default:\n  table[1] = 3; }\n  o[0] = table[i];", True),
        ("  goto again;\n  again:\n  table[1] = 3;\n  o[0] = table[i];", True),
        ("  for (; j > 0 &&\n table[j - 1] > 2; --j) {}\n  o[0] = table[i];", True),
        ("  for (; j &&\n table[j]; --j) {}\n  o[0] = table[i];", True),
        ("  switch (n) {\n  case 3: {\n  unsigned long table[9];\n  o[0] = table[i]; } }", False),
        ("  again:\n  {\n  float *q[3], table[9];\n  o[0] = table[i]; }", False),
        ("  }\n  {\n  float table[9];\n  o[0] = table[i];", False),
        ("  return table [i];\n  delete table;\n  }\n  }\n  void g() {\n  float table[9];", True),
    ],
)
def test_of_several_variables_of_one_name_none_is_meant(behind: str, meant: bool) -> None:
    source = f"void k(float* o) {{\n{{\n  float table[8];\n{behind}\n}}\n}}\n"
    line = next(
        n for n, text in enumerate(source.split("\n"), 1) if "[i]" in text or " [i]" in text
    )
    facts = array("float[8]", 32)
    chain = (InlineFrame("a.cu", line, None),)
    facts = replace(facts, accesses=(access(chain=chain, loop_depth=1),))
    text = said(facts, source)
    assert ("several variables share that name and stack slot (lines 3 and" in text) != meant
    assert ("select by comparing with the index" in text) == meant
    assert ("shared memory, one copy per thread:" in text) == meant


@pytest.mark.parametrize(
    ("defined", "offered"),
    [
        ("struct Row { float a; int b; };", True),
        (
            "struct alignas(8) Row {\n  float a;\n  __device__ float sum() { return a; }\n};",
            True,
        ),
        ("struct Row { Row() = default; float a, b; };", True),
        ("struct Row { float a; Row(float x) : a(x) {} };", False),
        ("struct Row { Row() {} float a; };", False),
        ("typedef struct {\n float a, b; } Row;", True),
        ("struct Row { float a = 0; };", False),
        ("struct Row { float a{0}; };", False),
        ("struct Row { Cell a; };\nstruct Cell { float x = 1; };", False),
        ("struct Row { enum { A, B }; static constexpr int n = 2; float a; };", True),
        ("struct Row { float a; Row &operator=(const Row &) = default; };", True),
        ("struct Row : Base { float a; };", None),
        ("", None),
    ],
)
def test_what_has_a_constructor_cannot_be_declared_in_shared_memory(
    defined: str, offered: bool | None
) -> None:
    files = {"a.cu": '#include "row.h"\n\n  Row table[8];\n', "row.h": defined}
    (finding,) = find(array("Row[8]", 64), files)
    text = " ".join(one.text for one in finding.advice)
    code = "\n".join(one.code or "" for one in finding.advice)
    assert ("in shared memory" in text) == (offered is not False)
    assert ("__shared__ Row table[8][128];" in code) == (offered is True)
    assert ("must have no constructor, or one that does nothing" in text) == (offered is None)


@pytest.mark.parametrize("cause", ["rolled-loop", "dynamic-index"])
def test_no_loop_is_unrolled_for_one_of_several_variables(cause: Cause) -> None:
    """The access at line 7 is of the inner one, and the object was declared at line 3."""
    counter = COUNTER if cause == "rolled-loop" else OPEN_COUNTER
    facts = kernel(cause, index=indexed(counter, expression="i"), depth=1, kind="float[20]")
    loop = "for (int i = 0; i < n; ++i)"
    source = f"void k() {{\n\n  float table[20];\n  {{\n%s\n  {loop}\n o[i] = table[i]; }}\n}}"
    assert "#pragma unroll" in codes(facts, source % "")
    assert "#pragma unroll" not in codes(facts, source % "float table[20];")
    assert "several variables share that name" in said(facts, source % "float table[20];")


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
    assert "keep `table` of line 3 in shared memory" in said(facts)
    share = replace(facts.shares[0], object_index=1)
    text = said(replace(facts, causes=(share,), frame=()))
    assert "`table` of line 9 of b.cuh" in text


def test_dynamic_shared_memory_comes_on_top() -> None:
    text = said(array("float[16]", 64), "extern __shared__ float x[];")
    assert "Dynamic shared memory of the launch comes on top." in text
    assert "Dynamic shared memory" not in said(array("float[16]", 64))
    facts = replace(array("float[16]", 64), demangled="void kernel(float*)")
    facts = replace(facts, location=HERE)
    source = "extern __shared__ float x[];\nvoid g() {\nkernel<<<1, 64%s>>>(x);\n}"
    assert "Dynamic shared memory" not in said(facts, source % ", 0, stream")
    assert "Dynamic shared memory" in said(facts, source % ", bytes")


def test_a_member_that_its_structure_hands_on_is_passed() -> None:
    source = "struct S {\n\n  float table[16];\n  void f() { %s; }\n};\n"
    facts = array("float[16]", 64, name="s.table")
    text = "Functions that receive a pointer to it must use that layout too."
    assert text in said(facts, source % "next(table)")
    assert text not in said(facts, source % "table[1] = 2")
    ranged = said(facts, source % "for (float& one : table) one = 0")
    assert "Replace each range-based `for` over it with a counted loop." in ranged
    assert text not in ranged
    assert text not in said(array("Row", 64), "\n\n  Row table;\n  f(&table);")


@pytest.mark.parametrize(
    ("alias", "text"),
    [
        ("typedef unsigned long long u64;", "an access takes 2 passes"),
        ("using u64 = word; typedef unsigned long word;", "an access takes 2 passes"),
        ("typedef u64 word; typedef word u64;", "Its type must have no constructor"),
        ("struct u64;", "Its type must have no constructor"),
    ],
)
def test_a_name_for_a_number_is_a_number(alias: str, text: str) -> None:
    facts = array("u64[8]", 64, declared=SourceLocation("a.cu", 3))
    assert text in said(facts, f"{alias}\n\n  u64 table[8];\n")


@pytest.mark.parametrize(("size", "shown"), [(160, "160 bytes"), (80, "80 bytes")])
def test_a_name_that_branches_define_is_of_the_size_that_was_compiled(
    size: int, shown: str
) -> None:
    aliases = "#ifdef SINGLE\nusing Scalar = float;\n#else\nusing Scalar = double;\n#endif\n"
    facts = array("Scalar[20]", size, type_size=size, declared=SourceLocation("a.cu", 7))
    text = said(facts, f"{aliases}\nScalar table[20];\n")
    assert f"one copy per thread: {shown}" in text
    assert ("its own bank" in text) == (size == 80)


@pytest.mark.parametrize(
    ("use", "is_said"),
    [
        ("play(&table, 1);", True),
        ("play(1, table);", True),
        ("play(table.n);", False),
        ("n += table.n & 3;", False),
    ],
)
def test_who_gets_a_structure_knows_its_member(use: str, is_said: bool) -> None:
    facts = array("int[16]", 64, name="table.row")
    said_of_it = said(facts, f"\n\n  Table table;\n  table.row[i] = 1;\n  {use}\n")
    assert ("Functions that receive a pointer to it must use that layout" in said_of_it) == is_said


@pytest.mark.parametrize(("bounds", "threads"), [(None, "1024"), (LaunchBounds(512, 3), "512")])
def test_the_project_launches_no_more_threads_than_the_bounds_allow(
    bounds: LaunchBounds | None, threads: str
) -> None:
    facts = replace(array("float[64]", 256), demangled="void kernel(float*)")
    facts = replace(facts, location=SourceLocation("/p/a.cu", 1), launch_bounds=bounds)
    texts = {"/p/a.cu": "", "/p/b.cu": "void f() { kernel<<<4, 1024>>>(x); }"}
    sources = SourceText(
        lambda file: texts.get(file, "").splitlines(), mentioning=lambda file, word: ("/p/b.cu",)
    )
    (finding,) = rules.find(facts, sources)
    assert f"the {threads} threads" in " ".join(one.text for one in finding.advice)


def test_an_array_that_does_not_fit_the_block_of_the_launch_is_not_offered() -> None:
    facts = replace(array("float[128]", 512), demangled="void kernel(float*)")
    text = said(replace(facts, location=HERE), "kernel<<<grid, 128>>>(x);")
    assert "Keep" not in text
    assert "takes 64 KB for the 128 threads it is launched with, and a block has 48" in text


@pytest.mark.parametrize(("usual", "is_offered"), [(128, True), (192, False), (1, True)])
def test_a_block_that_may_be_chosen_has_the_size_that_the_program_begins_with(
    usual: int, is_offered: bool
) -> None:
    facts = replace(array("float[64]", 256), demangled="void kernel(float*)")
    facts = changed(facts, ptxas=PtxasFacts(32, 256, 0, 0, 0, 8192, 0))
    launch = f"int threads = {usual};\nparse(&threads);\nkernel<<<grid, threads>>>(x);"
    text = said(replace(facts, location=HERE), launch)
    assert ("If no block has more than" in text) == is_offered
    # The nearest one above counts.
    text = said(replace(facts, location=HERE), f"int threads = 1024;\n{launch}")
    assert ("If no block has more than" in text) == is_offered


def test_a_large_block_that_may_be_chosen_is_counted_with() -> None:
    facts = replace(array("float[16]", 64), demangled="void kernel(float*)")
    launch = "unsigned threads = 512;\nparse(&threads);\nkernel<<<grid, threads>>>(x);"
    assert "64 bytes × 512 threads" in said(replace(facts, location=HERE), launch)


def test_counters_alone_may_take_a_large_array_apart() -> None:
    facts = array("double[135]", 1080, name=None, type=None)
    by_data, index = said(facts), facts.objects[0].index
    assert index is not None
    counters = replace(index, sources=(IndexSource("loop-counter", None),))
    by_counters = said(array("double[135]", 1080, name=None, type=None, index=counters))
    assert "too large for registers" in by_data
    assert "not all of it is live at once" in by_counters
    assert "too large" not in by_counters


@pytest.mark.parametrize(
    ("uses", "is_one"),
    [
        ("int tid = threadIdx.x;\n  table[tid] = x[0];\n  y = table[tid] + 1;", True),
        ("table[threadIdx.x] = x[0];\n  y = table[threadIdx.x];", True),
        ("int tid = threadIdx.x;\n  table[tid] = x[0];\n  y = table[tid + 1];", False),
        ("int tid = threadIdx.x;\n  table[tid] = x[0];\n  f(table);", False),
        ("int tid = threadIdx.x;\n  table[tid] = x[0];\n  tid += 3;\n  y = table[tid];", False),
        ("int tid = threadIdx.x;\n  table[tid] = x[0];\n  ++tid;\n  y = table[tid];", False),
        ("int tid = threadIdx.x & 7;\n  table[tid] = x[0];\n  y = table[tid];", False),
        ("int tid = threadIdx.x;\n  table[tid] = 1;\n  change(&tid);\n  y = table[tid];", False),
        ("int tid = threadIdx.x;\n  { int tid(3);\n  table[tid] = x[0]; }", False),
    ],
)
def test_an_array_of_which_each_thread_has_one_element_is_a_variable(
    uses: str, is_one: bool
) -> None:
    written = "threadIdx.x" if "[threadIdx.x]" in uses else "tid"
    source = IndexSource("thread-id", "threadIdx.x")
    facts = array("float[512]", 2048, index=indexed(source, expression=written))
    facts = replace(facts, location=SourceLocation("a.cu", 1))
    text = said(facts, f"void kernel(float* x) {{\n\n  float table[512];\n  {uses}\n}}\n")
    assert ("Replace `table` with a single variable of `float`" in text) == is_one
    other = indexed(source, IndexSource("thread-id", "threadIdx.y"), expression=written)
    assert "single variable" not in said(array("float[512]", 2048, index=other), uses)


def test_an_object_without_a_name_is_not_to_be_moved() -> None:
    facts = array("float[20]", 80, name=None, type=None)
    assert said(facts) == (
        "No rewrite is offered because the variable's name is unknown: check the array that "
        "is indexed at line 7. It can stay in registers only if every index is a constant. "
        "One copy per thread in shared memory takes 10 KB for 128 threads."
    )
    counted = indexed(OPEN_COUNTER)
    assert "comparing with the index" in said(
        array("float[20]", 80, confidence="possible", index=counted)
    )
    assert "shared memory" not in said(array("float[100]", 400, name=None, type=None))
    assert "too large for registers" in said(array("float[300]", 1200, name=None, type=None))
    assert codes(facts) == ""


# Selection.

LOOKUP = "\n\n  float table[ROWS];\n\n\n\n  {statement}\n"


@pytest.mark.parametrize(
    ("statement", "lines"),
    [
        ("sum += table[x[i]];", ["if (k == at) sum += table[k];"]),
        ("table[x[i]]++;", ["if (k == at) table[k]++;"]),
        ("float v = table[x[i]] * 2;", ["float v{};", "if (k == at) v = table[k] * 2;"]),
        ("if (k) table[x[i]] = 1;", ["if (k) {", "if (m == at) table[m] = 1;"]),
        ("s.table[x[i]] = 1;", ["if (k == at) s.table[k] = 1;"]),
        (
            "y = __shfl_sync(~0u, table[x[i]], 0);",
            ["float value{};", "if (k == at) value = table[k];"],
        ),
        ("y = fmaxf(y, table[x[i]]);", ["if (k == at) y = fmaxf(y, table[k]);"]),
        (
            "const float& v = table[x[i]];",
            ["float value{};", "if (k == at) value = table[k];"],
        ),
        ("float v(table[x[i]]);", ["float value{};", "if (k == at) value = table[k];"]),
        ("return f(table[x[i]], at);", ["float value{};", "if (k == which) value = table[k];"]),
    ],
)
def test_the_users_statement_is_rewritten(statement: str, lines: list[str]) -> None:
    code = codes(array("float[20]", 80), LOOKUP.replace("{statement}", statement))
    for line in lines:
        assert line in [one.strip() for one in code.splitlines()]
    assert "< ROWS; ++" in code


def test_an_access_that_is_inlined_counts_by_numbers() -> None:
    facts = array("float[20]", 80)
    source = LOOKUP.replace("{statement}", "sum += table[x[i]];")
    assert "k < ROWS" in codes(facts, source)
    inlined = tuple(
        replace(one, chain=(*one.chain, InlineFrame("a.cu", 9, None))) for one in facts.accesses
    )
    assert "k < 20" in codes(replace(facts, accesses=inlined), source)


def test_what_an_if_governs_stays_one_statement() -> None:
    facts = array("float[20]", 80)
    governed = LOOKUP.replace("\n\n\n\n  {", "\n\n\n  if (n % uint32_t(4))\n  {")
    code = codes(facts, governed.replace("{statement}", "table[x[i]] = uint32_t(n);"))
    assert code.startswith("{\n  const int at = x[i];")
    assert "    if (k == at) table[k] = uint32_t(n);\n}" in code
    free = codes(facts, LOOKUP.replace("{statement}", "table[x[i]] = uint32_t(n);"))
    assert free.startswith("{\n  const int at = x[i];")


def test_code_names_an_array_only_where_the_line_does() -> None:
    facts = array("float[20]", 80)
    line = "if (board[x[i]] == n) safe = false;"
    assert "select by comparing" in said(facts, LOOKUP.replace("{statement}", line))
    assert "value = " not in codes(facts, LOOKUP.replace("{statement}", line))
    line = "if (table[x[i]] == n) safe = false;"
    assert "value = table[k];" in codes(facts, LOOKUP.replace("{statement}", line))


def test_what_cannot_be_rewritten_has_no_code_for_a_store() -> None:
    facts = array("float[20]", 80)
    stored = replace(facts.accesses[0], is_store=True)
    facts = replace(facts, accesses=(stored,))
    assert "if (" not in codes(facts, LOOKUP.replace("{statement}", "keep(&table[x[i]]) = {1};"))


def test_selection_needs_registers_and_no_pointer() -> None:
    assert "select by comparing" in said(array("float[32]", 128))
    assert "select by comparing" not in said(array("float[33]", 132))
    assert "select by comparing" not in said(array("float[20]", 80, also=("address-taken",)))
    full = changed(
        array("float[20]", 80),
        ptxas=PtxasFacts(240, 80, 0, 0, 0, None, 0),
        cubin=CubinFacts(240, 80, 0, 255),
    )
    assert "select by comparing" not in said(full)
    pointed = replace(array("float[20]", 80), accesses=(access(generic=True),))
    assert "select by comparing" not in said(pointed)


# Unrolling.


def test_unrolling_takes_a_constant_number_of_trips() -> None:
    loop = "\n\n\n\n\n\nfor (int i = 0; i < 20; ++i) s += table[i];\n"
    index = replace(indexed(COUNTER, expression="i"), loop=HERE)
    assert "Unroll the loop at line 7" in said(kernel("rolled-loop", index=index), loop)
    open_ended = replace(index, sources=(OPEN_COUNTER,))
    assert "Unroll the loop" not in said(kernel("rolled-loop", index=open_ended), loop)


@pytest.mark.parametrize(
    ("above", "body", "sentence"),
    [
        ("#pragma unroll 4", "s += table[i];", "in place of `#pragma unroll 4`,"),
        ("#pragma unroll", "s += table[i];", "already requests unrolling"),
        ("", "{ if (s > 1) break; s += table[i]; }", "can exit early"),
    ],
)
def test_what_keeps_a_loop_rolled_is_said(above: str, body: str, sentence: str) -> None:
    source = f"\n\n\n\n\n{above}\nfor (int i = 0; i < 20; ++i) {body}\n"
    index = replace(indexed(COUNTER, expression="i"), loop=HERE)
    assert sentence in said(kernel("rolled-loop", index=index), source)


@pytest.mark.parametrize(
    ("use", "is_table"),
    [
        ("s += s & table[i];", True),
        ("s = s && table[i];", True),
        ("table[i] = s;", False),
        ("f(&table[i]);", False),
        ("f((int *)&table[i]);", False),
        ("return &table[i];", False),
        ("f(table);", False),
    ],
)
def test_a_table_that_loops_read_need_not_be_unrolled(use: str, is_table: bool) -> None:
    index = replace(indexed(COUNTER, expression="i"), loop=HERE)
    values = ", ".join(map(str, range(20)))
    source = (
        f"\n\n  const float table[20] = {{{values}}};\n\n\n\n"
        f"for (int i = 0; i < 20; ++i) {{ {use} }}\n}}\n"
    )
    facts = kernel("rolled-loop", index=index)
    (finding,) = find(facts, {"a.cu": source})
    first, *others = finding.advice
    assert "Unroll the loop at line 7" in first.text
    assert ["Or make `table` one table for all threads" in one.text for one in others] == [
        True
    ] * is_table
    # Numbers that never change stand in the instructions.
    full = changed(facts, ptxas=PtxasFacts(240, 80, 0, 0, 0, 0, 0))
    assert ("Its elements take 20 registers" in said(full, source)) is not is_table


@pytest.mark.parametrize(
    ("kind", "is_table"), [("const float[20]", True), ("float[20]", False), ("const A[20]", False)]
)
def test_what_is_const_is_a_table_whoever_gets_it(kind: str, is_table: bool) -> None:
    values = ", ".join(map(str, range(20))) if kind != "const A[20]" else "make(1)"
    source = (
        f"\n\n  {kind.removesuffix('[20]')} table[20] = {{{values}}};\n  fill(table);\n\n\n"
        "for (int i = 0; i < 20; ++i) { s += table[i]; }\n}\n"
    )
    index = replace(indexed(COUNTER, expression="i"), loop=HERE)
    text = said(kernel("rolled-loop", index=index, kind=kind), source)
    assert ("make `table` one table for all threads" in text) == is_table


def test_an_array_that_leaves_no_registers_is_not_unrolled() -> None:
    index = replace(indexed(COUNTER, expression="i"), loop=HERE)
    large = kernel("rolled-loop", index=index, kind="float[240]")
    assert "nroll" not in said(large)


@pytest.mark.parametrize(
    ("size", "trips", "written", "offered"),
    [(2048, True, 900, True), (8192, True, 900, False), (2048, False, 900, False)]
    + [(2048, True, written, False) for written in (9000, None)],
)
def test_a_large_array_may_be_taken_apart_where_little_of_it_is_in_use(
    size: int, trips: bool, written: int | None, offered: bool
) -> None:
    index = indexed(COUNTER if trips else OPEN_COUNTER, expression="i")
    index = replace(index, loop=HERE, written_out=written)
    facts = kernel("large-array", index=index, kind=f"float[{size // 4}]")
    (one,) = facts.objects
    facts = replace(facts, objects=(replace(one, size=size),))
    assert "does not fit in one thread's registers" in said(facts)
    assert ("only some of its elements are live" in said(facts)) == offered


def test_a_bound_that_is_not_constant_is_named() -> None:
    source = "\n\n\n\n\nfor (int i = 0; i < n; ++i)\n  s += table[i];\n"
    facts = kernel("dynamic-index", index=indexed(OPEN_COUNTER, expression="i"), depth=1)
    assert "ends at `n`" in said(facts, source)
    assert "for (int i = 0; i < 20; ++i) if (i < n)" in codes(facts, source)


@pytest.mark.parametrize(("lines", "offered"), [(40, True), (60, False)])
def test_a_long_body_is_not_written_out_for_each_element(lines: int, offered: bool) -> None:
    body = "  s = s * 3.0f + table[i];\n" * lines
    source = f"\n\n\n\n\nfor (int i = 0; i < n; ++i) {{\n{body}}}\n"
    facts = kernel("dynamic-index", index=indexed(OPEN_COUNTER, expression="i"), depth=1)
    assert ("if (i < n)" in codes(facts, source)) == offered


@pytest.mark.parametrize("line", ["while (table[x[i]] < n) ++m;", "} while (table[x[i]] < n);"])
def test_what_a_loop_tests_in_each_turn_has_no_code_before_it(line: str) -> None:
    facts = array("float[20]", 80, declared=HERE)
    assert "select by comparing with the index" in said(facts, f"\n\n\n\n\n{line}\n")
    assert "value" not in codes(facts, f"\n\n\n\n\n{line}\n")


def test_a_copy_of_run_time_length_is_no_loop_to_bound() -> None:
    copy = IndexSource("copy", None)
    source = "\n\n\n\n\nfor (int i = 0; i < n; ++i)\n  memcpy(table, p, i);\n"
    facts = kernel("dynamic-index", index=indexed(copy), depth=1)
    assert "ends at `n`" not in said(facts, source)
    assert "unrolled loop (`#pragma unroll`) over all 20 elements" in said(facts, source)
    assert "select by comparing" not in said(facts, source)
    large = kernel("dynamic-index", index=indexed(copy), depth=1, kind="float[40]")
    assert "memcpy" not in said(large, source)
    # Beside a loop of the source, it is to be written as one, too.
    both = replace(indexed(OPEN_COUNTER, expression="i"), other_sources=(copy,))
    looped = source.replace("memcpy(table, p, i)", "s += table[i]")
    text = said(kernel("dynamic-index", index=both, depth=1), looped)
    assert "ends at `n`" in text
    assert "Every index is then a constant" not in text
    assert "replace each `memcpy` or `memset` of run-time length with such a loop" in text


@pytest.mark.parametrize("change", ["n += 2;", "++n;", "i = next[i];", "shrink(&n);"])
def test_a_bound_that_the_body_changes_is_no_condition_for_each_turn(change: str) -> None:
    facts = kernel("dynamic-index", index=indexed(OPEN_COUNTER, expression="i"), depth=1)
    loop = "\n\n\n\n\nfor (int i = 0; i < n; ++i) {{\n  s += table[i]; {}\n}}\nn = 0;\n"
    assert "if (i < n)" not in codes(facts, loop.format(change))
    assert "if (i < n)" in codes(facts, loop.format("m += n == 2;"))


def test_a_counter_that_outlives_its_loop_is_told() -> None:
    facts = kernel("dynamic-index", index=indexed(OPEN_COUNTER, expression="i"), depth=1)
    source = "\n\n\n\n\nfor ({}i = 0; i < n; ++i)\n  s += table[i];\n"
    assert "After the loop, `i` is then 20" in said(facts, source.format(""))
    assert "After the loop" not in said(facts, source.format("unsigned int "))


def test_one_dimension_of_several_is_walked_as_a_whole() -> None:
    index = indexed(OPEN_COUNTER, expression="[0][j][c]")
    facts = kernel("dynamic-index", index=index, depth=1, kind="float[2][6][3]")
    source = "\n\n\n\n\nfor (int j = 0; j < n; ++j)\n  s += table[0][j][c];\n"
    assert "for (int j = 0; j < 6; ++j) if (j < n)" in codes(facts, source)
    inner = "\n\n\n\nfor (j = 0; j < n; ++j)\nfor (c = 0; c < {}; ++c)\n  s += table[0][j][c];\n"
    for bound in ("3", "WIDTH"):
        assert "for (j = 0; j < 6; ++j) if (j < n)" in codes(facts, inner.format(bound))
    both = replace(facts.objects[0], index=replace(index, expression="[0][j][j + 1]"))
    assert "if (j < n)" not in codes(replace(facts, objects=(both,)), source)


def test_only_an_index_that_advances_by_one_is_a_ring() -> None:
    facts = kernel("dynamic-index", index=indexed(OPEN_COUNTER, expression="(j + n) % 20"), depth=1)
    (share,) = facts.causes
    both = share.with_bytes(share.frame_bytes, SiteClass(1, 1, 4, 4))
    facts = replace(facts, causes=(both,))
    assert "table[k] = table[k + 1]" in codes(facts)
    (ring,) = facts.objects
    scattered = replace(ring, index=indexed(OPEN_COUNTER, expression="(j * 7) % 20"))
    assert "table[k + 1]" not in codes(replace(facts, objects=(scattered,)))


@pytest.mark.parametrize(("kind", "is_said"), [("entry", False), ("function", True)])
def test_a_function_compiled_alone_pays_for_registers(kind: KernelKind, is_said: bool) -> None:
    """The 168 bytes of a frame came to be 336 where 48 were freed: 250 were of saved registers."""
    index = replace(indexed(COUNTER, expression="i"), loop=HERE)
    facts = replace(kernel("rolled-loop", index=index), kind=kind)
    assert ("keep it only if the stack frame shrinks" in said(facts)) == is_said


def test_no_removal_is_promised_while_something_else_keeps_it() -> None:
    index = replace(indexed(COUNTER, expression="i"), loop=HERE)
    facts = kernel("rolled-loop", index=index)
    assert "Every index is then a constant." in said(facts)
    assert "Keep it only if ptxas does not spill." in said(facts)
    sized = replace(index, written_out=64)
    assert "ptxas spills" not in said(kernel("rolled-loop", index=sized))
    (one,) = facts.objects
    both = replace(facts, objects=(replace(one, also=("volatile",)),))
    assert "It stays in memory until volatile is also removed." in said(both)
    # ptxas keeps some arrays with an index in registers.
    volatile = replace(one, cause="volatile", also=("dynamic-index",))
    causes = tuple(replace(share, cause="volatile") for share in facts.causes)
    text = said(replace(facts, objects=(volatile,), causes=causes))
    assert "may stay in memory for another cause: dynamic-index" in text


# Calls.


@pytest.mark.parametrize(
    ("calls", "sentence", "inlines"),
    [
        (CallFacts(("_Z4leafPf",), (), False), "Inline leaf", True),
        (CallFacts(("_Z4leafPf",), ("_Z4leafPf",), False), "leaf calls itself", False),
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


@pytest.mark.parametrize(
    ("before", "call", "after", "whole"),
    [
        ("x = 1;", 'printf("%d\\n", x);', "y();", True),
        ("{", 'printf("a;b (%d // %d)\\n",\n       x,\n       f(y));', "}", True),
        ("if (x)", 'printf("%d", x);', "y();", False),
        ("if (x) {", 'printf("%d", x);', "}", True),
        ("else", 'printf("%d", x);', "", False),
        ("x = 1;", 'if (x) printf("%d", x);', "else y();", False),
        ("x = 1;", 'printf("%d", x); ++x;', "", False),
        ("x = 1;", "REPORT(x);", "", False),
    ],
)
def test_a_call_is_compiled_out_as_it_stands(
    before: str, call: str, after: str, whole: bool
) -> None:
    (one,) = printing(f"\n\n\n\n\n{before}\n  {call}\n{after}\n")
    assert one.code == (f"#ifndef NDEBUG\n{call}\n#endif" if whole else None)


def test_text_that_is_printed_is_in_memory_for_its_address() -> None:
    made = kernel("address-taken", kind="char[32]")
    (one,) = made.objects
    proof = Evidence("ptx-instruction", ptx_line=339, opcode="st.local.u64")
    one = replace(one, evidence_facts=(proof,))
    store = access("printf-args", object=None, ptx_line=339)
    facts = replace(made, objects=(one,), accesses=(*made.accesses, store))
    assert "`%c` for each character of `table`" in said(facts)
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


def test_no_line_is_shown_where_another_function_has_the_name() -> None:
    facts = replace(kernel("address-taken"), calls=CallFacts(("_Z4leafPf",), (), False))
    own = "__device__ float leaf(float *p) {\n"
    assert "__forceinline__ float leaf" in codes(facts, own)
    other = "__device__ float leaf(const Texture &t, float u) {\n"
    assert "leaf" not in codes(facts, own + other)


@pytest.mark.parametrize("word", ["__noinline__ ", "NOINLINE ", "CALLED_no ", "inline ", ""])
def test_the_definition_is_the_line_to_change(word: str) -> None:
    source = "#define CALLED_no __noinline__\n"
    source += f"__device__ {word}float leaf(float *p) {{\n  return *p;\n}}\n"
    assert codes(kernel("address-taken"), source) == (
        "__device__ __forceinline__ float leaf(float *p)"
    )
    assert ("remove" in said(kernel("address-taken"), source)) == ("no" in word.lower())


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
    head = "__global__ void __maxnreg__(32) kernel(float *p) {\n"
    place = SourceLocation("a.cu", 1)
    asked = replace(capped, demangled="kernel(float*)", location=place)
    assert "Raise or drop `__maxnreg__(32)` of the kernel" in said(asked, head)
    assert "maxrregcount" not in said(asked, head)
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


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("  __shared__ float x[1024];", "share; the number is also used at line 5."),
        ("  finish<THREADS, 2>(x);", "the number is also used at line 5."),
        ("  __shared__ float x[10240];", ""),
        ("}\n__shared__ float y[1024];", ""),
    ],
)
def test_a_block_that_the_kernel_counts_on_is_named(line: str, sentence: str) -> None:
    head = "#define THREADS 1024\n\n__global__ void\n__launch_bounds__(1024, 1) k(float* x) {\n"
    text = said(spill(LaunchBounds(1024, 1), 64, 64), f"{head}{line}\n}}\n")
    assert "Relax the launch bounds: blocks of 512 threads" in text
    assert sentence in text
    assert ("also used at" in text) == bool(sentence)
    kept = said(spill(LaunchBounds(1024, 2), 32, 32), f"{head}{line}\n}}\n")
    assert "__launch_bounds__(1024, 1) leaves 64" in kept
    assert "stands at" not in kept


def test_at_255_no_limit_is_to_be_raised() -> None:
    text = said(spill(LaunchBounds(128, None), 255, 255))
    assert "There is no limit left to raise" in text
    assert "Loosen" not in text


def test_spilling_to_shared_memory_takes_room_and_no_calls() -> None:
    known = spill(LaunchBounds(256, 2), 128, 128)
    assert "enable_smem_spilling" in codes(known)
    # Without bounds ptxas keeps room for 1024 threads.
    assert "enable_smem_spilling" in codes(spill(None, 255, 255))
    assert "`-rdc=true`" in said(spill(None, 255, 255))
    # ptxas: Pragma 'enable_smem_spilling' is not allowed for dynamic SMEM.
    assert "enable_smem" not in codes(known, "extern __shared__ float staged[];")
    callee = FunctionFacts("_Z4leafPf", "leaf(float*)", None, None, None)
    assert "enable_smem" not in codes(replace(known, callees=(callee,)))


# Tables, parameters, functions of the library.


def test_a_tables_place_follows_its_readers() -> None:
    source = "\n\n  const float table[20] = {1.5f, 2.5f};\n"
    facts = kernel("const-table")
    assert codes(facts, source) == "__constant__ float table[20] = {1.5f, 2.5f};"
    varying = kernel("const-table", uniformity="data-dependent")
    assert codes(varying, source) == "static const float table[20] = {1.5f, 2.5f};"
    assert "`constexpr` function" in said(facts, "\n\n  float table[20];\n")


def test_a_parameter_that_is_changed_cannot_be_read_in_place() -> None:
    source = "\n\n__global__ void k(Settings table, int n) {\n"
    facts = kernel("param-copy")
    assert codes(facts, source) == "const __grid_constant__ Settings table"
    (one,) = facts.objects
    store = Evidence("parameter-changed", ptx_line=9, opcode="st.local.u32")
    changed = replace(facts, objects=(replace(one, evidence_facts=(store,)),))
    assert "__grid_constant__" not in said(changed, source) + codes(changed, source)
    # A copy of the array that is indexed would be in local memory again.
    made = replace(changed.objects[0], type="float[16]", index=indexed(COUNTER))
    assert "modified members" not in said(replace(changed, objects=(made,)), source)
    several = replace(made, type="Settings")
    assert "copy only the modified members" in said(replace(changed, objects=(several,)), source)


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


def test_a_promise_that_is_not_written_out_speaks_of_the_float() -> None:
    (promise,) = (
        one
        for one in sine("__cudart_i2opi_f", "")
        if "__builtin_assume" in f"{one.text}{one.code}" or "tell the compiler" in one.text
    )
    assert promise.code is None
    assert "(float)x" in promise.text
    (promise,) = (
        one
        for one in sine("__cudart_i2opi_d", "")
        if "__builtin_assume" in f"{one.text}{one.code}" or "tell the compiler" in one.text
    )
    assert "(float)x" not in promise.text


def sine(subject: str, line: str) -> tuple[Advice, ...]:
    facts = kernel("math-slow-path")
    (one,) = facts.objects
    proof = (Evidence("library-table", subject),)
    facts = replace(facts, objects=(replace(one, evidence_facts=proof),))
    return advice(facts, f"\n\n\n\n\n\n{line}\n")


def test_a_sine_is_advised_by_type_and_argument() -> None:
    of_float = " ".join(one.text for one in sine("__cudart_i2opi_f", "y = sinf(w * x[i]);"))
    assert "__sinf" in of_float
    assert "sinpif" not in of_float
    assert sine("__cudart_i2opi_f", "y = sinf(w * x[i]);")[-1].code == (
        "__builtin_assume(fabsf(w * x[i]) < 1e5f);"
    )
    of_double = sine("__cudart_i2opi_d", "y = cos(2 * M_PI * x[i++]);")
    text = " ".join(one.text for one in of_double)
    assert "cospi" in text
    assert "__cos" not in text
    assert of_double[-1].code is None, "an argument that changes something is not written twice"


@pytest.mark.parametrize(
    ("head", "guarded"),
    [
        ("__device__ float f(float x)\n{", False),
        ("__host__ __device__ float f(float x)\n{", True),
        ("template <int N>\nstatic __device__ __host__ void f(\n  float x) {", True),
        ("HOSTDEV float f(float x) {\n  if (x > 1) {", True),
        ("struct S { __host__ int g() { return 1; } __device__ float f(float x) {", False),
        ("", False),
    ],
)
def test_a_promise_is_kept_from_the_hosts_compiler(head: str, guarded: bool) -> None:
    lines = [*head.splitlines(), "", "", "", "", "", ""][:6]
    facts = kernel("math-slow-path")
    (one,) = facts.objects
    proof = (Evidence("library-table", "__cudart_i2opi_f"),)
    facts = replace(facts, objects=(replace(one, evidence_facts=proof),))
    found = advice(facts, "\n".join([*lines, "y = sinf(x);"]))
    plain = "__builtin_assume(fabsf(x) < 1e5f);"
    assert found[-1].code == (f"#ifdef __CUDA_ARCH__\n{plain}\n#endif" if guarded else plain)
    assert ("also compiled for the host" in found[-1].text) == guarded
    assert any("__sinf" in a.text and ("device code only" in a.text) == guarded for a in found)


@pytest.mark.parametrize(
    ("above", "line", "promised"),
    [
        ("", "y = cosf(a * x);", True),
        ("", "y = cosf(6.28f * powf(b, k) * x);", False),
        ("float w = expf(k);", "y = cosf(w * x);", False),
        ("float w = expf(k);", "y = w * cosf(x);", True),
        ("float power = k;", "y = cosf(power * x);", True),
    ],
)
def test_of_an_argument_made_of_a_power_nothing_is_promised(
    above: str, line: str, promised: bool
) -> None:
    chain = (InlineFrame.at(HERE, None),)
    source = f"\n\n\n\n\n{above}\n{line}\n"
    assert (promise(source, chain) is not None) == promised


def promise(source: str, chain: tuple[InlineFrame, ...] | None = None) -> Advice | None:
    facts = kernel("math-slow-path")
    (one,) = facts.objects
    proof = (Evidence("library-table", "__cudart_i2opi_f"),)
    facts = replace(facts, objects=(replace(one, evidence_facts=proof),))
    if chain is not None:
        facts = replace(facts, accesses=(access("math-slow-path", chain=chain),))
    found = [one for one in advice(facts, source) if "tell the compiler" in one.text]
    return found[0] if found else None


@pytest.mark.parametrize(
    ("lines", "loops"),
    [
        ("__global__ void k(float* y, float x) {\n\n\n\n\n\ny[0] = sinf(x);\n}", False),
        ("__global__ void k(float* y) {\n\n\n\nfor (;;) {\n\ny[0] = sinf(x);\n}\n}", True),
        ("void f() { while (x) {} }\nvoid k(float x) {\n\n\n\n\ny[0] = sinf(x);\n}", False),
    ],
)
def test_a_promise_in_a_loop_needs_it_rolled(lines: str, loops: bool) -> None:
    found = promise(lines)
    assert found is not None
    assert ("`#pragma unroll 1`" in found.text) == loops


def test_no_promise_is_asked_for_where_a_library_calls_the_function() -> None:
    own = InlineFrame.at(HERE, None)
    library = InlineFrame("/usr/include/cub/agent.cuh", 9, None)
    source = "\n\n\n\n\n\ny = sinf(x);"
    assert promise(source, (library, own)) is not None
    assert promise(source, (library, own, library)) is None


def test_nobody_promises_that_a_growing_angle_is_small() -> None:
    line = "int i, j; y = sinf(x * i * j);"
    text = " ".join(one.text for one in sine("__cudart_i2opi_f", line))
    assert "may be large" in text
    assert "tell the compiler" not in text
    assert "Where reduced accuracy" not in text
    of_double = " ".join(one.text for one in sine("__cudart_i2opi_d", line))
    assert "tell the compiler" in of_double
    assert "convert to float" not in of_double


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


def test_large_amounts_are_written_out() -> None:
    facts = array("float[400000]", 1_600_000)
    text = said(facts, "__launch_bounds__(256)\n")
    assert "e+0" not in text
    assert re.search(r"takes [\d,]+ KB for", text) is not None


def test_a_fast_tangent_is_a_quotient() -> None:
    (one,) = (a for a in sine("__cudart_i2opi_f", "y = tanf(x);") if "__sinf" in a.text)
    assert "that of __tanf divided by the square of the cosine" in one.text
    (one,) = (a for a in sine("__cudart_i2opi_f", "y = sinf(x);") if "__sinf" in a.text)
    assert "__tanf" not in one.text


def test_half_turns_are_for_each_call_that_they_fit() -> None:
    both = sine("__cudart_i2opi_f", "a = cosf(M_PI * x); b = sinf(M_PI * y); c = sin(2 * z);")
    (one,) = (one for one in both if "multiple of pi" in one.text)
    assert "cospif and sinpif" in one.text
    assert one.code is None
    # One argument of both may be promised before.
    same = sine("__cudart_i2opi_f", "a = cosf(x) * sinf(x);")
    assert same[-1].code == "__builtin_assume(fabsf(x) < 1e5f);"


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ("y = sinf(x);", True),
        ("float x = 2 * z, y = sinf(x);", False),
        ("for (int i = 0; i < n; ++i) y[i] = sinf(x[i]);", False),
        ("if (y == 1) z = sinf(y);", True),
    ],
)
def test_a_promise_names_what_is_known_before_the_statement(line: str, known: bool) -> None:
    found = promise(f"\n\n\n\n\n\n{line}\n")
    assert found is not None
    assert (found.code is not None) == known
    governed = promise(f"\n\n\n\n\nif (n)\n{line}\n")
    assert governed is not None
    assert governed.code is None


def turns(argument: str, above: str = "", name: str = "cos") -> str | None:
    """What `cospi` is offered of: None where it is not, empty where it has no code."""
    facts = kernel("math-slow-path")
    (one,) = facts.objects
    proof = (Evidence("library-table", "__cudart_i2opi_d"),)
    facts = replace(facts, objects=(replace(one, evidence_facts=proof),))
    source = f"\n\n\n\n{above}\n\ny = {name}({argument});\n"
    offered = [one for one in advice(facts, source) if f"{name}pi" in one.text]
    return None if not offered else (offered[0].code or "").removeprefix(f"{name}pi")


@pytest.mark.parametrize(
    ("argument", "above", "left"),
    [
        ("2.0*M_PI*f*u", "", "(2.0*1.0*f*u)"),
        ("k * PI / n", "", "(k * 1.0 / n)"),
        ("3.1415927f * x", "", "(1.0f * x)"),
        ("angle * (CUDART_PI / 180.0)", "", "(angle * (1.0 / 180.0))"),
        ("-M_2PI * v", "#define M_2PI 6.283185307179586", "(-2.0 * v)"),
        ("half * v", "const double half = 1.5707963267948966;", "(0.5 * v)"),
        ("acos(-1.0) * x /\n  length", "", "(1.0 * x / length)"),
        ("theta", "double theta = 2.0 * M_PI * x;", ""),
        ("theta", "double theta = 2.0 * M_PI * x;\ntheta += x0;", None),
        ("theta", "double theta = 2.0 * M_PI * x + x0;", None),
        ("theta + M_PI * x", "", None),
        ("x / M_PI", "", None),
        ("3.14 * x", "", None),
        ("PI * x", "#define PI 3.14", None),
        ("pi_factor * (d - r)", "", None),
        ("table[PI] * x", "", None),
        ("p->PI * x", "", None),
        ("f(M_PI) * x", "", None),
        ("c ? M_PI : x", "", None),
    ],
)
def test_half_turns_are_offered_of_what_is_pi_times_something(
    argument: str, above: str, left: str | None
) -> None:
    assert turns(argument, above) == left


def test_there_is_no_tangent_of_half_turns() -> None:
    assert turns("M_PI * x", name="tan") is None


def test_a_volatile_number_that_is_to_be_computed_has_to_be_used() -> None:
    assert "as in a benchmark" not in said(kernel("volatile", kind="volatile int[6]"))
    assert "store it to global memory" in said(kernel("volatile", kind="volatile double"))


def test_a_volatile_that_a_template_deduces_is_not_to_be_dropped_from_the_declaration() -> None:
    (one,) = kernel("volatile", kind="volatile int").objects
    assert one.declared is not None
    above = "\n" * (one.declared.line - 1)
    assert "remove_volatile_t" in said(kernel("volatile", kind="volatile int"), f"{above}T table;")
    plain = f"{above}volatile int table;"
    assert said(kernel("volatile", kind="volatile int"), plain).startswith("Drop `volatile`")


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


@pytest.mark.toolchain
def test_every_snippet_compiles_in_its_place(shipped: Finished, once: Once) -> None:
    scan = ("scan", str(DATA / "advice.cu"), "--arch", "sm_90", "--format", "json")
    own = once("advice", lambda: run_program(*scan))
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for unit in (*own.document["units"], *shipped.document["units"]):
        # Of a file with host code, NVRTC was given a slice.
        if unit["frontend"] == "nvrtc" and unit["input"].endswith(".cu") and not sliced(unit):
            found[unit["input"]] += [f for kernel in unit["kernels"] for f in kernel["findings"]]
    tried = 0
    for name, findings in found.items():
        path = ROOT / name
        text, snippets = with_snippets(path.read_text(), findings)
        tried += snippets
        if snippets:
            compiled(text, path)
    assert tried > 25


def sliced(unit: dict[str, Any]) -> bool:
    return bool(unit.get("sliced")) or "#include" in (ROOT / unit["input"]).read_text()


def with_snippets(source: str, findings: list[dict[str, Any]]) -> tuple[str, int]:
    """A source with the code of all advice in place, and how many pieces that are."""
    lines = source.splitlines()
    blocks: dict[int, list[str]] = defaultdict(list)
    behind: list[str] = []
    pieces = {
        (finding["location"]["line"], one["code"])
        for finding in findings
        for one in finding["advice"]
        if one["code"] is not None and finding["location"] is not None
    }
    for number, (line, code) in enumerate(sorted(pieces)):
        closing = "}" * (code.count("{") - code.count("}"))
        if code.startswith("__launch_bounds__"):
            behind.append(f"__global__ void {code} check_{number}() {{}}")
        elif code.startswith("const __grid_constant__"):
            behind.append(f"__global__ void check_{number}({code}) {{}}")
        elif code.startswith("__constant__"):
            behind.append(f"namespace check_{number} {{ {code} }}")
        elif "__forceinline__" in code:
            behind.append(f"namespace check_{number} {{ {code}; }}")
        elif not code.startswith("-"):
            blocks[line].append(f"{{\n{code}\n{closing}{';' if code.endswith(')') else ''}}}")
    for line, made in blocks.items():
        lines[line - 1] = _placed(lines[line - 1], "\n".join(made))
    return "\n".join([*lines, *behind]), len(pieces)


def _placed(line: str, made: str) -> str:
    """A line with blocks before its statement, inside of what governs that."""
    if "__global__" in line:
        head, _, rest = line.partition("{")
        return f"{head}{{\n{made}\n{rest}"
    line = line.partition("//")[0].rstrip()
    heads = re.match(r"\s*((if|for|while) \((?:[^()]|\([^()]*\))*\) )*", line)
    assert heads is not None
    rest = line[heads.end() :]
    declares = re.match(r"(const )?[\w:<>]+( [\w:<>]+)* \*?\w+ ?[=\[;{]", rest)
    if not rest.rstrip().endswith(";") or declares or "{" in rest:
        return f"{made}\n{line}"
    return f"{heads[0]}{{\n{made}\n{rest}\n}}"


def compiled(text: str, path: Path) -> None:
    """Compile to PTX without optimisation; what is refused names the snippet's line."""
    options = nvrtc.debug_options(nvrtc.options_for("sm_90", CompileOptions()))
    nvrtc.compile_to_ptx(text, str(path), options, [])


def test_a_volatile_that_assembly_uses_is_dropped_together_with_the_assemblys_freedom() -> None:
    facts = kernel("volatile", kind="volatile unsigned int")
    (one,) = facts.objects
    assert one.declared is not None
    declared = "\n" * (one.declared.line - 1) + "volatile unsigned table; "
    carry = 'asm("add.cc.u32 %0, %0, %1;" : "+r"(table) : "r"(n));\n}'
    assert said(facts, declared + carry).startswith("Use `asm volatile`")
    fixed = carry.replace("asm(", "asm volatile(")
    assert said(facts, declared + fixed).startswith("Drop `volatile`")
    assert said(facts, declared + carry.replace("table", "other")).startswith("Drop `volatile`")


def test_a_structure_goes_to_registers_as_a_whole() -> None:
    facts = array("float[8]", 32, name="stack.data")
    (one,) = facts.objects
    other = replace(one, name="stack.index", offset=one.offset + 32)
    pair = replace(facts, objects=(one, other))
    assert (
        "Do the same for `stack.index`: a structure leaves local memory only as a whole."
    ) in said(pair)
    apart = replace(other, name="queue.index")
    assert "as a whole" not in said(replace(facts, objects=(one, apart)))


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
    text = said(facts, INSTANCES % body)
    if threads is None:
        assert "If no block has more than 128 threads, keep" in text
    else:
        assert f"the {threads} threads it is launched with" in text


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


@pytest.mark.parametrize(
    ("threads", "shared", "text"),
    [
        (64, 0, "room for all of the 16 bytes"),
        (64, 24576, None),
        (256, 0, "room for all of the 16 bytes"),
        (
            256,
            12288,
            "room for 12 to 16, by architecture, of the 16 bytes per thread in addition to the 12",
        ),
        (256, 15360, None),
        (1024, 40960, "room for 4 to 8, by architecture, of the 16 bytes"),
        (1024, 45056, None),
    ],
)
def test_spilling_to_shared_memory_takes_what_a_full_multiprocessor_leaves(
    threads: int, shared: int, text: str | None
) -> None:
    known = spill(LaunchBounds(threads, 1), 255, 255)
    share = replace(known.causes[0], frame_bytes=16)
    known = changed(known, causes=(share,), ptxas=PtxasFacts(255, 16, 16, 16, None, shared, 0))
    assert ("enable_smem" in codes(known)) == (text is not None)
    if text is not None:
        assert text in said(known)
    # A word of many that are spilled is not worth it.
    share = replace(share, frame_bytes=512)
    assert "enable_smem" not in codes(replace(known, causes=(share,)))


@pytest.mark.parametrize(
    ("extent", "used", "cap", "left"),
    [
        (
            16,
            119,
            128,
            "take 16 registers, minus those already in registers, and 9 are available below",
        ),
        (
            64,
            200,
            255,
            "and 55 are available below the limit of 255: keep it only if ptxas does not spill",
        ),
        (64, 100, 255, ""),
        (240, 200, 255, None),
        (40, 60, 64, None),
    ],
)
def test_an_array_that_may_be_in_registers_in_part_is_unrolled_on_a_condition(
    extent: int, used: int, cap: int, left: str | None
) -> None:
    index = replace(indexed(COUNTER, expression="i"), loop=HERE)
    facts = kernel("rolled-loop", index=index, kind=f"float[{extent}]")
    facts = changed(
        facts,
        ptxas=PtxasFacts(used, 64, 0, 0, None, 0, 0),
        cubin=CubinFacts(used, 64, 0, cap),
    )
    text = said(facts, f"\n\n\n\n\n\nfor (int i = 0; i < {extent}; ++i) s += table[i];\n")
    assert ("Unroll the loop at line 7" in text) == (left is not None)
    assert (left or "") in text
    # Where it is not sure to fit, shared memory is another place.
    assert ("in shared memory, one" in text) == (left != "" and extent < 97)
    assert ("instances" in text) is False
    instance = replace(facts, demangled="void kernel<4>(float*)")
    assert ("any instance of the template" in said(instance)) == bool(left)


def test_the_pragma_of_a_loop_may_stand_above_comments() -> None:
    index = replace(indexed(COUNTER, expression="i"), loop=HERE)
    source = "\n#if A\n#pragma unroll 8\n#else\n#pragma unroll\n#endif // why\n%s"
    loop = "for (int i = 0; i < 20; ++i) s += table[i];\n"
    assert "in place of `#pragma unroll 8`," in said(
        kernel("rolled-loop", index=index), source % loop
    )
    other = source.replace(" 8", " 8\n;") % loop
    index = replace(index, loop=SourceLocation("a.cu", 8))
    assert "already requests unrolling" in said(kernel("rolled-loop", index=index), other)


@pytest.mark.parametrize(
    ("name", "declaration", "is_said"),
    [
        ("void kernel<16>(float*)", "float table[N];", True),
        ("void kernel<16>(float*)", "T table[16];", True),
        ("void kernel<16>(float*)", "float table[16];", False),
        ("void kernel<16>(float*)", "float table[SIZE];", False),
        ("kernel(float*)", "float table[N];", False),
    ],
)
def test_other_instances_of_a_template_have_arrays_of_their_own(
    name: str, declaration: str, is_said: bool
) -> None:
    declared = SourceLocation("a.cu", 2)
    facts = replace(array("float[16]", 64, declared=declared), demangled=name)
    text = said(facts, f"#define SIZE 16\n  {declaration}\n")
    assert "keep `table` in shared memory" in text
    assert ("elements × bytes × threads must fit in 48 KB" in text) == is_said


def test_so_have_those_of_a_function_template_that_a_kernel_calls() -> None:
    facts = array("float[16]", 64, declared=SourceLocation("a.cu", 2))
    for head, kind, is_said in (
        ("template <class T> ", "T", True),
        ("template <int A, class B = T> ", "Node", False),
        ("template <int A> ", "Node", False),
        ("template <int A> struct Of { using Node = float[A]; ", "Node", True),
        ("", "Node", False),
    ):
        text = said(
            facts,
            f"{head}__device__ void f({kind} *p) {{\n  {kind} table[16];\n"
            "  *p = table[p[1]];\n}\n",
        )
        assert ("Other instances of the template" in text) == is_said


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ("wide(float *x)", "If no block has more than 128 threads"),
        ("__launch_bounds__(512) wide(float *x)", "If no block has more than 512 threads"),
        ("__launch_bounds__(1024) wide(float *x)", None),
    ],
)
def test_the_widest_kernel_that_calls_an_arrays_function_counts(
    other: str, text: str | None
) -> None:
    facts = array("float[16]", 64, declared=SourceLocation("a.cu", 2))
    source = (
        "__device__ float sum(const float *x) {\n  float table[16];\n  use(table[x[i]]);\n}\n"
        f"__global__ void {other} {{ sum(x); }}\n"
    )
    found = said(facts, source)
    if text is None:
        assert "in shared memory, one copy" not in found
    else:
        assert f"{text}, keep `table` in shared memory" in found


@pytest.mark.parametrize(
    ("head", "is_said"),
    [
        ("__device__ float sum(const float *x)", True),
        ("__global__ void kernel(float *x)", False),
        ("template <class T> __global__ void __launch_bounds__(64) kernel(T *x)", False),
        ("void lambda()", False),
    ],
)
def test_an_array_of_a_function_is_shared_by_all_kernels_that_call_it(
    head: str, is_said: bool
) -> None:
    facts = array("float[16]", 64, declared=SourceLocation("a.cu", 2))
    text = said(facts, f"{head} {{\n  float table[16];\n  use(table[x[i]]);\n}}\n")
    assert "keep `table` in shared memory" in text
    assert ("No other kernel that calls this function" in text) == is_said


@pytest.mark.parametrize(
    ("before", "bound", "is_said"),
    [
        ("const int count = size();", "count", True),
        ("const int count = 20;", "count", False),
        ("", "20", False),
        ("", "COUNT", False),
    ],
)
def test_the_end_of_a_loop_that_is_unrolled_must_be_known(
    before: str, bound: str, is_said: bool
) -> None:
    index = replace(indexed(COUNTER, expression="i"), loop=HERE)
    source = f"\n\n\n\n\n{before}\nfor (int i = 0; i < {bound}; ++i) s += table[i];\n"
    text = said(kernel("rolled-loop", index=index), source)
    assert "Unroll the loop at line 7" in text
    assert (f"The compiler must know `{bound}`" in text) == is_said


@pytest.mark.parametrize(("threads", "is_said"), [(1024, True), (512, True), (256, False)])
def test_a_large_block_leaves_few_registers_to_unroll_with(threads: int, is_said: bool) -> None:
    index = replace(indexed(COUNTER, expression="i"), loop=HERE)
    source = "\n\n\n\n\n\nfor (int i = 0; i < 20; ++i) s += table[i];\n"
    text = said(
        kernel("rolled-loop", index=index), f"{source}void go() {{ k<<<1, {threads}>>>(); }}\n"
    )
    assert "Unroll the loop at line 7" in text
    assert (f"at most {65536 // threads} registers" in text) == is_said


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


@pytest.mark.parametrize("call", ["y = sin(x);", "y = sin(M_PI * x);"])
def test_device_functions_are_kept_from_the_hosts_compiler(call: str) -> None:
    facts = kernel("math-slow-path")
    (one,) = facts.objects
    proof = (Evidence("library-table", "__cudart_i2opi_d"),)
    facts = replace(facts, objects=(replace(one, evidence_facts=proof),))
    head = "__host__ __device__ double f(double x)\n{\n\n\n\n\n"
    found = [a.text for a in advice(facts, head + call) if "__sinf" in a.text or "pi(" in a.text]
    found += [a.text for a in advice(facts, head + call) if "pi times something" in a.text]
    assert found
    assert all("in device code only" in text for text in found)


@pytest.mark.parametrize(
    ("line", "keeps"), [("y = sinf(x);", False), ("y = std::cos(x)", False), ("y = j0f(x);", True)]
)
def test_other_functions_of_the_library_keep_their_slow_path(line: str, keeps: bool) -> None:
    fast = next(one for one in sine("__cudart_i2opi_f", line) if "__sinf" in one.text)
    assert ("names none" in fast.text) == keeps


@pytest.mark.parametrize(
    ("source", "refused"),
    [
        ("__host__ __device__ void f() {\n  float table[8];\n", True),
        ("#define BOTH __host__ __device__\nBOTH void f() {\n  float table[8];\n", True),
        ("#define HERE __device__\nHERE void f() {\n  float table[8];\n", False),
        ("__device__ void f() {\n  float table[8];\n", False),
    ],
)
def test_shared_memory_is_refused_in_what_the_host_compiles_too(source: str, refused: bool) -> None:
    text = said(array("float[8]", 32), "\n" * (3 - source.count("\n")) + source)
    assert "shared memory, one copy per thread" in text
    assert ("function is also compiled for the host" in text) == refused


@pytest.mark.parametrize(
    ("body", "leaves"),
    [
        ("if (x > y) break;", 2),
        ("switch (x) {\n  case 1: break;\n  default: break;\n}", None),
        ("switch (x)\n{\n  case 1: y = 2; break;\n}\nif (y) break;", 6),
        ("for (int j = 0; j < n; ++j) {\n  if (j > x) break;\n}", None),
        ("while (x)\n  if (--x == 3) break;", None),
        ("switch (x) {\n  case 1: return;\n}", 3),
    ],
)
def test_a_break_of_a_switch_inside_leaves_no_loop(body: str, leaves: int | None) -> None:
    text = f"for (int i = 0; i < 8; ++i) {{\n{body}\n}}\nif (z) return;\n"
    assert early_exit(source_text({"a.cu": text}), "a.cu", 1) == leaves


@pytest.mark.parametrize(
    ("line", "is_moved"),
    [
        ("float table[16];", True),
        ("float table[16] = {}; auto f = [&] { return table[i & 15]; };", True),
        ("auto f = [=](int i) { return table[i & 15]; };", False),
        ("auto f = [table](int i) mutable { return table[i & 15]; };", False),
        ("run<<<1, 64>>>([=] __device__(int i) { out[i] = table[p[i] & 15]; }, n);", False),
        ("run<<<1, 64>>>([table, out] __host__ __device__ (int i) { out[i] = table[i]; });", False),
    ],
)
def test_no_shared_memory_for_what_a_lambda_has_captured(line: str, is_moved: bool) -> None:
    facts = array("float[16]", 64)
    (finding,) = find(replace(facts, location=HERE), {"a.cu": f"\n\n{line}\n"})
    advised = [one for one in finding.advice if one.rewrite == "shared-memory"]
    assert bool(advised) is is_moved


def test_no_shared_memory_beside_bounds_that_allow_more_threads_than_fit() -> None:
    facts = replace(array("float[96]", 384), launch_bounds=LaunchBounds(256, None))
    (finding,) = find(facts)
    assert [one for one in finding.advice if one.rewrite == "shared-memory"] == []


@pytest.mark.parametrize(
    ("capture", "body", "is_said"),
    [
        ("=", "table[j] += 1", True),
        ("table", "table[j] += 1", True),
        ("i, table", "table[j] += 1", True),
        ("&", "table[j] += 1", False),
        ("&table", "table[j] += 1", False),
        ("=, &table", "table[j] += 1", False),
        ("=", "p[j] += 1", False),
    ],
)
def test_a_lambda_has_no_copy_of_shared_memory(capture: str, body: str, is_said: bool) -> None:
    facts = array("float[16]", 64, declared=SourceLocation("a.cu", 2))
    source = (
        "__global__ void k(float *p) {\n  float table[16];\n"
        f"  auto f = [{capture}](int j) mutable {{ {body}; }};\n  use(table[x[i]]);\n}}\n"
    )
    assert ("cannot capture it by copy" in said(facts, source)) is is_said
