"""Conditional advice: what the source, launches and bounds decide is not left to the reader."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lmemscope.model import (
    Advice,
    CallFacts,
    Cause,
    Evidence,
    Finding,
    IndexFacts,
    IndexSource,
    InlineFrame,
    KernelFacts,
    LaunchBounds,
    LocalObject,
    SiteClass,
    SourceLocation,
)
from tests.support.builders import access, changed, find, kernel_with, local_object

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


@pytest.mark.parametrize(("threads", "is_offered"), [(None, True), (96, True), (128, False)])
def test_launch_bounds_that_do_not_fit_take_no_condition(
    threads: int | None, is_offered: bool
) -> None:
    bounds = LaunchBounds(threads, None) if threads is not None else None
    facts = replace(array("float[96]", 384), launch_bounds=bounds)
    assert facts.ptxas is not None
    taken = replace(facts.ptxas, shared=12 * 1024 if bounds else 0)
    facts = changed(facts, ptxas=taken)
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
def test_a_launch_in_sight_is_counted_however_it_is_written(launch: str) -> None:
    """However the kernel is launched, a block of 256 is told."""
    facts = replace(array(), demangled="void kernel(float*)")
    advice = offered(only(facts, f"float a[16];\n{launch}\n"), "shared-memory")
    assert advice is not None
    assert "256 threads" in advice.text


def test_what_fits_no_launch_in_sight_is_not_offered() -> None:
    facts = replace(array("float[64]", 256), demangled="void kernel(float*)")
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
        ("  __device__ int sum(Row table, int i) {", False),
        ("  for (int table[8], i = 0; i < n; ++i)", True),
    ],
)
def test_captures_and_parameters_cannot_be_in_shared_memory(line: str, is_offered: bool) -> None:
    advice = offered(only(array(), f"\n\n{line}\n"), "shared-memory")
    assert (advice is not None) == is_offered


@pytest.mark.parametrize(
    ("launch", "is_flat"),
    [
        ("kernel<<<1, 256>>>(x);", True),
        ("kernel<<<1, dim3(256, 1)>>>(x);", True),
        ("kernel<<<1, dim3(32, 8)>>>(x);", False),
        ("dim3 b(32, 8);\nkernel<<<1, b>>>(x);", False),
        ("kernel<<<1, dim3(n, 8)>>>(x);", False),
        ("dim3 b;\nb.x = 32;\nb.y = 8;\nkernel<<<1, b>>>(x);", False),
    ],
)
def test_each_thread_of_a_block_has_a_column_of_its_own(launch: str, is_flat: bool) -> None:
    facts = replace(array(), demangled="void kernel(float*)")
    advice = offered(only(facts, f"float a[16];\n{launch}\n"), "shared-memory")
    assert advice is not None
    assert advice.code is not None
    assert ("threadIdx.y" in advice.code) != is_flat


def test_recursive_calls_have_an_array_each() -> None:
    calls = CallFacts(("walk",), ("walk",), False)
    facts = replace(array(function="walk"), calls=calls)
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
    assert ("receive a pointer to it" in advice.text) == is_array
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
    facts = replace(facts, objects=(*facts.objects, other), accesses=(both,))
    (finding,) = (one for one in find(facts) if one.object == "table")
    advice = offered(finding, "shared-memory")
    assert advice is not None
    assert "`other`" in advice.text


COUNTER = IndexSource("loop-counter", None, constant_trip=True)
OPEN_COUNTER = IndexSource("loop-counter", None, constant_trip=False)


def looped(
    source: str, at: int, *sources: IndexSource, loop: SourceLocation | None = None
) -> Finding:
    """A finding of `table` in a kernel's source, indexed by `i` on a line."""
    cause: Cause = "dynamic-index" if OPEN_COUNTER in sources else "rolled-loop"
    index = IndexFacts("i / 2", sources, "uniform", loop, location=SourceLocation("a.cu", at))
    made = kernel_with(cause, index=index, depth=1, kind="float[40]")
    place = SourceLocation("a.cu", at)
    load = access(cause, loop_depth=1, chain=(InlineFrame.at(place, None),))
    return only(replace(made, accesses=(load,)), source)


KERNEL = """__global__ void k(const float *x, const int *len, float *o, int n) {
  int t = threadIdx.x;
  float table[40];
  %s
  for (int j = 0; j < 40; ++j)
    for (int i = 0; i < %s; ++i)
      o[t] += table[i / 2];
}
"""


@pytest.mark.parametrize(
    ("above", "bound", "is_open"),
    [
        ("", "n", True),
        ("", "len[t]", False),
        ("int m = len[t];", "m", False),
        ("int m = n; if (t) m = 4;", "m", False),
        ("int m = n / 2;", "m", True),
    ],
)
def test_an_end_that_is_data_has_no_one_value(above: str, bound: str, is_open: bool) -> None:
    finding = looped(KERNEL % (above, bound), 7, OPEN_COUNTER)
    advice = offered(finding, "bounded-loop")
    assert advice is not None
    assert ("has only one value" in advice.text) == is_open


def test_an_end_that_another_loop_counts_is_a_constant_with_that() -> None:
    finding = looped(KERNEL % ("", "40 - j"), 7, OPEN_COUNTER)
    advice = offered(finding, "bounded-loop")
    assert advice is not None
    assert "has only one value" not in advice.text
    assert "loop at line 5" in advice.text
    assert "loop at line 6" in advice.text
    rolled = looped(KERNEL % ("", "40 - j"), 7, COUNTER, loop=SourceLocation("a.cu", 6))
    unroll = offered(rolled, "unroll")
    assert unroll is not None
    assert "at line 5" in unroll.text
    assert "The compiler must know" not in unroll.text


@pytest.mark.parametrize("is_template", [False, True])
def test_a_parameter_of_the_template_is_known(is_template: bool) -> None:
    source = KERNEL % ("", "n")
    if is_template:
        source = f"template <int n> {source.replace(', int n)', ')')}"
    unroll = offered(looped(source, 7, COUNTER, loop=SourceLocation("a.cu", 6)), "unroll")
    assert unroll is not None
    assert ("The compiler must know" in unroll.text) != is_template


@pytest.mark.parametrize(
    ("file", "is_own"),
    [
        ("a.cu", True),
        ("third_party/x/loops.h", False),
        ("/usr/local/cuda/include/cub/loops.cuh", False),
    ],
)
def test_a_loop_of_others_is_not_to_be_unrolled(file: str, is_own: bool) -> None:
    finding = looped(KERNEL % ("", "n"), 7, COUNTER, loop=SourceLocation(file, 6))
    assert (offered(finding, "unroll") is not None) == is_own


RING = """__global__ void k(const float *x, float *o, int n) {
  int head = 0;
  float table[8];
  for (int i = 0; i < 8; ++i) table[i] = 0;
  for (int r = 0; r < n; ++r) {
    %s
    o[r] += table[(head + 3) %% 8];
  }
}
"""


@pytest.mark.parametrize(
    ("store", "is_offered"),
    [
        ("table[head] = x[r];", True),
        ("table[head] = x[r]; table[(head + 1) % 8] *= 2;", False),
    ],
)
def test_a_ring_replaces_one_element_at_a_time(store: str, is_offered: bool) -> None:
    place = SourceLocation("a.cu", 7)
    index = IndexFacts("(head + 3) % 8", (OPEN_COUNTER,), "uniform", None, location=place)
    made = kernel_with("dynamic-index", index=index, depth=1, kind="float[8]")
    share = made.causes[0].with_bytes(made.causes[0].frame_bytes, SiteClass(1, 1, 4, 4))
    made = replace(made, causes=(share,))
    assert (offered(only(made, RING % store), "shift") is not None) == is_offered


@pytest.mark.parametrize(
    ("use", "is_used"),
    [
        ("sum = sum + 1;", False),
        ("sum++; (void)sum;", False),
        ('asm volatile("" :: "r"(sum));', False),
        ("out[0] = sum;", True),
        ("for (sum = 0; sum < n; sum = sum + 1) f();", True),
    ],
)
def test_a_volatile_that_is_used_need_not_be_kept_alive(use: str, is_used: bool) -> None:
    facts = kernel_with("volatile", kind="volatile int")
    one = replace(facts.objects[0], name="sum", type="volatile int", size=4)
    facts = replace(facts, objects=(one,))
    finding = only(facts, f"void k() {{\n\n  volatile int sum = 0;\n  {use}\n}}")
    assert len(finding.advice) == (1 if is_used else 2)


@pytest.mark.parametrize(("word", "is_asked"), [("", False), ("__forceinline__ ", True)])
def test_what_is_forced_inline_is_not_to_be_forced_again(word: str, is_asked: bool) -> None:
    facts = kernel_with("address-taken")
    finding = only(facts, f"__device__ {word}void leaf(float *x) {{\n}}")
    assert (offered(finding, "force-inline") is None) == is_asked


@pytest.mark.parametrize(("line", "is_offered"), [("", True), ("#ifdef DEBUG_PRINT", False)])
def test_what_debug_builds_print_is_compiled_out_already(line: str, is_offered: bool) -> None:
    facts = kernel_with("printf-args")
    source = f"void k() {{\n\n\n\n\n{line}\n  printf(x, 1);\n#endif\n}}"
    (advice,) = only(facts, source).advice
    assert (advice.code is not None) == is_offered
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


@pytest.mark.parametrize("values", ["{1, 2, 3, 4, 5}", "{n, 2, 3, 4, 5}"])
def test_values_that_are_numbers_need_not_be_made_constants(values: str) -> None:
    facts = kernel_with("const-table", kind="int[5]")
    (advice,) = only(facts, f"void k() {{\n\n  int i = 1; int table[5] = {values}; f();\n").advice
    assert ("must be constants" in advice.text) == ("n" in values)


def test_a_constexpr_function_cannot_have_a_static_table() -> None:
    facts = kernel_with("const-table", kind="int[5]")
    table = "const int table[5] = {1, 2, 3, 4, 5};"
    plain = only(facts, f"__device__ int f(int i) {{\n\n  {table}\n").advice
    constexpr = only(facts, f"__device__ constexpr int f(int i) {{\n\n  {table}\n").advice
    assert plain[0].code is not None
    assert constexpr[0].code is None
    assert "namespace scope" in constexpr[0].text


@pytest.mark.parametrize(("word", "is_in_place"), [("", False), ("const __grid_constant__ ", True)])
def test_what_is_read_in_place_is_not_to_be_declared_so_again(word: str, is_in_place: bool) -> None:
    facts = kernel_with("param-copy", kind="Row")
    one = replace(facts.objects[0], name="p", declared=SourceLocation("a.cu", 3))
    facts = replace(facts, objects=(one,))
    finding = only(facts, f"\n\n__global__ void k({word}Row p, int n) {{\n}}\n")
    assert (offered(finding, "grid-constant") is None) == is_in_place


@pytest.mark.parametrize("line", ["float table[8]; table[0] = 1;", "float table[8] = {};"])
def test_an_initialiser_is_the_declarations_own(line: str) -> None:
    advice = offered(only(array(), f"\n\n  {line}\n"), "shared-memory")
    assert advice is not None
    assert ("initialiser" in advice.text) == ("{}" in line)


@pytest.mark.parametrize(
    ("above", "is_large"),
    [
        ("int u, x;", True),
        ("for (int u = 0; u < n; ++u) for (int x = 0; x < n; ++x)", True),
        ("for (int u = 0; u < 8; ++u)\nfor (int x = 0; x < 8; ++x)", False),
        ("int u = i & 7, x = j % 8;\nint x = j % 8;", False),
    ],
)
def test_a_product_of_small_integers_is_no_large_angle(above: str, is_large: bool) -> None:
    lines = above.splitlines()
    source = "\n" * (6 - len(lines)) + "\n".join((*lines, "y = sinf(0.19f * u * x);"))
    facts = kernel_with("math-slow-path", kind="unsigned int[7]")
    table = Evidence("library-table", "__cudart_i2opi_f")
    one = replace(facts.objects[0], evidence_facts=(table,))
    finding = only(replace(facts, objects=(one,)), source)
    assert any(one.is_none for one in finding.advice) == is_large
