"""Grids whose blocks wait for each other: any rewrite may leave room for fewer blocks."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from lmemscope.model import CompileOptions, Rewriting, SourceText
from lmemscope.rewrites import proposals
from tests.support.builders import changed
from tests.support.rewriting import kernel, target

BODY = ("float a[8];", "a[n] = 1.f;", "out[0] = a[p[0]];")


def compared(
    before: str = "", *body: str, elsewhere: str = "", third: str = ""
) -> tuple[Rewriting, ...]:
    """`select` for an array of a kernel that other files of the project may launch."""
    given = target(kernel(*BODY, *body, before=before), "a", "float[8]")
    files = {"/p/a.cu": given.syntax.data.decode(), "/p/sub/host.cu": elsewhere, "/p/t.cu": third}
    (hit,) = given.hits
    sources = SourceText(
        lambda file: files.get(file, "").splitlines(),
        mentioning=lambda _, word: tuple(one for one, text in files.items() if word in text),
    )
    facts = replace(hit.facts, demangled="k(int const*, float*, int)")
    case = changed(hit.case, sources=sources, facts=facts)
    hits = (changed(hit, case=case, facts=facts),)
    found = [one for one in proposals(replace(given, hits=hits))[0] if one.rewrite == "select"]
    assert found
    return tuple(found)


def applicability(before: str = "", *body: str, elsewhere: str = "", third: str = "") -> set[str]:
    found = compared(before, *body, elsewhere=elsewhere, third=third)
    return {one.applicability for one in found}


@pytest.mark.parametrize(
    "line",
    [
        "void go() { cudaLaunchCooperativeKernel(k, 1, 2, args); }",
        "int go(int n) { cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, k, 9, 0); return n; }",
        '__device__ void f(int *p) { asm("mov.u32 %0, %total_smem_size;" : "=r"(*p)); } // k',
        "const char *go() { f(k); return __PRETTY_FUNCTION__; }",
    ],
)
def test_what_the_program_does_elsewhere_is_named_with_its_place(line: str) -> None:
    (there,) = compared(elsewhere=f"\n{line}\n")
    assert "`sub/host.cu:2`" in (there.caveat or "")
    (here,) = compared(f"\n{line}\n")
    assert "line 2" in (here.caveat or "")
    other = re.sub(r"\bk\b", "k2", line)
    assert applicability(elsewhere=f"\n{other}\n") == {"safe"}, "another kernel's"


def test_a_loop_that_waits_is_named_with_its_place() -> None:
    (made,) = compared("\n__device__ void f(volatile int *p) {\n  while (*p) {}\n}\n")
    assert "line 3" in (made.caveat or "")


LAUNCHES = (
    "void go() { at[0].id = (cudaLaunchAttributeID)CU_LAUNCH_ATTRIBUTE_COOPERATIVE; ex(k); }",
    "void go() { at[0].val.cooperative = 1; cudaLaunchKernelEx(&c, k, p, o, n); }",
    "void go() { cudaLaunchCooperativeKernelMultiDevice(list, 2, 0); f(k); }",
    'void go() { auto f = dlsym(l, "cuLaunchCooperativeKernel"); f(k); }',
)


@pytest.mark.parametrize("launch", LAUNCHES)
def test_a_cooperative_launch_is_seen_in_any_spelling_and_file(launch: str) -> None:
    assert applicability(f"{launch}\n") == {"unsafe"}
    assert applicability(elsewhere=f"{launch}\n") == {"unsafe"}


@pytest.mark.parametrize(
    "launch",
    [
        "namespace cg = cooperative_groups; void go() { k<<<1, 2>>>(p, o, n); }",
        'void go() { k<<<1, 2>>>(p, o, n); puts("no cooperative launch"); }',
    ],
)
def test_groups_and_prose_are_no_cooperative_launch(launch: str) -> None:
    assert applicability(f"{launch}\n") == {"safe"}
    assert applicability(elsewhere=f"{launch}\n") == {"safe"}


def test_a_launch_in_a_third_file_that_gets_the_kernel_counts() -> None:
    third = "void all(const void *f) { cudaLaunchCooperativeKernel(f, 1, 2, args); }\n"
    given = "void go() { all((const void *)k); }\n"
    assert applicability(elsewhere=given, third=third) == {"unsafe"}
    assert applicability(given, third=third) == {"unsafe"}
    assert applicability(given, third=third.replace("all", "other")) == {"safe"}
    assert applicability(elsewhere="raw = RawKernel(s, 'k', enable_cooperative_groups=True)") == {
        "unsafe"
    }


def test_a_file_that_launches_other_kernels_does_not_count() -> None:
    other = "void go() { cudaLaunchCooperativeKernel(other, 1, 2); }\n"
    assert applicability(elsewhere=other.replace("k", "q")) == {"safe"}


@pytest.mark.parametrize(
    "loop",
    [
        "for (int s = 0; atomicAdd(&arrived, 0u) < goal; s++) if (s > 9) break;",
        "const int none = 0; while (atomicAdd(&arrived, none) < goal);",
        "while (atomicAdd(&arrived, p[0]) < goal);",
        "while (atomicOr(&arrived, mask) < goal);",
        "while (atomicAnd(&arrived, ~0) < goal);",
        "while (atomicMax(&arrived, least(1)) < goal);",
        "while (arrived_ref.fetch_add(more) < goal);",
        "while (true) { if (atomicCAS(&arrived, goal, goal) == goal) break; }",
        "while (*(volatile int *)&arrived < goal);",
        "while (*flag < goal);",
        "int v; do { v = __ldcg(&arrived); } while (v < goal);",
        "int v; do { v = read_acquire(&arrived); } while (v < goal);",
        "while (arrived_ref.load(cuda::memory_order_relaxed) < goal);",
        "while (!ready(&arrived));",
        "while (p[0] < goal) __syncthreads();",
        "int v; do { v = *flag; } while (v < goal);",
        "int v, w; do { v = *flag; w = v - goal; } while (w < 0);",
        "int v; do { look(&v); } while (v < goal);",
        'int v; do { asm("ld.acquire.gpu.s32 %0, [%1];" : "=r"(v) : "l"(q)); } while (v < goal);',
        "bool over = false; while (!over) { int v = *flag; if (v >= goal) over = true; }",
    ],
)
def test_a_loop_that_polls_memory_may_be_a_barrier_of_the_grid(loop: str) -> None:
    before = "__device__ int arrived;\n__device__ volatile int *flag;\n"
    before += "__device__ bool ready(int *p) { return *(volatile int *)p > 0; }\n"
    before += "__device__ void look(int *to) { *to = *flag; }\n"
    assert applicability(before, loop) == {"unsafe"}


@pytest.mark.parametrize(
    "loop",
    [
        "while ((i = atomicAdd(&next, 1)) < n) out[i] = 1;",
        "while ((i = atomicAdd(&next, 2u * blockDim.x)) < n) out[i] = 1;",
        "const int each = 4; while ((i = atomicAdd(&next, each)) < n) out[i] = 1;",
        "while ((i = next_ref.fetch_add(int(1))) < n) out[i] = 1;",
        "for (int i = 0; i < n; i++) atomicAdd(&next, p[i]);",
        "__shared__ int on[1]; while (on[0] < n) { __syncthreads(); on[0] += 3; }",
        "while (i < n) { __syncthreads(); i += out[i]; }",
        "do { seen = old; old = atomicCAS(q, seen, seen + 1); } while (seen != old);",
        'int r; for (int i = 0; i < n; i++) { asm("mov.u32 %0, %laneid;" : "=r"(r)); out[i] = r; }',
    ],
)
def test_queues_and_sums_are_no_barriers(loop: str) -> None:
    assert applicability("", loop) == {"safe"}


ASKING = (
    "void go() { cudaOccupancyMaxActiveBlocksPerMultiprocessor(&b, k, 128, 0); k<<<b, 128>>>(); }",
    "void go() { cudaOccupancyMaxPotentialBlockSize(&b, &t, k); k<<<b, t>>>(); }",
    "void go() { cuFuncGetAttribute(&b, CU_FUNC_ATTRIBUTE_NUM_REGS, k); k<<<b, 128>>>(); }",
    "void go() { cuKernelGetAttribute(&b, CU_FUNC_ATTRIBUTE_NUM_REGS, h, 0); f(k); }",
    "void go() { cub::MaxSmOccupancy(b, k, 128); k<<<b, 128>>>(); }",
)


@pytest.mark.parametrize("launch", ASKING)
def test_a_program_that_asks_how_many_blocks_fit_may_follow_the_answer(launch: str) -> None:
    assert applicability(f"{launch}\n") == {"unsafe"}
    assert applicability(elsewhere=f"{launch}\n") == {"unsafe"}
    assert applicability(elsewhere=launch.replace("k", "q") + "\n") == {"safe"}


SALT = "__device__ int salt(int line) { return line; }\n#define SALT salt(__LINE__)\n"
WHERE = "int salt(std::source_location at = std::source_location::current());\n"
SITE = '#define SITE (hash("" __FILE__) ^ __LINE__)\n'
REPORT = (
    "__device__ void report(const char *file, int line) {\n"
    '  printf("%s:%d", file, line);\n}\n'
    "__device__ int seed(const char *file, int line) { return line; }\n"
)
SEEDS = (
    "__device__ int wide(const char *file, uint line) { return line; }\n"
    "__device__ int given(const char *file, int line = 3) { return line; }\n"
    "template <class T> __device__ int any(const char *file, T line) { return line; }\n"
)
CHECK = '#define CHECK(e) if (e) { printf("%s:%d", __FILE__, __LINE__); }\n'


@pytest.mark.parametrize(
    ("before", "use", "applied"),
    [
        (SALT, "out[1] = SALT;", "unsafe"),
        ("", "out[1] = __LINE__;", "unsafe"),
        (WHERE, "out[1] = salt();", "unsafe"),
        (SALT, "out[1] = 1;", "safe"),
        (CHECK, "CHECK(n)", "safe"),
        ("", "report(n, __FILE__, __LINE__);", "unsafe"),
        (REPORT, "report(__FILE__, __LINE__);", "safe"),
        (REPORT, "out[1] = seed(__FILE__, __LINE__);", "unsafe"),
        (REPORT, "out[1] = (sizeof __func__) ^ __LINE__;", "unsafe"),
        # A type that is not known takes it as well, and so does a parameter that has a default.
        (SEEDS, "out[1] = wide(__FILE__, __LINE__);", "unsafe"),
        (SEEDS, "out[1] = given(__FILE__, __LINE__);", "unsafe"),
        (SEEDS, "out[1] = any(__FILE__, __LINE__);", "unsafe"),
        ("", "out[1] = log(__LINE__);", "unsafe"),
        (SITE, "out[1] = SITE + n;", "unsafe"),
        ("", "int cout = 0; out[1] = cout + __LINE__;", "unsafe"),
        ("__device__ int salt() { return __LINE__; }\n", "out[1] = salt();", "safe"),
        ("#define NEXT __COUNTER__\n", "out[1] = NEXT;", "safe"),
        ("#define NEXT __COUNTER__\n", "a[NEXT] += 1;", "unsafe"),
    ],
)
def test_a_line_number_behind_an_inserted_line_is_another(
    before: str, use: str, applied: str
) -> None:
    assert applicability(before, use) == {applied}


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        # What takes a token that another block may never give.
        ("while (atomicCAS(&token, 1, 0) != 1) { }", "unsafe"),
        ("while (atomicCAS_system(&token, n, n + 1) != n) { }", "unsafe"),
        ("int e; do { e = 1; } while (atomicCAS(&token, e, 0) != 1);", "unsafe"),
        ("while (atomicCAS(&lock, 0, 1) != 0);", "unsafe"),
        ("while (atomicExch(&token, 0) == 0) { }", "unsafe"),
        ("while (atomicDec(&token, 0) == 0) { }", "unsafe"),
        ("while (atomicInc_block(&token, n) == 0) { }", "unsafe"),
        ("for (;;) { if (atomicExch(&token, 0)) break; }", "unsafe"),
        ("bool is = false; while (!is) { is = atomicCAS(&token, 1, 0) == 1; }", "unsafe"),
        ("while (flag->exchange(0) == 0) { }", "unsafe"),
        ("int e; do { e = 1; } while (!at->compare_exchange_strong(e, 0));", "unsafe"),
        # What goes on as soon as no other thread is quicker.
        (
            "int old = token, was; do { was = old; old = atomicCAS(&token, was, was + n); } "
            "while (was != old);",
            "safe",
        ),
        (
            "int old = token, was; do { was = old; old = atomicCAS(&token, was, max(was, n)); } "
            "while (old < n && was != old);",
            "safe",
        ),
        ("int e = n; while (!at->compare_exchange_weak(e, e + 1)) { }", "safe"),
        ("while (atomicInc(&token, 5u) < 9) { }", "safe"),
        ("for (int i = 0; i < n; ++i) { atomicExch(&token, i); }", "safe"),
    ],
)
def test_a_loop_waits_that_an_atomic_ends_which_may_change_nothing(
    loop: str, expected: str
) -> None:
    assert applicability("__device__ int token;\n", loop) == {expected}


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("typedef cuda::barrier<cuda::thread_scope_device> Gate;", "unsafe"),
        ("template <cuda::thread_scope S> using Gate = cuda::barrier<S>;", "unsafe"),
        ("using Gate = cuda::std::latch;", "unsafe"),
        ("using Gate = cuda::barrier<cuda::thread_scope_block>;", "safe"),
    ],
)
def test_a_barrier_of_the_library_waits_unless_it_is_a_blocks(declared: str, expected: str) -> None:
    assert applicability(f"{declared}\n", "gate->arrive_and_wait();") == {expected}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('asm volatile("mov.u32 %0, %total_smem_size;" : "=r"(n));', "unsafe"),
        ('asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(n));', "unsafe"),
        ("n += cuda::ptx::get_sreg_aggr_smem_size();", "unsafe"),
        ('asm("mov.u32 %0, %laneid;" : "=r"(n));', "safe"),
        ("n += sizeof(__PRETTY_FUNCTION__);", "unsafe"),
        ("n += length(__FUNCTION__);", "unsafe"),
        ('printf("%s", __func__);', "safe"),
        ("check(n, __FILE__, __func__, 3);", "safe"),
    ],
)
def test_a_program_that_reads_its_own_size_or_signature_is_asked_about(
    line: str, expected: str
) -> None:
    assert applicability("", line) == {expected}


@pytest.mark.parametrize(
    ("before", "line"),
    [
        ("template <class T> __device__ int first(T s) { return s[0]; }\n", "__func__"),
        ("int first(const char *s) { return s[0]; }\n", "__PRETTY_FUNCTION__"),
        ("int first(int n) { return n * 7; }\n", "__LINE__"),
    ],
)
def test_what_a_function_hands_on_is_no_report(before: str, line: str) -> None:
    """On the host, too: a launch gives it to the kernel."""
    text = before + kernel("int a[8];", "a[n] = p[0];", "out[0] = a[p[1]];")
    launch = f"int main() {{ k<<<1, 32>>>(0, 0, first({line})); }}\n"
    found, _ = proposals(target(text + launch, "a", "int[8]"))
    assert found
    assert {one.applicability for one in found if one.edits} == {"unsafe"}


WAITING = "volatile int done;\nvoid go(Variable &cv) {"


@pytest.mark.parametrize(
    "body",
    [
        "cv.wait(lock);",
        "while (!done) pause();",
        "std::thread t([&] { while (!done) pause(); });",
    ],
)
def test_what_only_the_host_waits_for_holds_no_block_up(body: str) -> None:
    assert applicability(f"{WAITING} {body} }}\n") == {"safe"}
    assert applicability(f"{WAITING} {body} }}\n".replace("void", "__device__ void")) == {"unsafe"}


@pytest.mark.parametrize(
    "text",
    [
        f"{WAITING} f([=] __device__ (int i) {{ while (!done); }}); }}\n",
        f"#define HD __device__\n{WAITING} f([=] HD (int i) {{ while (!done); }}); }}\n",
        "volatile int done;\n__device__ void f() { struct S { void go() { while (!done); } }; }\n",
        "volatile int done;\nconstexpr int go() { while (!done); return 1; }\n",
    ],
)
def test_what_the_device_may_run_may_wait(text: str) -> None:
    assert applicability(text) == {"unsafe"}


def test_cupy_makes_functions_without_a_word_the_devices() -> None:
    before = f"{WAITING} while (!done) pause(); }}\n"
    given = target(kernel(*BODY, before=before), "a", "float[8]")
    text = given.syntax.data.decode().splitlines()

    def offered(main: str, *options: str) -> set[str]:
        sources = SourceText(lambda _: text, main, CompileOptions(nvrtc_args=options))
        hits = tuple(changed(one, case=changed(one.case, sources=sources)) for one in given.hits)
        found, _ = proposals(replace(given, hits=hits))
        return {one.applicability for one in found if one.rewrite == "select"}

    assert offered("/p/a.cu") == {"safe"}
    assert offered("/p/a.cu", "--device-as-default-execution-space") == {"unsafe"}
    assert offered("/p/a.cu", "-default-device") == {"unsafe"}
    assert offered("/p/kernels.py") == {"unsafe"}
