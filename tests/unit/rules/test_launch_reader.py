"""Launches in host code, however they are written, and the blocks that they may have."""

from __future__ import annotations

import pytest

from lmemscope.model import SourceText
from lmemscope.rewrites.dynamic import may_be_dynamic
from lmemscope.rules.block_sizes import threads_among
from lmemscope.rules.launch_reader import launches_in
from lmemscope.rules.launched_elsewhere import launch_sizes
from tests.support.builders import facts

KERNEL = "static __global__ void own(int *p, int n) { }\n"
FILE = "/p/a.cu"


def text_of(host: str) -> SourceText:
    lines = (KERNEL + host).split("\n")
    return SourceText(lambda file: lines if file == FILE else [])


@pytest.mark.parametrize(
    ("host", "sizes"),
    [
        # A runtime call, by whatever cast the kernel is given.
        (
            "void f() { cudaLaunchKernel((const void *)own, dim3(n), dim3(512), a, 0, 0); }",
            {512},
        ),
        (
            "void f(int n) { cudaLaunchCooperativeKernel(reinterpret_cast<void *>(&own), n, "
            "dim3(32, 8), a, 0, 0); }",
            {256},
        ),
        (
            "void f() { cudaLaunchConfig_t c = {}; c.gridDim = 1; c.blockDim = 672;\n"
            "cudaLaunchKernelEx(&c, own, p, n); }",
            {672},
        ),
        (
            "void f() { cudaLaunchConfig_t c = {}; c.blockDim.x = 67; c.blockDim.y = 2;\n"
            "cudaLaunchKernelEx(&c, own, p, n); }",
            {134},
        ),
        (
            "void f() { cudaLaunchConfig_t c = {dim3(1), dim3(608)};\n"
            "cudaLaunchKernelEx(&c, own, p, n); }",
            {608},
        ),
        (
            "void f() { CUfunction q; cudaGetFuncBySymbol(&q, own);\n"
            "cuLaunchKernel(q, 1, 1, 1, 16, 20, 1, 0, 0, a, 0); }",
            {320},
        ),
        (
            "void f() { cudaLaunchKernel(own<1, true>, dim3(1), dim3(416), a, 0, 0); }",
            {416},
        ),
        # A function, a template or a macro that is given the kernel.
        (
            "template <class K> void go(K k, int b, int *p) { k<<<1, b>>>(p, 1); }\n"
            "void f() { go(own<1, true>, 224, p); }",
            {224},
        ),
        (
            "template <class K> void go(K k, int n, int b, int *p) { k<<<1, b>>>(p, n); }\n"
            "void f(int n) { go(own, n, n > 100 ? 512 : 64, p); go(other, n, 1024, p); }",
            {64, 512},
        ),
        (
            "void go(void (*k)(int *, int), int b) { int c = b * 2; k<<<1, c>>>(p, 1); }\n"
            "void f() { go(own, 128); }",
            {256},
        ),
        (
            "template <class K> void go(K k, int b) {\n"
            "  cudaLaunchKernel((void *)k, 1, b, a, 0, 0); }\n"
            "void f() { go(own, 480); }",
            {480},
        ),
        (
            "#define LAUNCH(k, t, ...) k<<<1, t>>>(__VA_ARGS__)\nvoid f() { LAUNCH(own, 768, p); }",
            {768},
        ),
        # What it is in: a macro, a lambda, a member function, a template.
        ("#define GO(b) own<<<1, b>>>(p, n)\nconst int b = 64;\nvoid f() { GO(1024); }", {1024}),
        ("#define IT own\nvoid f() { IT<<<1, 640>>>(p, n); }", {640}),
        ("void f() { auto go = [&](int b) { own<<<1, b>>>(p, n); };\n go(896); }", {896}),
        (
            "struct R { void go(int b) const { own<<<1, b>>>(p, n); } };\n"
            "void f(R r) { r.go(512); }",
            {512},
        ),
        (
            "template <int B> void go() { own<<<1, B>>>(p, 1); }\n"
            "void f() { go<256>(); go<1024>(); }",
            {256, 1024},
        ),
        # A macro without parameters, by what is defined where it is used.
        (
            "#define B 64\n#define GO own<<<1, B>>>(p, n)\nvoid f() {\nGO;\n#undef B\n"
            "#define B 1024\nGO;\n#undef GO\n}",
            {64, 1024},
        ),
        # What holds its address.
        ("void f(R r) { r.fn = own; r.b = 960; r.fn<<<1, r.b>>>(p, n); }", {960}),
        ("K t[] = {own, other};\nvoid f(int i) { t[i]<<<1, 352>>>(p, n); }", {352}),
        ("K t[] = {other, own};\nvoid f(int i) { t[i]<<<1, 352>>>(p, n); }", {352}),
        ("void f(int n) { auto q = n > 3 ? own : other; q<<<1, 416>>>(p, n); }", {416}),
        ("void f(int n) { (n > 3 ? own : other)<<<1, 416>>>(p, n); }", {416}),
        (
            "template <void (*K)(int *, int)> void go() { K<<<1, 736>>>(p, 1); }\n"
            "void f() { go<own>(); }",
            {736},
        ),
        # A size that something decides.
        ("void f(int n) { own<<<1, n > 100 ? 512 : 64>>>(p, n); }", {64, 512}),
        ("void f(int n) { int b = n > 100 ? 512 : 64; own<<<1, b>>>(p, n); }", {64, 512}),
        ("void f(int n) { dim3 b(n > 3 ? 32 : 8, 16); own<<<1, b>>>(p, n); }", {128, 512}),
        ("void f(int n) { own<<<1, std::min(n, 512)>>>(p, n); }", {512}),
        (
            "void f(int n) { dim3 b(16, 16); if (n > 3) b.x = 64; own<<<1, b>>>(p, n); }",
            {256, 1024},
        ),
        (
            "void f(int n) { dim3 b(64);\n if (n > 3) b.x = 1024;\n own<<<1, b>>>(p, n); }",
            {64, 1024},
        ),
        ("void f() { for (int b : {64, 1024}) own<<<1, b>>>(p, n); }", {64, 1024}),
        (
            "void f() { const int s[] = {64, 1024};\nfor (auto b : s) own<<<1, b>>>(p, n); }",
            {64, 1024},
        ),
        ("void go(int b = 1024) { own<<<1, b>>>(p, 1); }\nvoid f() { go(); }", {1024}),
        # No launch of it.
        ("void f() { own<<<1, 64>>>(p, n);\n#if 0\n own<<<1, 1024>>>(p, n);\n#endif\n}", {64}),
        ("void f() { own<<<1, 64>>>(p, n); /* own<<<1, 1024>>>(p, n); */ }", {64}),
        ('void f() { own<<<1, 64>>>(p, n); puts("own<<<1, 1024>>>(p)"); }', {64}),
    ],
)
def test_a_launch_counts_however_it_is_written(host: str, sizes: set[int]) -> None:
    assert launch_sizes("own", FILE, text_of(host)) == sizes


@pytest.mark.parametrize(
    ("host", "are_all"),
    [
        ("void f() { own<<<1, 64>>>(p, n); }", True),
        ("void f() { cudaLaunchKernel((void *)own, 1, 64, a, 0, 0); }", True),
        ("void f() { auto q = own; q<<<1, 64>>>(p, n); }", True),
        ("void f() { cudaFuncSetAttribute(own, x, 64); own<<<1, 64>>>(p, n); }", True),
        ("void f() { go(own); own<<<1, 64>>>(p, n); }", False),
        ("void f() { go<own>(p); own<<<1, 64>>>(p, n); }", False),
        ("K t[] = {own, other};\nvoid f(int i) { t[i]<<<1, 64>>>(p, n); }", False),
        ("void f(int n) { (n > 3 ? own : other)<<<1, 64>>>(p, n); }", True),
        ("#define L(x) x##wn<<<1, 1024>>>(p, n)\nvoid f() { L(o); own<<<1, 32>>>(p, n); }", False),
        ("#define L(k, b) k<<<1, b>>>(p, n)\nvoid f() { L(own, 64); }", True),
        ("#define L(k, ...) k<<<1, 9>>>(__VA_ARGS__)\nvoid f() { L(own, p); }", True),
        ("#define L(b, ...) go(b, __VA_ARGS__)\nvoid f() { L(64, own); }", False),
        ("#define L(k, b) go(k, b)\nvoid f() { L(own, 64); }", False),
        ("#define L(k, b) go(#k, b)\nvoid f() { L(own, 64); }", False),
        ("#define L(k) k<<<1, 64>>>(p)\n#define L(k) go(k)\nvoid f() { L(own); }", False),
        ("template <class K> void L(K k) { k<<<1, 64>>>(p); }\nvoid f() { L(own); }", False),
        ("#define K(x) x##wn\nvoid f() { K(o)<<<1, 1024>>>(p, n); }", False),
        ("#define L(x) x##_k<<<1, 1024>>>(p, n)\nvoid f() { L(o); own<<<1, 32>>>(p, n); }", True),
        # What holds its address, and is launched from where nobody looks.
        ("void f(R r) { r.fn = own; r.fn<<<1, 64>>>(p, n); }", False),
        ("void f() { cudaKernelNodeParams node = {}; node.func = (void *)own; }", False),
        ("void f() { Task t = {own, 1024}; t.run(p); }", False),
        ("void f() { Task t{own}; t(p); }", False),
        ("void f() { K k = nullptr, *slot = &k; *slot = own; k<<<1, 64>>>(p, n); }", False),
        ("void f() { auto &q = own; auto *r = &q; r<<<1, 1024>>>(p, n); }", False),
        ("void f() { auto q = own; q<<<1, 64>>>(p, n); go(q); }", False),
        ("void f() { auto q = own; q<<<1, 64>>>(p, n); q = other; }", False),
        ("K q = own;\nvoid f() { q<<<1, 64>>>(p, n); }", False),
        ("struct R { K q = own; };\nvoid f(R r) { r.q<<<1, 64>>>(p, n); }", False),
        ("void f() { const auto q = own; q<<<1, 64>>>(p, n); }\nvoid g(int q) { go(q); }", True),
        ("void f() { queue << own; }", False),
        ("void f() { own | then(p); }", False),
        ("void f() { own SHAPE(1, 1024)(p, n); }", False),
        ("K f() { return own; }", False),
        # What only looks like it.
        ("void g(float own_of) { own_of = 2 * r.own + own_of; }", True),
        ("using ns::own;\nvoid f() { own<<<1, 64>>>(p, n); }", True),
        ("void f(float own) { y = own * x; }", True),
        ("void f() { int top = 0, own = 9; go(own); own<<<1, 64>>>(p, n); }", True),
        ("void f() { int own = 9; go(::own); }", False),
        ("void f() { { int own = 9; } go(own); }", False),
    ],
)
def test_what_else_gets_a_kernel_is_not_taken_for_nothing(host: str, are_all: bool) -> None:
    assert launches_in(text_of(host), (FILE,), "own").are_all is are_all


@pytest.mark.parametrize(
    ("host", "shape"),
    [
        ("#define BLOCK dim3(32, 4)\nvoid f() { own<<<1, BLOCK>>>(p, n); }", ("1", "BLOCK")),
        ("#define SHAPE 1, 64, 4096\nvoid f() { own<<<SHAPE>>>(p, n); }", ()),
        ("#define SHAPE(b) 1, \\\n b\nvoid f() { own<<<SHAPE(64)>>>(p, n); }", ()),
        ("#define REST 64, 4096\nvoid f() { own<<<1, REST>>>(p, n); }", ()),
        ("#define L(...) own<<<__VA_ARGS__>>>(p, n)\nvoid f() { L(1, 64, 4096); }", ()),
    ],
)
def test_a_macro_that_stands_for_several_arguments_hides_them(
    host: str, shape: tuple[str, ...]
) -> None:
    sources = text_of(host)
    (launch,) = launches_in(sources, (FILE,), "own").written
    assert tuple(one.strip() for one in launch.shape) == shape
    kernel = facts("own", demangled="own(int*, int)")
    assert may_be_dynamic(kernel, sources, (FILE,)) is not bool(shape)


def test_uses_of_a_macro_beyond_those_that_are_read_are_unknown() -> None:
    macro = "#define GO(b) own<<<1, b>>>(p, n)\nvoid f() {\n"
    few, many = (f"{macro}{'GO(64);' * number}GO(1024);\n}}\n" for number in (2, 300))
    for host, wanted in ((few, True), (many, False)):
        sources = text_of(host)
        shapes = {one.shape[1].strip() for one in launches_in(sources, (FILE,), "own").written}
        assert ("1024" in shapes, "b" not in shapes) == (wanted, wanted)


CONSTANT = "static const int b = 64;\n"


@pytest.mark.parametrize(
    ("host", "sizes"),
    [
        (CONSTANT + "void f() { own<<<1, b>>>(p, n); }", {64}),
        # Another declaration of the name that a scope has.
        (CONSTANT + "void f() { auto [a, b] = shape(); own<<<a, b>>>(p, n); }", {None}),
        (CONSTANT + "void f() { for (int b : sizes) own<<<1, b>>>(p, n); }", {None}),
        (CONSTANT + "void f() { for (int a = 0, b = 32; a < b; ++a) own<<<1, b>>>(p); }", {32}),
        (CONSTANT + "void f() { auto go = [&](int b) { own<<<1, b>>>(p, n); }; }", {None}),
        (CONSTANT + "void f() { auto go = [b = 9] { own<<<1, b>>>(p, n); }; }", {None}),
        (CONSTANT + "template <int b> void f() { own<<<1, b>>>(p, n); }", {None}),
        (CONSTANT + "void f(const int &b) { own<<<1, b>>>(p, n); }", {None}),
        (CONSTANT + "void f(S s, T<int> b) { own<<<1, b>>>(p, n); }", {None}),
        (CONSTANT + "void f() { if (int b = g()) own<<<1, b>>>(p, n); }", {None}),
        (CONSTANT + "struct R { void f() { own<<<1, b>>>(p, n); } int b = 1024; };", {None}),
        (CONSTANT + "struct R { int b; void f(); };\nvoid R::f() { own<<<1, b>>>(p, n); }", {None}),
        (CONSTANT + "struct R { int b; };\nvoid f() { own<<<1, b>>>(p, n); }", {64}),
        (
            CONSTANT + "struct R { enum { b = 9 }; };\n"
            "struct S : R { void f() { own<<<1, b>>>(p, n); } };",
            {None},
        ),
        (
            "namespace s { const int b = 64; }\nnamespace l { const int b = 1024; }\n"
            "void f() { using l::b; own<<<1, b>>>(p, n); }",
            {None},
        ),
        (CONSTANT + "void g() { const int b = 1024; }\nvoid f() { own<<<1, b>>>(p, n); }", {64}),
        ("void f() { const int b = 64; { const int b = 32;\nown<<<1, b>>>(p, n); } }", {32}),
        ("void f() { const int b = 64; { const int b = 32; }\nown<<<1, b>>>(p, n); }", {64}),
        (
            "#if A\nconst int b = 64;\n#else\nconst int b = 9;\n#endif\n"
            "void f() { own<<<1, b>>>(p, n); }",
            {None},
        ),
        # A value that does not last.
        ("void f() { static int b = 64; own<<<1, b>>>(p, n); b *= 2; }", {None}),
        ("static int b = 64;\nvoid f() { own<<<1, b>>>(p, n); }\nvoid g() { b = 9; }", {None}),
        ("static int b = 64;\nvoid f() { own<<<1, b>>>(p, n); }", {64}),
        # What is not known to leave it its value.
        ("void f() { dim3 b(64); fit(b);\nown<<<1, b>>>(p, n); }", {None}),
        ("void f() { dim3 b(64); fit(b);\nown<<<1, b>>>(p, n); y = x * fit(c); }", {None}),
        ("void f() { int b = 64; customUse(b);\nown<<<1, b>>>(p, n); }", {None}),
        ("void cuFit(int &b);\nvoid f() { int b = 64; cuFit(b);\nown<<<1, b>>>(p, n); }", {None}),
        ("void fit(dim3 b);\nvoid f() { dim3 b(64); fit(b);\nown<<<1, b>>>(p, n); }", {64}),
        ("void f() { dim3 b(64); b.grow();\nown<<<1, b>>>(p, n); }", {None}),
        (
            "struct R { void fit(dim3 &b); };\n"
            "void f(R r) { dim3 b(64); r.fit(b);\nown<<<1, b>>>(p, n); }",
            {None},
        ),
        ("void f() { int b = 64; R r(b);\nown<<<1, b>>>(p, n); }", {None}),
        ("void f() { int b = 64; R r{b};\nown<<<1, b>>>(p, n); }", {None}),
        ("void f() { int b = 64; dim3 g(b), h{b};\nown<<<1, b>>>(p, n); }", {64}),
        ("void f() { int b = 64; cudaMallocManaged(q, b);\nown<<<1, b>>>(p, b); }", {64}),
        ("void f() { int b = 64; g(n / b, int(b));\nown<<<1, b>>>(p, b); }", {64}),
        ('void f() { int b = 64; asm("" : "+r"(b));\nown<<<1, b>>>(p, n); }', {None}),
        (
            "#define GROW(x) x *= 2\n#define TWICE b *= 2\n#define LOG(x) printf(x)\n"
            "void f() { int b = 64; GROW(b);\nown<<<1, b>>>(p, n); }",
            {None},
        ),
        (
            "#define TWICE b *= 2\nvoid f() { int b = 64; TWICE;\nown<<<1, b>>>(p, n); }",
            {None},
        ),
        (
            "#define LOG(x) printf(x)\nvoid f() { int b = 64; LOG(b);\nown<<<1, b>>>(p, n); }",
            {64},
        ),
        # A macro's text, where it is used.
        (
            "#define A 64\n#define B (A * 2)\n#undef A\n#define A 512\n"
            "void f() { own<<<1, B>>>(p, n); }",
            {1024},
        ),
        ("#define B 60 + 4\nvoid f() { own<<<1, B * 4>>>(p, n); }", {None}),
        ("#define B (60 + 4)\nvoid f() { own<<<1, B * 4>>>(p, n); }", {256}),
        (
            '#define B 1024\n#pragma push_macro("B")\n#undef B\n#define B 64\n'
            '#pragma pop_macro("B")\nvoid f() { own<<<1, B>>>(p, n); }',
            {None},
        ),
        (
            "#define B 64\n#ifdef BIG\n#undef B\n#define B 1024\n#endif\n"
            "void f() { own<<<1, B>>>(p, n); }",
            {None},
        ),
        (
            "void f() { int b = 64; auto go = [&] {\nown<<<1, b>>>(p, n);\n};\nb = 9; go(); }",
            {None},
        ),
        ("void f() { int b = 64; int &r = b; r = 9;\nown<<<1, b>>>(p, n); }", {None}),
        ("void f() { int b = 64; std::tie(a, b) = g();\nown<<<1, b>>>(p, n); }", {None}),
        ("void f() { int b = 64; printf(0, b);\nown<<<1, b>>>(p, n);\nb = 9; }", {64}),
        (
            "void f() { dim3 b;\nb.x = 64;\n}\nvoid g() { dim3 b(9);\nb.y = 9;\n"
            "own<<<1, b>>>(p, n); }",
            {None},
        ),
    ],
)
def test_a_block_has_the_value_of_the_one_declaration_that_it_can_mean(
    host: str, sizes: set[int | None]
) -> None:
    sources = text_of(host)
    (launch,) = launches_in(sources, (FILE,), "own").written
    assert threads_among(launch.shape[1], sources, launch.place, {}) == sizes
