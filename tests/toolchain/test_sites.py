"""Local-memory instructions and line tables read from bytes, against nvdisasm."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from lmemscope.analysis.layers import parse
from lmemscope.errors import FormatError
from lmemscope.formats import sass
from lmemscope.formats.cubin import Cubin
from lmemscope.formats.float_code import float_operations
from lmemscope.formats.line_table import line_at
from lmemscope.formats.sites import STACK_POINTER, Site
from lmemscope.lowering.lower import lower
from lmemscope.model import Artifacts, Unit, reader_line
from lmemscope.tools import nvdisasm, nvrtc
from tests.support.printed_lines import printed_lines

ARCHS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120", "sm_121")
ManyForms = Callable[[str], Artifacts]
_WIDTHS = {"": 4, "64": 8, "128": 16, "U8": 1, "S8": 1, "U16": 2, "S16": 2}


@pytest.mark.toolchain
@pytest.mark.parametrize("arch", ARCHS)
def test_sites_equal_nvdisasm(many_forms: ManyForms, arch: str) -> None:
    data = many_forms(arch).cubin
    cubin = Cubin(data)
    assert cubin.arch == arch
    printed = nvdisasm.disassemble(data)
    assert {function.name for function in cubin.functions} == printed.keys()
    widths: set[int] = set()
    uniform = 0
    for function in cubin.functions:
        expected = [i for i in printed[function.name] if i.opcode.startswith(("LDL", "STL"))]
        assert [site.pc for site in function.all_sites] == [i.pc for i in expected]
        for site, instruction in zip(function.all_sites, expected, strict=True):
            opcode, _, modifier = instruction.opcode.partition(".")
            assert site.is_store == (opcode == "STL")
            # LU, "last use", is a caching hint.
            assert site.width == _WIDTHS[modifier.replace("LU", "").strip(".")], instruction
            assert site.opcode == instruction.opcode.replace(".LU", ""), instruction
            assert site.spill_refill == instruction.spill_refill
            assert site.predicated == (instruction.predicate is not None)
            assert (site.uniform_base is not None) == ("UR" in _inner(instruction))
            assert _address(instruction) == (site.base, site.uniform_base, site.displacement)
            widths.add(site.width)
            uniform += site.uniform_base is not None
    assert widths == {1, 2, 4, 8, 16}
    assert uniform > 0 or arch == "sm_75"  # Turing has no uniform address in LDL and STL


FLOATS = """
#include <cuda_fp16.h>
template <typename T> __global__ void k(T *o, const T *a, T c)
{
    int t = threadIdx.x;
    o[t] = a[t] * a[t + 1]; o[t + 32] = a[t] + a[t + 2]; o[t + 64] = a[t] * a[t + 3] + a[t + 4];
    o[t + 96] = a[t] * c + a[7]; o[t + 128] = -a[t + 9] * c; o[t + 160] = a[t + 8] + c;
}
template __global__ void k<float>(float *, const float *, float);
template __global__ void k<double>(double *, const double *, double);
template __global__ void k<__half2>(__half2 *, const __half2 *, __half2);
"""


@pytest.mark.toolchain
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def test_floating_point_operations_equal_nvdisasm(tmp_path: Path, arch: str) -> None:
    source = tmp_path / "floats.cu"
    source.write_text(FLOATS)
    data = lower(Unit("floats.cu", str(source), "auto", arch), str(tmp_path)).cubin
    cubin, printed = Cubin(data), nvdisasm.disassemble(data)
    names = ["FADD", "FMUL", "FFMA", "DADD", "DMUL", "DFMA", "HADD2", "HMUL2", "HFMA2"]
    seen = 0
    for function in cubin.functions:
        words = [i for i in printed[function.name] if not _is_of_nothing(i)]
        opcodes = [i.opcode.partition(".")[0] for i in words]
        found = float_operations(cubin.code(function))
        assert found == tuple(map(opcodes.count, names))
        seen += sum(found)
    assert seen >= 18


def _is_of_nothing(instruction: sass.SassInstruction) -> bool:
    """Whether the first source is `RZ`, as of a constant that is made by a multiplication."""
    first = instruction.operands.split(",")[1:2]
    return any(operand.strip().lstrip("-|").startswith("RZ") for operand in first)


@pytest.mark.toolchain
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_line_tables_equal_nvdisasm(many_forms: ManyForms, arch: str) -> None:
    data = many_forms(arch).cubin
    cubin = Cubin(data)
    listing = nvdisasm.listing(data, ("-g", "-gi", "-gp"))
    printed = printed_lines(listing)
    depths = set()
    for function in cubin.functions:
        assert printed[function.name]
        for pc, line in printed[function.name].items():
            source = line_at(cubin.source_lines[function.section], pc)
            ptx = line_at(cubin.ptx_lines[function.section], pc)
            chain = (
                tuple((f.location.file, f.location.line) for f in source.chain) if source else ()
            )
            assert chain == line.chain
            assert (ptx.line if ptx else None) == line.ptx_line
            depths.add(len(chain))
    assert max(depths) >= 3


@pytest.mark.toolchain
def test_text_and_json_of_nvdisasm_parse_alike(many_forms: ManyForms) -> None:
    data = many_forms("sm_90").cubin
    from_text = sass.parse_text(nvdisasm.listing(data))
    from_json = nvdisasm.disassemble(data)
    assert from_text.keys() == from_json.keys()
    for name, instructions in from_json.items():
        assert [(i.pc, i.opcode, i.predicate, i.spill_refill) for i in instructions] == [
            (i.pc, i.opcode, i.predicate, i.spill_refill) for i in from_text[name]
        ]


@pytest.mark.parametrize("apart", [False, True], ids=["13.5", "13.4"])
def test_what_lies_behind_a_kernel_is_of_its_section(apart: bool) -> None:
    words = [{"opcode": "LDL", "operands": f"R{number}"} for number in range(5)]

    def function(name: str, start: int, *instructions: object) -> dict[str, object]:
        return {"function-name": name, "start": start, "sass-instructions": instructions}

    kernel = [function("kern", 0, *words)]
    if apart:
        kernel = [
            function("kern", 0, *words[:2]),
            function("$kern$first", 32, words[2]),
            function("$kern$second", 48, *words[3:]),
        ]
    printed = [{}, [*kernel, function("other", 0, words[0])]]
    found = sass.parse_json(json.dumps(printed))
    assert list(found) == ["kern", "other"]
    assert [one.pc for one in found["kern"]] == [0, 16, 32, 48, 64]
    assert [one.operands for one in found["kern"]] == ["R0", "R1", "R2", "R3", "R4"]
    assert [one.pc for one in found["other"]] == [0]


@pytest.mark.toolchain
def test_a_cut_off_cubin_is_refused_not_misread(many_forms: ManyForms) -> None:
    data = many_forms("sm_90").cubin
    for size in (3, 64, len(data) // 2, len(data) - 1):
        with pytest.raises(FormatError):
            Cubin(data[:size])


GENERIC = """
extern "C" __global__ void generic(float *x, double *y, unsigned char *z, int n) {
  double a[40]; unsigned char b[40]; float4 d[40];
  for (int i = 0; i < 40; ++i) { a[i] = x[i] * 2; b[i] = z[i]; d[i] = make_float4(x[i], 1, 2, 3); }
  double *p = n > 3 ? a : y; unsigned char *q = n > 4 ? b : z; float4 *v = n > 6 ? d : (float4 *)x;
  float s = 0;
  for (int i = 0; i < n; ++i) {
    s += p[(i * n) % 40] + q[(i * n) % 40] + v[(i * n) % 40].x + v[(i * n) % 40].w;
    p[i % 40] = s; q[i % 40] = s; v[i % 40] = make_float4(s, s, s, 1);
  }
  x[0] = s;
}
"""


@pytest.mark.toolchain
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_generic_sites_equal_nvdisasm(arch: str) -> None:
    flags = (f"--gpu-architecture={arch}", "-lineinfo")
    data = nvrtc.compile_program(GENERIC, "generic.cu", flags, ()).cubin
    cubin = Cubin(data)
    (function,) = cubin.functions
    expected = [
        (i.pc, i.opcode.startswith("ST"))
        for i in nvdisasm.disassemble(data)["generic"]
        if i.opcode.partition(".")[0] in ("LD", "ST")
    ]
    found = cubin.generic_sites(function)
    assert [(site.pc, site.is_store) for site in found] == expected
    assert len(expected) >= 4
    assert {1, 8, 16} <= {site.width for site in found}


ALIGNED = """
template <int A> __device__ __noinline__ int aligned(int n) {
    __align__(A) volatile int b[17];
    b[n & 15] = n;
    return b[(n + 1) & 15];
}
template __device__ int aligned<4>(int);
template __device__ int aligned<16>(int);
template __device__ int aligned<128>(int);
extern "C" __global__ void entry(int *o, int n) {
    __align__(64) volatile int b[17];
    b[n & 15] = n;
    o[0] = b[(n + 1) & 15];
}
"""


@pytest.mark.toolchain
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_the_stack_pointers_alignment_equals_nvdisasm(arch: str) -> None:
    flags = (f"--gpu-architecture={arch}", "-rdc=true")
    data = nvrtc.compile_program(ALIGNED, "aligned.cu", flags, ()).cubin
    printed = nvdisasm.disassemble(data)
    found = {}
    for function in Cubin(data).functions:
        masks = [
            int(i.operands.split(",")[2], 16)
            for i in printed[function.name]
            if i.opcode == "LOP3.LUT" and i.operands.startswith("R1,R1,")
        ]
        assert masks == [
            2**32 - alignment for alignment in (function.stack_alignment,) if alignment
        ]
        found[function.name] = (function.stack_alignment, function.stack_frame)
    assert found == {
        "_Z7alignedILi4EEii": (None, 72),
        "_Z7alignedILi16EEii": (16, 80 + 16 - 8),
        "_Z7alignedILi128EEii": (128, 128 + 128 - 8),
        "entry": (64, 128 + 64 - 16),
    }


def _address(instruction: sass.SassInstruction) -> tuple[int | None, int | None, int]:
    base = uniform = None
    displacement = 0
    for part in _inner(instruction).replace("+-", "+~").split("+"):
        if part.startswith("UR"):
            uniform = int(part[2:])
        elif part.startswith("R"):
            base = int(part[1:].partition(".")[0]) if part != "RZ" else None
        elif part:
            displacement = -int(part[1:], 16) if part[0] == "~" else int(part, 16)
    return base, uniform, displacement


def _inner(instruction: sass.SassInstruction) -> str:
    return instruction.operands.partition("[")[2].partition("]")[0]


ROOTS = """\
__device__ __noinline__ double halved(double x) {
  return sqrt(x) * 0.5;
}
extern "C" __global__ void roots(const double *x, double *y, int n) {
  double a = x[threadIdx.x];
  y[0] = sqrt(a);
  for (int i = 0; i < n; ++i)
    a = sqrt(a) + halved(x[i]);
  y[threadIdx.x] = a / x[5];
}
"""


@pytest.mark.toolchain
@pytest.mark.parametrize("arch", ARCHS)
def test_calls_equal_nvdisasm(arch: str, tmp_path: Path) -> None:
    source = tmp_path / "roots.cu"
    source.write_text(ROOTS)
    artifacts = lower(Unit("roots.cu", str(source), "auto", arch), str(tmp_path))
    assert artifacts.cubin is not None
    cubin = Cubin(artifacts.cubin)
    (kernel,) = cubin.functions
    expected: dict[str, list[int]] = defaultdict(list)
    for one in nvdisasm.disassemble(artifacts.cubin)["roots"]:
        if one.opcode.startswith("CALL.REL"):
            expected[one.operands].append(one.pc)
    starts = {one.start: one.name for one in kernel.callees}
    found = {starts[start]: calls for start, calls in cubin.calls(kernel).items()}
    assert len(found) >= 3
    assert {name.removeprefix("$roots$"): calls for name, calls in expected.items()} == found
    lines = parse(artifacts, str(tmp_path)).lines
    for body in kernel.callees:
        site = Site(body.start, True, 4, 0, STACK_POINTER, None, 0, False, False)
        chain = lines.of_site(kernel, body, site)
        place = reader_line(chain, str(source))
        assert place is not None
        kind = next(kind for kind in ("halved", "sqrt", "div") if kind in body.name)
        # The root in the loop, of a user's function its own line.
        assert place.line == {"halved": 2, "sqrt": 8, "div": 9}[kind]
