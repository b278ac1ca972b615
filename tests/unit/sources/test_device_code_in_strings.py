"""Kernels in strings of C++ are found; what only mentions them is not."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from lmemscope.discover.cpp_files import may_be_included
from lmemscope.sources.cuda import read_cuda_source
from tests.support.program import run_program

BODY = "(int *p) { *p = 1; }"
HELD = {
    "raw": f'auto s = R"(\n__global__ void k{BODY}\n)";',
    "raw with a delimiter": f'auto s = R"cu(\nextern "C" __global__ void k{BODY}\n)cu";',
    "raw with a prefix": f'auto s = u8R"(template <typename T> __global__ void k{BODY})";',
    "one line": f'const char *s = "extern \\"C\\" __global__ void k{BODY}";',
    "adjacent": 'const char *s = "__global__ void k(int *p)\\n"  // the head\n  "{ *p = 1; }\\n";',
    "a word in two": f'const char *s = "__glo" "bal__ void k{BODY}";',
    "a word in two lines": f'const char *s = "__global_" // _\n  "_ void k{BODY}";',
    "a word by a macro": f'#define G "__global__"\nconst char *s = G " void k{BODY}";',
    "behind code": f'const char *s = "struct S; static __global__ void k{BODY}";',
    "bounds": f'auto s = "__global__ __launch_bounds__(128) void k{BODY}";',
    "a macro": '#define SRC "__global__ void k(int *p)" \\\n  "{ *p = 1; }"\n',
    "parts": '#include <nvrtc.h>\nauto s = "__global__ void " + name + "(int *p) {}";',
    "PTX": 'auto s = R"(.version 8.0\n.target sm_90\n.visible .entry k() { ret; }\n)";',
    "PTX by lines": 'auto s = ".version 8.0\\n" ".target sm_90\\n" ".entry k() { ret; }\\n";',
}
ORDINARY = {
    "a message": 'throw Error("a __global__ function must return void {}");',
    "a form": 'throw Error("expected __global__ void NAME(PARAMETERS) { BODY }");',
    "a declaration": 'auto s = "__global__ void k(int *p);";',
    "a message of NVRTC's": '#include <nvrtc.h>\nlog("found no __global__ void in " + name);',
    "comments": '// "__global__ void k() {}"\n/* R"(__global__ void k() {})" */',
    "taken out": '#if 0\nauto s = "__global__ void k() {}";\n#endif',
    "a search": 'if (text.find("__global__") != npos && text.find(".entry") != npos) {}',
    "assembly": 'asm("mov.u32 %0, %1;" : "=r"(a) : "r"(b)); auto v = ".version";',
}


@pytest.mark.parametrize("form", HELD)
def test_device_code_is_found(form: str, tmp_path: Path) -> None:
    source = read_cuda_source(f"int before;\n{HELD[form]}\n")
    assert len(source.strings) == 1
    assert source.strings[0] in (2, 3)
    (tmp_path / "a.cpp").write_text(HELD[form])
    assert may_be_included(str(tmp_path / "a.cpp"))


@pytest.mark.parametrize("form", ORDINARY)
def test_a_mention_is_not_device_code(form: str, tmp_path: Path) -> None:
    assert read_cuda_source(ORDINARY[form]).strings == ()
    (tmp_path / "a.cpp").write_text(ORDINARY[form])
    assert not may_be_included(str(tmp_path / "a.cpp"))


@pytest.mark.parametrize(
    "text",
    [
        '"__global__ "' * 30_000,
        'R"(__global__ void )"' * 30_000,
        "#define a " * 30_000 + '"__global__"',
        '"' + "__global__ void " * 30_000 + '"',
        '"' + " " * 300_000 + '__global__ void k() {"',
        '"\\\\"' * 30_000 + '"__global__ void k() {}"',
    ],
)
def test_the_search_takes_time_in_proportion(text: str) -> None:
    started = time.process_time()
    read_cuda_source(f"nvrtc {text}\n")
    assert time.process_time() - started < 5


@pytest.mark.toolchain
def test_the_gate_says_what_is_not_compiled(tmp_path: Path) -> None:
    kernel = f"__global__ void plain{BODY}\n"
    stringified = f"#define STR(...) #__VA_ARGS__\nauto s = STR(__global__ void hidden{BODY});\n"
    (tmp_path / "a.cu").write_text(kernel)
    assert run_program("check", ".", cwd=tmp_path).code == 0
    for name, text in (("h.cuh", HELD["raw"]), ("b.cpp", HELD["raw"]), ("b.cu", stringified)):
        (tmp_path / name).write_text(text)
        (tmp_path / "a.cu").write_text(f'#include "h.cuh"\n{kernel}' if name == "h.cuh" else kernel)
        done = run_program("check", ".", cwd=tmp_path)
        assert done.code == 3, name
        assert name in done.out
        note = run_program("check", ".", "--uninstantiated", "note", cwd=tmp_path)
        assert note.code == 0, name
        (tmp_path / name).unlink()
