"""Code that the name of its own file may decide, and names of files that are only reported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from lmemscope.model import CompileOptions
from lmemscope.sources.headers import name_that_decides
from lmemscope.sources.macro_use import code
from lmemscope.sources.own_name import decided_by_name
from lmemscope.sources.unlike_nvcc import read_otherwise

KERNEL = "__global__ void k(float *o) {{ {} }}\n"

DECIDED = {
    "its size": KERNEL.format("if constexpr (sizeof(__FILE__) == 5) {}"),
    "a letter": KERNEL.format("if (__FILE__[0] == 'k') {}"),
    "a pointer": KERNEL.format("const char *p = __FILE__;"),
    "a built-in function": KERNEL.format("int n = __builtin_strlen(__FILE__);"),
    "GCC's function": KERNEL.format("if (f(__builtin_FILE())) {}"),
    "the first file": KERNEL.format("if (f(__BASE_FILE__)) {}"),
    "a device function": "__device__ bool f(const char *s);\n" + KERNEL.format("f(__FILE__);"),
    "a device function that looks": (
        "__device__ void f(const char *s) { printf(s); if (*s) __trap(); }\n"
        + KERNEL.format("f(__FILE__);")
    ),
    "a constant function": (
        "constexpr bool f(const char *s) { return *s == 1; }\n" + KERNEL.format("f(__FILE__);")
    ),
    "a macro's qualifier": (
        "#define HD __host__ __device__\nHD bool f(const char *);\n" + KERNEL.format("f(__FILE__);")
    ),
    "a lambda": KERNEL.format("auto f = [](const char *s) { return *s; }; f(__FILE__);"),
    "an overload": (
        "template <int N> int f(const char (&)[N]);\n" + KERNEL.format("decltype(f(__FILE__)) x;")
    ),
    "a macro for it": "#define NAME __FILE__\n" + KERNEL.format("f(NAME);"),
    "a macro of arguments": "#define NAME 0, __FILE__\n" + KERNEL.format("f(NAME);"),
    "another function's name": (
        "__device__ int f(const char *s) { return *s; }\n#define printf f\n"
        + KERNEL.format("printf(__FILE__);")
    ),
    "a macro that looks": (
        "#define SAY(fmt, ...) do { if (f(__VA_ARGS__)) printf(fmt); } while (0)\n"
        "__device__ int f(const char *s) { return *s; }\n" + KERNEL.format('SAY("%s", __FILE__);')
    ),
    "a macro's own name": "#define printf printf\n" + KERNEL.format("printf(__FILE__);"),
    "an operator": (
        "constexpr int operator<<(S s, const char *) { return 1; }\n"
        + KERNEL.format("int n = S() << __FILE__;")
    ),
    "an operator within a message": (
        "constexpr int operator<<(S s, const char *) { return 1; }\n"
        "void f() { std::cerr << g<(S() << __FILE__)>() << (S() << __FILE__); }\n"
    ),
}
REPORTED = {
    "printf": KERNEL.format('printf("%s", __FILE__);'),
    "a device function that reports": (
        "__device__ void stop(const char *file, int line) {\n"
        '  printf("%s:%d", file, line); (void) file; __trap();\n}\n'
        "#define STOP stop(__FILE__, __LINE__)\n" + KERNEL.format("STOP;")
    ),
    "printf, replaced for an IDE": (
        "#define HD __host__ __device__\n#ifdef __CLION_IDE__\n"
        'HD void say(const char *format, ...) { asm volatile("trap;"); }\n'
        "#define printf say\n#endif\n" + KERNEL.format('printf("%s", __FILE__);')
    ),
    "a macro that prints": (
        "#define SAY(fmt, ...) do { lock(); "
        'printf("%s" fmt, now(), ##__VA_ARGS__); fflush(stdout); } while (0)\n'
        + KERNEL.format('SAY("%s", __FILE__);')
    ),
    "a stream": 'void f() { std::cerr << "at " << __FILE__ << ":" << __LINE__; }\n',
    "a stream beside others' operators": (
        "template <typename T> constexpr V<T> operator<<(V<T> const &v, T n);\n"
        '#define CHECK(x) if (x) { std::cerr << "in " << __FILE__ << name(x); }\n'
    ),
    "a check": (
        "inline void check(int e, const char *file, int line) { if (e) exit(e); }\n"
        "#define CHECK(x) check((x), __FILE__, __LINE__)\n"
    ),
    "an exception": 'void f() { throw std::runtime_error(std::string(__FILE__) + ":"); }\n',
    "a macro of arguments": (
        '#define AT "%s %d", __FILE__, __LINE__\nvoid f() { fprintf(stderr, AT); }\n'
    ),
    "a comment": "// __FILE__ decides nothing\n" + KERNEL.format("o[0] = 1;"),
    "a file without it": KERNEL.format("o[0] = 1;"),
}


def _decided(texts: Sequence[bytes]) -> str | None:
    return decided_by_name([*map(code, texts)])


@pytest.mark.parametrize("form", DECIDED)
def test_a_name_that_may_decide_is_found(form: str) -> None:
    assert _decided([DECIDED[form].encode()]) is not None


@pytest.mark.parametrize("form", REPORTED)
def test_a_name_that_is_reported_decides_nothing(form: str) -> None:
    assert _decided([REPORTED[form].encode()]) is None


def test_functions_of_other_texts_count() -> None:
    source = KERNEL.format("report(__FILE__);").encode()
    assert _decided([source, b"void report(const char *s) { puts(s); }\n"]) is None
    header = b"__device__ void report(const char *s) { if (*s == 1) {} }\n"
    assert _decided([source, header]) is not None


@pytest.mark.parametrize(
    ("text", "is_otherwise"),
    [
        ("#define F sinf\n", True),
        ("#define F (&::memcpy)\n", True),
        ("#define F(x) apply(sinf, x)\n", True),
        ("#define F(x) sinf(x)\n", False),
        ("#define F(x) (x < 0 ? fabsf(x) : x)\n", False),
        ("#define F node.free\n", False),
    ],
)
def test_a_macro_that_names_a_library_function_is_nvccs(text: str, is_otherwise: bool) -> None:
    assert (read_otherwise(text.encode()) is not None) is is_otherwise


def test_more_macros_than_are_followed_may_decide() -> None:
    def chain(length: int) -> bytes:
        lines = ["#define M0 f, __FILE__", *(f"#define M{n + 1} f, M{n}" for n in range(length))]
        return "\n".join([*lines, "void g() { fprintf(stderr, M0); }\n"]).encode()

    assert _decided([chain(3)]) is None
    assert _decided([chain(600)]) is not None


PUT = "#define PUT(a, b) a##b\n#define TWICE(a, b) PUT(a, b)\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("if (sizeof(PUT(__FI, LE__)) == 5) {}", "__FILE__"),
        ("if (sizeof(TWICE(__, TWICE(FILE, __))) == 5) {}", "__FILE__"),
        ("if (sizeof(PUT(__BASE, _FILE__)) == 5) {}", "__BASE_FILE__"),
        ("FILE *__restrict p; PUT(my_, x)(p);", None),
        # Letters of templates are pieces of any name, and no macro is given them.
        ("int _, __; f<F, I, L, E>(PUT(my_, x));", None),
    ],
)
def test_a_name_that_macros_put_together_of_what_they_are_given(
    tmp_path: Path, text: str, name: str | None
) -> None:
    source = tmp_path / "k.cu"
    source.write_text(PUT + KERNEL.format(text))
    assert name_that_decides(str(source), CompileOptions()) == name
