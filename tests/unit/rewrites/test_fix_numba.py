"""Rewrites of Numba kernels: what is edited, what is declined, what comes of it when compiled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from lmemscope.model import LaunchBounds
from lmemscope.rewrites import said
from lmemscope.rewrites.numba import proposals
from tests.conftest import Once
from tests.support.numba_rewriting import after, needs_numba, numba_target, tried
from tests.support.program import run_program

HEAD = """\
from numba import cuda, float32, int32

SIZE = 24
"""
KERNEL = f"""\
{HEAD}

@cuda.jit("void(float32[::1], float32[::1])", launch_bounds=64)
def k(x, out):
    i = cuda.grid(1)
    a = cuda.local.array(24, float32)  # mine
    for j in range(24):
        a[j] = x[j] * i
    at = int32(x[i]) % 24
    a[at] += 1
    out[i] = a[(at + 5) % 24]
"""


def test_elements_are_in_a_column() -> None:
    made = after(KERNEL, "shared-memory")
    lane = (
        "cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * "
        "cuda.threadIdx.z)"
    )
    expected = KERNEL.replace(
        "    a = cuda.local.array(24, float32)  # mine\n",
        f"    a_lmem = cuda.shared.array((24, 64), float32)\n    a_lane = {lane}  # mine\n",
    )
    for index in ("j", "at", "(at + 5) % 24"):
        expected = expected.replace(f"a[{index}]", f"a_lmem[{index}, a_lane]")
    assert made == expected
    assert tried(KERNEL)[0]["shared-memory"].applicability == "safe"


def test_who_takes_the_whole_gets_a_view() -> None:
    callee = "@cuda.jit(device=True)\ndef f(b, n):\n    b[n] = b.size + len(b)\n\n\n"
    text = KERNEL.replace("@cuda", f"{callee}@cuda", 1).replace("a[at] += 1", "f(a, at)")
    made = after(text, "shared-memory")
    assert "    a = a_lmem[:, a_lane]  # mine\n" in made
    assert "    f(a, at)\n" in made
    assert callee in made


def test_several_dimensions_have_one_more() -> None:
    text = KERNEL.replace("array(24, float32)", "array(shape=(SIZE, 1), dtype=float32)")
    for index in ("j", "at", "(at + 5) % 24"):
        text = text.replace(f"a[{index}]", f"a[{index}, 0 ]")
    made = after(text, "shared-memory")
    assert "a_lmem = cuda.shared.array((SIZE, 1, 64), float32)\n" in made
    assert "a_lmem[at, 0 , a_lane] += 1" in made


def test_loops_are_written_out() -> None:
    found = tried(KERNEL)[0]["unroll"]
    assert (found.applicability, found.caveat) == ("safe", None)
    copies = "".join(f"    j = {j}\n    a[j] = x[j] * i\n" for j in range(24))
    loop = "    for j in range(24):\n        a[j] = x[j] * i\n"
    assert after(KERNEL, "unroll") == KERNEL.replace(loop, copies)
    named = tried(KERNEL.replace("range(24)", "range(SIZE)"))[0]["unroll"]
    assert named.applicability == "unsafe"
    assert named.caveat == "no other module gives SIZE another value"


@pytest.mark.parametrize(
    ("first", "step", "applicability"),
    [
        ("s = x[0]", "s = s * s + j", "unsafe"),  # A `float32` that becomes a `float64`.
        ("s = float32(1)", "s += x[j]", "unsafe"),
        ("s = 0", "s = s * 3 + x[j]", "unsafe"),
        ("s = 0", "if x[j] > 0: s = x[j]", "unsafe"),
        ("s = 0.5", "s += x[j]", "safe"),
        ("s = 0.5", "s = x[j] - s * s", "safe"),
        ("s = 2", "s = s * 3 + j", "safe"),
        ("s = float32(1)", "s = float32(s * x[j])", "safe"),
        ("s = 0.5", "s = x[j]", "safe"),
        ("s = x[0]", "s = x[j] * 2", "safe"),  # Nothing of it is carried.
    ],
)
def test_what_a_loop_carries_keeps_its_type(first: str, step: str, applicability: str) -> None:
    head, body = "    for j in range(24):\n", "        a[j] = x[j] * i\n"
    text = KERNEL.replace(head + body, f"    {first}\n{head}        {step}\n{body}")
    found = tried(text)[0]["unroll"]
    assert found.applicability == applicability
    told = "values of one type are all that is given to `s`"
    assert found.caveat == (told if applicability == "unsafe" else None)


def test_loops_in_loops_are_written_out_together() -> None:
    loop = """\
    for j in range(1, 5, 2):
        # what é is
        for m in range(-1, 1):
            a[j + m] = (
        m)  # each
        x[j] = 0
"""
    text = KERNEL.replace("    for j in range(24):\n        a[j] = x[j] * i\n", loop)
    made = after(text, "unroll")
    inner = "    m = {}\n    a[j + m] = (\n        m)  # each\n"
    both = inner.format(-1) + inner.format(0)
    assert "".join(f"    j = {j}\n{both}    x[j] = 0\n" for j in (1, 3)) in made
    assert "for " not in made


@pytest.mark.parametrize(
    ("before", "behind"),
    [("\n", "\r\n"), ("    ", "\t"), ("# mine", "# é"), ("from numba", "é = 1\nfrom numba")],
)
def test_bytes_stay_where_they_are(before: str, behind: str) -> None:
    for rewrite in ("shared-memory", "unroll"):
        made = after(KERNEL.replace(before, behind).encode(), rewrite)
        assert made == after(KERNEL, rewrite).replace(before, behind)


@pytest.mark.parametrize(
    ("before", "behind", "why"),
    [
        ("a[at] += 1", "a = x", "its name is given another value, too"),
        ("a[at] += 1", "b = a", "line 13 uses it as a whole"),
        ("a[at] += 1", "a[:] = 1", "line 13 takes a part of it"),
        ("a[at] += 1", "a[at,] += 1", "line 13 writes its index in an odd way"),
        ("a[at] += 1", "len(a.T)", "line 13 uses it as a whole"),
        ("a[at] += 1", "f(a)", "line 13 passes it to f, which cannot be seen"),
        ("a[at] += 1", "f(b=a)", "line 13 uses it as a whole"),
        ("a[at] += 1", "f = lambda: a[0]", "line 13 captures it in a function"),
        ("i = cuda", "a_lane = 1; i = cuda", "the name a_lane is taken"),
        ("    a = ", "    i = 1; a = ", "its assignment shares a line with another statement"),
        ("24, float32", "24, float32, 16", "has other arguments than a shape and a type"),
        ("    a = ", "    a = b = ", "it is not assigned the array alone"),
        ("def k(", "def k(a):\n    pass\n\n\ndef k(", "the file defines k more than once"),
        ("@cuda", "@wrapped\n@cuda", "the kernel has another decorator, too"),
    ],
)
def test_what_may_need_more_than_a_column_is_declined(before: str, behind: str, why: str) -> None:
    found, reasons = tried(KERNEL.replace(before, behind, 1))
    assert "shared-memory" not in found
    assert why in reasons


def test_a_function_that_needs_more_is_seen() -> None:
    for body in ("return b", "b = 1", "b[1:]", "f(b)"):
        callee = f"def f(b):\n    {body}\n\n\n@cuda"
        text = KERNEL.replace("@cuda", callee, 1).replace("a[at] += 1", "f(a)")
        assert "shared-memory" not in tried(text)[0], body


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("if i:\n            break", "is left early"),
        ("while i:\n            i -= 1\n        else:\n            break", "is left early"),
        ("j = 3", "gives its variable another value"),
        ("a[j] = 2 ** j", "holds a power"),
        ("b = cuda.local.array(3, int32)", "holds an array of its own"),
        ("i = 1; i = 2", "holds two statements"),
        ("'''a\n'''", "holds a string of several lines"),
        ("f = lambda: j", "holds a function"),
    ],
)
def test_what_is_no_plain_loop_is_not_written_out(body: str, why: str) -> None:
    found, reasons = tried(KERNEL.replace("a[j] = x[j] * i", f"a[j] = x[j] * i\n        {body}"))
    assert "unroll" not in found
    assert why in reasons


@pytest.mark.parametrize(
    "head", ["for j in range(n)", "for j in x", "for j in range(999)", "for j in prange(24)"]
)
def test_a_range_that_is_not_known_or_long_is_left(head: str) -> None:
    assert "unroll" not in tried(KERNEL.replace("for j in range(24)", head))[0]


@pytest.mark.parametrize(
    "more", ["SIZE = 3\n", "def g():\n    global SIZE\n", "def g(SIZE): ...\n"]
)
def test_a_name_that_is_bound_twice_is_no_constant(more: str) -> None:
    text = KERNEL.replace("range(24)", "range(SIZE)").replace("\n\n@", f"\n\n{more}\n\n@")
    assert "unroll" not in tried(text)[0]


@pytest.mark.parametrize(
    ("launch", "block", "caveat"),
    [
        ("", None, None),
        ("k[1, 32](x, y)", None, "no block that runs it has more than 32 threads"),
        ("k[1, (8, SIZE)](x, y)", None, "no block that runs it has more than 192 threads"),
        ("k[1, 32](x, y)", 128, ""),
        ("k[1, 128](x, y)", 32, "no block that runs it has more than 128 threads"),
        ("k[1, n](x, y)", None, None),
        ("f(k)", 32, ""),
        ("k[1, 32, 0, 64](x, y)", 32, "it fits beside the dynamic shared memory"),
        ("b = cuda.shared.array(0, int32)", 32, "it fits beside the dynamic shared memory"),
        ("g = cuda.cg.this_grid()", 32, "launched grids still fit the device"),
    ],
)
def test_a_promise_is_stated(launch: str, block: int | None, caveat: str | None) -> None:
    found, reasons = tried(f"{KERNEL}\n\n{launch}\n", block)
    if caveat is None:
        assert "nothing says how many threads a block has" in reasons
        return
    rewriting = found["shared-memory"]
    assert rewriting.applicability == ("unsafe" if caveat else "safe")
    assert (rewriting.caveat or "").startswith(caveat)


def test_launch_bounds_hold_where_nobody_calls_the_kernel() -> None:
    (_, shared), _ = proposals(numba_target(KERNEL, bounds=LaunchBounds(64, None)))
    assert (shared.rewrite, shared.applicability) == ("shared-memory", "unsafe")
    assert (shared.caveat or "").startswith("no kernel of another module calls it")
    called = f"{KERNEL}\n\n@cuda.jit\ndef outer(x, y):\n    k(x, y)\n"
    found, why = proposals(numba_target(called, bounds=LaunchBounds(64, None)))
    assert [one.rewrite for one in found] == ["unroll"]
    assert "calls k as a function, in blocks of another kernel's" in said(why)


@pytest.mark.parametrize("use", ["h: object = k", "h, _ = k, 1", "print(h := k)", "f(k)"])
def test_a_kernel_with_another_name_is_in_nobodys_blocks(use: str) -> None:
    target = numba_target(f"{KERNEL}\n\n{use}\n", bounds=LaunchBounds(64, None))
    found, why = proposals(target)
    assert "shared-memory" not in {one.rewrite for one in found}
    assert "uses k in another way" in said(why)


def test_a_launch_of_another_variable_of_that_name_is_none() -> None:
    found, why = tried(f"{KERNEL}\n\ndef other(k):\n    return k[0, 4]\n", None)
    assert "shared-memory" not in found
    assert "nothing says how many threads a block has" in why


def test_a_block_is_known_by_the_function_that_launches() -> None:
    text = f"{KERNEL}\n\ndef main(x, y):\n    threads = 32\n    k[1, threads](x, y)\n"
    assert "2560 bytes for 32 threads" in tried(text, None)[0]["shared-memory"].summary


def test_both_promises_are_stated() -> None:
    text = f"{KERNEL}\n\nk[1, 32, 0, 64](x, y)\n"
    assert tried(text, None)[0]["shared-memory"].caveat == (
        "no block that runs it has more than 32 threads; it fits beside the dynamic shared "
        "memory that launches ask for"
    )


@pytest.mark.parametrize(("first", "is_promised"), [(1, False), (2**63 - 1, False), (2**63, True)])
def test_an_integer_too_large_for_int64_is_of_another_type(first: int, is_promised: bool) -> None:
    text = KERNEL.replace("    for j", f"    s = {first}\n    for j").replace(
        "x[j] * i\n", "x[j] * i\n        s = s + 1\n"
    )
    caveat = tried(text)[0]["unroll"].caveat or ""
    assert ("all that is given to `s`" in caveat) == is_promised


# Compiled, and run by Numba's simulator, which needs no GPU.

HISTOGRAM = """\
from numba import cuda, int32


@cuda.jit("void(uint8[:, ::1], int32[:, ::1])", launch_bounds=64)
def k(x, out):
    a = cuda.local.array(64, int32)
    for j in range(64):
        a[j] = 0
    for n in range(x.shape[0]):
        a[x[n, cuda.grid(1)] & 63] += 1
    for j in range(64):
        out[j, cuda.grid(1)] = a[j]
"""
ROLLED = """\
import math

from numba import cuda, float32


@cuda.jit(device=True)
def first(a):
    return a[0, 0] + len(a)


@cuda.jit("void(float32[:, ::1], float32[:, ::1])", launch_bounds=64)
def k(x, out):
    a = cuda.local.array((1, 60), float32)
    i = cuda.grid(1)
    for m in range(1):
        for j in range(60):
            a[m, j] = x[j, i] * (m + 1)
    for n in range(x.shape[0]):
        for j in range(60):
            for m in range(1):
                e = math.log(a[m, 59 - j]) / math.sqrt(x[n, i] + j)
                a[m, j] = math.exp(e + math.erf(x[n, j]))
    s = 0.0 + first(a)
    for j in range(60):
        s += a[0, j]
    out[0, i] = s
"""
SIMULATED = """\
import runpy, sys
import numpy
for path in sys.argv[1:]:
    k = runpy.run_path(path)["k"]
    x = numpy.random.default_rng(1).integers(1, 256, (64, 128))
    x = x.astype(numpy.{type})
    out = numpy.zeros((64, 128), numpy.{result})
    k[2, 64](x, out)
    print(out.any(), out.tobytes().hex())
"""


def simulated(directory: Path, texts: Sequence[str], kind: str, result: str) -> list[str]:
    """What the kernel of each text computes, by one start of the simulator."""
    paths = [directory / f"simulated_{number}.py" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        # The simulator knows no launch bounds.
        path.write_text(text.replace(", launch_bounds=64", ""))
    script = SIMULATED.format(type=kind, result=result)
    done = subprocess.run(
        [sys.executable, "-c", script, *paths],
        cwd=directory,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = done.stdout.splitlines()
    assert all(one.startswith("True ") for one in found)
    return found


@pytest.fixture
def saved(once: Once, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """What `fix` saves of a file, which is asked once: each of its trials starts Numba."""

    def made(source: str) -> str:
        directory = tmp_path_factory.mktemp("numba")
        (directory / "k.py").write_text(source)
        arguments = ("k.py", "--run-python", "--timeout", "300", "-o", "fix.json")
        done = run_program("fix", *arguments, cwd=directory)
        assert done.code == 0, done.err
        return (directory / "fix.json").read_text()

    return lambda source: once(f"numba-{zlib.crc32(source.encode())}", lambda: made(source))


@needs_numba
@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("source", "kind", "result", "best", "removed"),
    [
        (HISTOGRAM, "uint8", "int32", ["shared-memory"], {"shared-memory"}),
        (ROLLED, "float32", "float32", ["unroll"], {"unroll", "shared-memory"}),
    ],
)
def test_candidates_are_compiled_and_compute_the_same(
    tmp_path: Path,
    saved: Callable[[str], str],
    source: str,
    kind: str,
    result: str,
    best: list[str],
    removed: set[str],
) -> None:
    (tmp_path / "k.py").write_text(source)
    found = {one["rewrite"]: one for one in json.loads(saved(source))["candidates"]}
    assert {name for name, one in found.items() if one["verdict"] == "removed"} == removed
    assert [name for name, one in found.items() if one["rank"] == 1] == best
    unsafe = {name for name, one in found.items() if one["applicability"] == "unsafe"}
    assert unsafe == {"shared-memory"}
    assert found["shared-memory"]["after"]["stack_frame"] == 0
    assert found["shared-memory"]["after"]["shared"] > 0
    texts = [source]
    for one in found.values():
        subprocess.run(["git", "apply"], cwd=tmp_path, input=one["patch"], text=True, check=True)
        texts.append((tmp_path / "k.py").read_text())
        assert texts[-1] != source
        (tmp_path / "k.py").write_text(source)
    wanted, *computed = simulated(tmp_path, texts, kind, result)
    assert dict.fromkeys(found, wanted) == dict(zip(found, computed, strict=True))


@needs_numba
@pytest.mark.toolchain
def test_nothing_is_run_that_nobody_asked_to_run(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(f"open('ran', 'w')\n{HISTOGRAM}")
    done = run_program("fix", "k.py", cwd=tmp_path)
    assert done.code == 3
    assert "--run-python" in done.err
    assert not (tmp_path / "ran").exists()


@needs_numba
@pytest.mark.toolchain
def test_the_patch_is_written_and_shown(tmp_path: Path, saved: Callable[[str], str]) -> None:
    (tmp_path / "k.py").write_text(HISTOGRAM)
    (tmp_path / "fix.json").write_text(saved(HISTOGRAM))
    tried_now = run_program("explain", "k.py", "--run-python", "--fix", cwd=tmp_path)
    shown = run_program("explain", "k.py", "--run-python", "--fix-from", "fix.json", cwd=tmp_path)
    assert "Proven fix: Keep `a` in shared memory, 16384 bytes for 64 threads" in shown.out
    assert (shown.out, shown.err) == (tried_now.out, "")
    candidates = json.loads((tmp_path / "fix.json").read_text())["candidates"]
    (patch,) = [one["patch"] for one in candidates if one["rank"] == 1]
    subprocess.run(["git", "apply"], cwd=tmp_path, input=patch, text=True, check=True)
    scanned = run_program("scan", "k.py", "--run-python", "--format", "json", cwd=tmp_path)
    assert [one["stack_frame"] for one in scanned.document["units"][0]["kernels"]] == [0]


@needs_numba
@pytest.mark.toolchain
def test_what_a_file_imports_decides_too(tmp_path: Path) -> None:
    (tmp_path / "sizes.py").write_text("SIZE = 64\n")
    text = HISTOGRAM.replace("array(64,", "array(SIZE,").replace(
        "int32\n", "int32\nfrom sizes import SIZE\n", 1
    )
    # A range that is not known, for one trial.
    text = text.replace("range(64)", "range(out.shape[0])")
    (tmp_path / "k.py").write_text(text)
    arguments = ("fix", "k.py", "--run-python", "--format", "json")

    def found() -> tuple[int, object]:
        document = run_program(*arguments, cwd=tmp_path).document
        (one,) = [c for c in document["candidates"] if c["rewrite"] == "shared-memory"]
        return one["after"]["shared"], document["units"][0]["files"]

    assert found() == (64 * 64 * 4, None)
    (tmp_path / "sizes.py").write_text("SIZE = 80\n")
    assert found() == (80 * 64 * 4, None), "no cache knows what it imports"
