"""The numbers that launches in sight give a parameter, in the forms that host code has."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.model import CompileOptions
from lmemscope.rules.launched_elsewhere import arguments
from lmemscope.sources.lines import from_disk

KERNEL = "__global__ void k(const float *x, float *y, int n) { y[0] = n; }\n"


def given(tmp_path: Path, host: str) -> tuple[int, int] | None:
    """The number, and the line that gives it, counted in the host's code."""
    path = tmp_path / "a.cu"
    path.write_text(f"{KERNEL}{host}\n")
    sources = from_disk(None, str(path), CompileOptions(), lambda *_: ())
    found = max(arguments("k", 2, str(path), sources, (str(path),)), default=None)
    return (found[0], found[1].line - 1) if found is not None else None


LAUNCH = "k<<<1, 32>>>(x, y, "


@pytest.mark.parametrize(
    "host",
    [
        f"int main() {{ {LAUNCH}100); }}",
        f"int main() {{ const int n = 100; {LAUNCH}n); }}",
        f"#define N (10 * 10)\nint main() {{ {LAUNCH}N); }}",
        f"int main() {{ int n; n = 100; {LAUNCH}n); }}",
        f"int main(int c, char **v) {{ int n = 100; if (c > 1) n = atoi(v[1]); {LAUNCH}n); }}",
        f"struct P {{ int n = 100; }};\nint main() {{ P p; {LAUNCH}p.n); }}",
        f"struct P {{ int n; }};\nvoid f(P *p) {{ {LAUNCH}p->n); }}\n"
        "int main() { P p; p.n = 100; f(&p); }",
        f"struct R {{ int n; R() : n(100) {{}} void f() {{ {LAUNCH}n); }} }};",
        f"struct R {{ int n; R(int m) : n(m) {{}} void f() {{ {LAUNCH}n); }} }};\n"
        "int main() { R r(100); }",
        f"struct C {{ static constexpr int N = 100; }};\nint main() {{ {LAUNCH}C::N); }}",
        f"enum class S {{ N = 100 }};\nint main() {{ {LAUNCH}(int) S::N); }}",
        f"void f(int n) {{ {LAUNCH}n); }}\nint main() {{ const int m = 100; f(m); }}",
        f"void f(int n) {{ {LAUNCH}n); }}\nvoid g(int m) {{ f(m); }}\nint main() {{ g(100); }}",
        f"int main() {{ size_t n = 100; {LAUNCH}(int) n); }}",
        f"int main() {{ size_t n = 100; {LAUNCH}static_cast<int>(n)); }}",
        f"int main() {{ size_t n = 100; {LAUNCH}int(n)); }}",
        f"#define RUN(m) {LAUNCH}m)\nint main() {{ RUN(100); }}",
        "#define RUN(b, m) k<<<1, b>>>(x, y, m)\nint main() { const int z = 100; RUN(32, z); }",
        f"int main() {{ int a[] = {{4, 100}}; for (int i = 0; i < 2; i++) {LAUNCH}a[i]); }}",
        "int main() { cudaLaunchConfig_t c; cudaLaunchKernelEx(&c, k, x, y, 100); }",
        "int main() { int n = 100; void *a[] = {(void *) &x, &y, &n};\n"
        "cudaLaunchKernel((void *) k, 1, 32, a, 0, 0); }",
    ],
)
def test_the_largest_number_is_found(host: str, tmp_path: Path) -> None:
    found = given(tmp_path, host)
    assert found is not None
    assert found[0] == 100


@pytest.mark.parametrize(
    "host",
    [
        f"int main() {{ int n = 100; {LAUNCH}std::min(n, 8)); }}",
        f"int main() {{ int a[] = {{4, 100}}; {LAUNCH}a[0]); }}",
        f"int size() {{ return 100; }}\nint main() {{ {LAUNCH}size()); }}",
        "void f(int b, int n) { int m = n / 50; k<<<1, b>>>(x, y, m); }",
        f"void f(int n) {{ n = 4 < n ? 4 : 3; {LAUNCH}n); }}\n",
    ],
)
def test_what_calls_and_elements_make_of_numbers_is_not_said(host: str, tmp_path: Path) -> None:
    found = given(tmp_path, host)
    assert found is None or found[0] < 100


def test_the_launch_is_told(tmp_path: Path) -> None:
    assert given(tmp_path, f"int main() {{\n  int n = 100;\n  {LAUNCH}n);\n}}") == (100, 3)


@pytest.mark.parametrize(
    ("host", "number"),
    [
        (f"void f(int m) {{ int n = 1; while (n * 2 <= m) n *= 2; {LAUNCH}n); }}", None),
        (f"int main() {{ int n = 1; while (n < 64) n *= 2; {LAUNCH}n); }}", 63),
        (f"int main(int c, char **v) {{ int n = 40; if (c > 1) n += c; {LAUNCH}n); }}", 40),
    ],
)
def test_what_grows_in_a_loop_is_not_what_it_begins_with(
    host: str, number: int | None, tmp_path: Path
) -> None:
    found = given(tmp_path, host)
    assert (found[0] if found is not None else None) == number


@pytest.mark.parametrize(
    "number",
    ["-3", "- 3", "(-3)", "-LESS", "2 - 5", "LESS - 6", "-(LESS - 0)", "-1 * LESS", "OPEN - 6"],
)
@pytest.mark.parametrize("form", ["{}", "f({})", "m = {}"])
def test_a_negative_number_is_one(tmp_path: Path, number: str, form: str) -> None:
    host = "#define LESS 3\n#define OPEN 4 - 1\nvoid f(int n);\n"
    where = {
        "{}": f"int main() {{ {LAUNCH}{number}); }}",
        "f({})": f"void f(int n) {{ {LAUNCH}n); }} int main() {{ f({number}); }}",
        "m = {}": f"int main() {{ int m = {number}; {LAUNCH}m); }}",
    }[form]
    found = given(tmp_path, host + where)
    if "OPEN" in number:
        assert found is None, "its text is more than one operand"
    else:
        assert found == (-3, 4)


@pytest.mark.parametrize("number", ["--m", "-7 / 2", "-7 % 4", "1 << -3", "(2 - 5) << 1"])
def test_what_is_read_otherwise_in_python_is_no_number(tmp_path: Path, number: str) -> None:
    assert given(tmp_path, f"int main() {{ const int m = 3; {LAUNCH}{number}); }}") != (-3, 1)
    host = f"int main() {{ const int m = 3; const int n = {number}; {LAUNCH}n); }}"
    assert given(tmp_path, host) is None
