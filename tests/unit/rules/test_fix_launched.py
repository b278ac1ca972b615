"""How large the blocks are that a project launches a kernel with, wherever it says so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lmemscope.discover.project import project_sources
from lmemscope.model import SourceLocation, SourceText
from lmemscope.rules.launched import block_of_kernel
from lmemscope.rules.launched_elsewhere import largest_launch
from tests.support.builders import changed, facts
from tests.support.program import run_program

KERNEL = "__global__ void own(int *p) { }\n"


def largest(**files: str) -> int | None:
    texts = {f"/p/{name}.cu": text.splitlines() for name, text in files.items()}

    def mentioning(_: str, word: str) -> tuple[str, ...]:
        return tuple(file for file, lines in texts.items() if word in "\n".join(lines))

    sources = SourceText(lambda file: texts.get(file, []), mentioning=mentioning)
    return largest_launch(("own",), "/p/a.cu", sources)


@pytest.mark.parametrize(
    ("main", "threads"),
    [
        ("void m() { Config cfg;\n cfg.threads = 256;\n run(&cfg); }", 256),
        ("void m(Config *c) { c->threads = 96;\n c->threads = 128; }", 128),
        ("void m() { int threads = 512; }", None),
    ],
)
def test_a_member_is_given_its_value_in_another_file(main: str, threads: int | None) -> None:
    host = "void go(int threads) { own<<<4, threads>>>(p); }\nvoid run(Config *c) {\n"
    assert largest(a=KERNEL, b=f"{host} go(c->threads); }}", c=main) == threads


@pytest.mark.parametrize(
    ("host", "threads"),
    [
        ("void f() { C c = {}; c.block = 256; go(&c, c.block); C d; d.block = 512; }", 256),
        ("void f() { C c[2]; c[0].block = 96; c[1].block = 64; go(&c, c[n].block); }", 96),
        ("void f(C *c) { go(c, c->block); }\nvoid g() { C of; of.block = 128; f(&of); }", 128),
        ("void f(C *c) { go(c, c->block); }", 1024),
    ],
)
def test_a_member_is_that_of_its_object_where_something_gives_it(host: str, threads: int) -> None:
    head = "void go(C *c, int n) { own<<<4, n>>>(p); }\n"
    other = "void h() { E e; e.block = 1024; e.other(); }"
    assert largest(a=KERNEL + head + host, b=other) == threads


@pytest.mark.parametrize(
    ("host", "threads"),
    [
        ("void f() { own<<<4, 96>>>(p); }", 96),
        ("void f() { const int n = 512;\n own<<<4, n>>>(p); }", 512),
        ("void f() { dim3 block(16, 16);\n own<<<4, block>>>(p); }", 256),
        ("void f(int n) { own<<<4, n>>>(p); }\nvoid g() { f(384); }", 384),
        ("void f(int n) { own<<<4, n>>>(p); }\nvoid g() { const int m = 640;\n f(m); }", 640),
        (
            "void f(int a) { int top = 1024;\n int m = a < top ? a : top;\n own<<<4, m>>>(p); }",
            1024,
        ),
        (
            "void f() { size_t n = of.threads;\n n = device.maxThreadsPerBlock;\n"
            " own<<<4, n>>>(p); }",
            1024,
        ),
        (
            "void f() { int n, g; cudaOccupancyMaxPotentialBlockSize(&g, &n, own);\n"
            " own<<<g, n>>>(p); }",
            1024,
        ),
        ("#define WARPS 4\n#define LANES 48\nvoid f() { own<<<4, WARPS * LANES>>>(p); }", 192),
        ("void f() { int all = 2048, few = 32;\n dim3 n(all / few);\n own<<<4, n>>>(p); }", 64),
        ("void f() { int all = 2048, few = 32;\n few = 16;\n own<<<4, all / few>>>(p); }", 128),
        ("void f(int few) { own<<<4, 2048 / few>>>(p); }", None),
        (
            "__global__ void k(int i) { for (int n = i - 4; n <= i + 4; ++n) p[n] = i; }\n"
            "int main() { for (int n : {96, 288})\n own<<<4, n>>>(p); }",
            288,
        ),
        (
            "__global__ void k(int i) { int n = 1000; for (; n < i; n++) p[n] = i; }\n"
            "void f(int n) { own<<<4, n>>>(p); }\nint main() { f(320); }",
            320,
        ),
        (
            "void f() { int n = 64;\n if (q) n = 96;\n else n = 448;\n own<<<4, n>>>(p); }",
            448,
        ),
        (
            "void f(int n) { own<<<4, n>>>(p); }\n"
            "int main() { for (int i = 1; i <= 512; i *= 2) f(i); }",
            512,
        ),
        ("void f() { for (int i = 1; i < 9; i++) own<<<4, i>>>(p); }", 8),
        ("void f(int n) { for (int i = 1; i < n; i++) own<<<4, i>>>(p); }", None),
        ("void f(int n) { own<<<4, n>>>(p); }", None),
        ("void f() { other<<<4, 512>>>(p); }", None),
        ("void f() { // own<<<4, 512>>>(p);\n}", None),
    ],
)
def test_a_block_is_followed_through_variables_and_parameters(
    host: str, threads: int | None
) -> None:
    assert largest(a=KERNEL, b=host) == threads


def test_the_largest_of_several_launches_counts() -> None:
    assert (
        largest(
            a=f"{KERNEL}void f() {{ own<<<1, 64>>>(p); }}", b="void g() { own<<<1, 192>>>(p); }"
        )
        == 192
    )


def test_a_program_with_a_kernel_of_that_name_launches_its_own() -> None:
    assert largest(a=KERNEL, b=f"{KERNEL}void f() {{ own<<<1, 512>>>(p); }}") is None


@pytest.mark.parametrize(
    ("launches", "shared"),
    [
        ("own<<<1, 64>>>(p);", 0),
        ("own<<<1, 64, 0, stream>>>(p);", 0),
        ("const int n = 96;\n own<<<1, 64, n * sizeof(float)>>>(p);", 384),
        ("own<<<1, 64, 2 * sizeof( unsigned  long long )>>>(p); own<<<1, 64, 8>>>(p);", 16),
        ("own<<<1, 64, 8>>>(p); own<<<1, 64, bytes>>>(p);", None),
        ("const int each = sizeof(double);\n own<<<1, 64, 4 * each>>>(p);", 32),
        ("own<<<1, 64, 4 * sizeof(Node)>>>(p);", None),
        ("own<<<1, 64, 4 * sizeof(int8)>>>(p);", None),
        ("own<<<1, 64, 4 * sizeof(long)>>>(p);", None),  # Its size differs between hosts.
    ],
)
def test_dynamic_shared_memory_is_the_most_that_launches_ask_for(
    launches: str, shared: int | None, tmp_path: Path
) -> None:
    path = tmp_path / "a.cu"
    path.write_text(f"{KERNEL}void f() {{ {launches} }}\n")
    own = changed(facts("own(int *)"), location=SourceLocation(str(path), 1))
    block = block_of_kernel(own, SourceText(lambda file: path.read_text().splitlines()))
    assert block is not None
    assert (block.threads, block.dynamic_shared) == (64, shared)


def test_only_what_a_file_does_not_give_a_name_is_looked_for_in_others() -> None:
    launch = "void f() { if (q) n = 96;\n else n = 128;\n own<<<1, n>>>(p); }"
    assert largest(a=KERNEL, b=launch, c="void g() { int n = 512; }") == 128
    assert largest(a=KERNEL, b="void f() { own<<<1, n>>>(p); }", c="int n = 512;") == 512


@pytest.mark.parametrize("word", ["if", "if constexpr", "while", "switch"])
def test_a_condition_gives_its_names_nothing(word: str) -> None:
    launch = f"void f(bool n) {{ {word} (n) {{ own<<<1, n>>>(p); }} }}"
    assert largest(a=KERNEL, b=launch, c=f"void g() {{ {word} (512) {{ }} }}") is None


def test_a_name_that_is_given_itself_ends() -> None:
    assert largest(a=KERNEL, b="void f(int n) { n = n; own<<<4, n>>>(p); f(n); }") is None


def test_the_sources_of_a_checkout_belong_to_it(tmp_path: Path) -> None:
    for name in (
        ".git/x.cu",
        "a/own.cu",
        "host/main.cpp",
        "build/made.cu",
        ".hidden/b.cu",
        "a/read.md",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "a" / "link.cu").symlink_to(tmp_path / "a" / "own.cu")
    found = project_sources(str(tmp_path / "a" / "own.cu"))
    assert found == (str(tmp_path / "a" / "own.cu"), str(tmp_path / "host" / "main.cpp"))


def test_without_a_checkout_the_working_directory_is_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("work/a/own.cu", "work/main.cu", "other.cu"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    own = str(tmp_path / "work" / "a" / "own.cu")
    monkeypatch.chdir(tmp_path / "work")
    assert project_sources(own) == (own, str(tmp_path / "work" / "main.cu"))
    monkeypatch.chdir(tmp_path / "work" / "a")
    assert project_sources(own) == (own,)


@pytest.mark.toolchain
def test_a_larger_launch_in_sight_counts_whatever_the_user_says_of_blocks(tmp_path: Path) -> None:
    """``--block 256`` beside a launch of 1,024 threads: the array would be overrun."""
    (tmp_path / "a.cu").write_text(
        "static __global__ void k(const int *in, int *out, int n) {\n"
        "  int g = blockIdx.x * blockDim.x + threadIdx.x, s = 0;\n"
        "  int a[6] = {};\n"
        "  for (int i = 0; i < 12; i++) a[in[i * n + g] % 6] += i + 1;\n"
        "  for (int i = 0; i < 6; i++) s = s * 3 + a[i];\n"
        "  out[g] = s;\n}\n"
        "void go(const int *in, int *out, int n) {\n"
        "  dim3 b(64);\n  b.x = 1024;\n  k<<<n, b>>>(in, out, n);\n}\n"
    )
    done = run_program("fix", "a.cu", "--block", "256", "--format", "json", cwd=tmp_path)
    (one,) = [c for c in done.document["candidates"] if c["rewrite"] == "shared-memory"]
    assert one["applicability"] == "unsafe"
    assert one["after"]["shared"] == 6 * 4 * 1024


@pytest.mark.parametrize(
    ("before", "launched", "threads"),
    [
        # An element is one of its list, whatever selects it.
        ("int sizes[] = {64, 128, 256};", "for (int i = 0; i < 3; ++i) LAUNCH(sizes[i])", 256),
        ("std::vector<int> sizes{64, 96};", "for (int i = 0; i < 2; ++i) LAUNCH(sizes[i])", 96),
        ("dim3 d[2] = {dim3(8, 8), dim3(32, 4)};", "LAUNCH(d[0]) LAUNCH(d[1])", 128),
        ("int first[] = {64, 128}; int i = 512;", "LAUNCH(first[i % 2])", 128),
        # What is made larger is launched with up to what ends that.
        ("int b = 32;", "while (b <= 512) { LAUNCH(b) b *= 2; }", 512),
        ("int b = 32;", "do { LAUNCH(b) b += b; } while (b < 513);", 512),
        ("int b = 32;", "again: LAUNCH(b) b <<= 1; if (b <= 256) goto again;", 256),
        # It is compared, and stays as it is.
        ("int b = 32;", "if (b <= 512) LAUNCH(b)", 32),
        ("int b = 32; int c = 0;", "while (c <= 512) { LAUNCH(b) c += b; }", 32),
    ],
)
def test_elements_and_steps_tell_blocks(before: str, launched: str, threads: int) -> None:
    launched = re.sub(r"LAUNCH\(([^()]*)\)", r"own<<<4, \1>>>(0);", launched)
    assert largest(a=f"{KERNEL}void run() {{\n  {before}\n  {launched}\n}}\n") == threads
