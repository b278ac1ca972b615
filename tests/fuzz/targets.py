"""What is fuzzed: one target for each kind of text or binary that lmemscope reads.

A target gives an input to the readers of its format and to what follows from it, as a run would.
It returns whether the input was taken; an error of lmemscope's own is a refusal, which is right.
Any other exception is a failure.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import struct
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from lmemscope.analysis import headers
from lmemscope.analysis.explanation import explain_facts
from lmemscope.analysis.facts import gather_facts
from lmemscope.analysis.layers import parse
from lmemscope.analysis.machine_loops import machine_loops
from lmemscope.analysis.quotes import quotes_of
from lmemscope.analysis.reported import facts_of_report
from lmemscope.config.settings import from_flags
from lmemscope.discover.build_database import read_database
from lmemscope.errors import LmemscopeError
from lmemscope.exporters.json import parse_report
from lmemscope.formats.build_log import parse_build_log, parts_of, report_of
from lmemscope.formats.cubin import Cubin
from lmemscope.formats.demangle import demangle, short_name
from lmemscope.formats.dwarf import read_variables
from lmemscope.formats.elf import ElfFile
from lmemscope.formats.kernel_names import spellings, stable_name
from lmemscope.formats.line_table import line_at
from lmemscope.formats.ptx import PtxModule
from lmemscope.formats.ptxas_log import parse_ptxas_log
from lmemscope.formats.sass import (
    NOT_DISASSEMBLED,
    parse_json,
    parse_live_registers,
    parse_text,
)
from lmemscope.gate import baseline, compare, difference
from lmemscope.lowering.analysed import known_report
from lmemscope.lowering.jit_cache import beside
from lmemscope.lowering.store import Outputs, Slot
from lmemscope.model import Artifacts, KernelReport, Policy, Unit, Wanted
from lmemscope.rules import find
from lmemscope.rules.reported import find_reported
from lmemscope.rules.verdict import judge
from lmemscope.sources import includes
from lmemscope.sources.cuda import read_cuda_source
from lmemscope.sources.encoding import decoded, readable
from lmemscope.sources.lines import from_disk, quoted_lines, read_lines
from lmemscope.sources.python import read_programs
from lmemscope.sources.python_words import may_hold_kernels
from lmemscope.sources.tokens import tokenise
from tests.fuzz import containers, links, objects, profiles

HERE = Path(__file__).parent
SEEDS = HERE / "seeds"
DATA = HERE.parent / "support" / "data"
KERNELS = HERE.parents[1] / "kernels"


@dataclass(frozen=True, slots=True)
class Target:
    """A format under test.

    Attributes:
        name: as on the command line.
        seeds: good inputs to begin with.
        read: takes an input; raises `LmemscopeError` to refuse it.
        weight: its part of all inputs: what is read often and in many ways gets more.
        words: of the format.
    """

    name: str
    seeds: Callable[[], Sequence[bytes]]
    read: Callable[[bytes], object]
    weight: float = 1.0
    words: tuple[bytes, ...] = ()

    def run(self, data: bytes) -> bool:
        """Whether the input was taken."""
        try:
            self.read(data)
        except LmemscopeError:
            return False
        return True


@functools.cache
def _files(*globs: str) -> tuple[bytes, ...]:
    found = [path for glob in globs for path in sorted(HERE.parents[1].glob(glob))]
    assert found, globs
    return tuple(path.read_bytes() for path in found)


def _seeds(*globs: str) -> Callable[[], tuple[bytes, ...]]:
    return functools.partial(_files, *globs)


def _ptx(data: bytes) -> None:
    module = PtxModule(data)
    for function in module.functions:
        with contextlib.suppress(LmemscopeError):
            _ = function.survey
        with contextlib.suppress(LmemscopeError):
            for instruction in function.body.instructions[:50]:
                module.chain(instruction)
        _ = function.parameters, function.launch_bounds, function.max_registers
        _ = function.first_loc, function.is_visible, function.thread_dimensions
        module.takes_address(function.name)
    _ = module.files, module.strings
    for name in (b"weights", b"table", b"_param_0"):
        module.initial_value(name.decode())


@functools.cache
def _pair(name: str) -> tuple[bytes, bytes, str, str]:
    return (
        (SEEDS / f"{name}.ptx").read_bytes(),
        (SEEDS / f"{name}.cubin").read_bytes(),
        (SEEDS / f"{name}.log").read_text(),
        (SEEDS / f"{name}.debug.ptx").read_text(),
    )


@functools.cache
def _variables(name: str) -> tuple[object, ...]:
    return read_variables(_pair(name)[3])


_NAMES = ("call_with_array", "constant_table", "recursion", "rolled_loop")


def _analysed(ptx: bytes | None, cubin: bytes, log: str, name: str) -> None:
    """The whole analysis of a unit, as `lmemscope.pipeline` has it."""
    path = str(KERNELS / f"{name}.cu")
    unit = Unit(f"{name}.cu", path, "ptx", "sm_90")
    source = read_cuda_source(Path(path).read_text())
    made = Artifacts(unit, "ptx", (), ptx, log, cubin, (), source=source)
    layers, sources = parse(made, "/"), from_disk()
    facts = gather_facts(layers)
    facts = explain_facts(layers, facts, _variables(name), sources)  # type: ignore[arg-type]
    quotes_of(layers, facts, ("ptx",), NOT_DISASSEMBLED)
    kernels = [KernelReport.of(fact, judge(fact), find(fact, sources)) for fact in facts]
    headers.directives(layers)
    headers.templates(layers)
    quoted_lines(kernels, sources)


def _explain_ptx(data: bytes) -> None:
    """Mutated PTX with the machine code that it was before, or that of another file."""
    which = hashlib.sha256(data[:200]).digest()[0]
    own = next((n for n in _NAMES if n.encode() in data[:4000]), _NAMES[which % 4])
    name = own if which % 5 else _NAMES[which % 4]
    _, cubin, log, _ = _pair(name)
    _analysed(data, cubin, log, name)


def _explain_cubin(data: bytes) -> None:
    which = hashlib.sha256(data[-200:]).digest()[0]
    name = next((n for n in _NAMES if n.encode() in data), _NAMES[which % 4])
    ptx, _, log, _ = _pair(name)
    _analysed(ptx if which % 4 else None, data, log, name)


def _explain_log(data: bytes) -> None:
    name = next((n for n in _NAMES if n.encode() in data), "rolled_loop")
    ptx, cubin, _, _ = _pair(name)
    _analysed(ptx, cubin, data.decode("utf-8", "replace"), name)


def _ptxas_log(data: bytes) -> None:
    log = parse_ptxas_log(data.decode("utf-8", "replace"))
    for fact in facts_of_report(log):
        judge(fact)
        find_reported(fact, None, "sm_90")
        short_name(fact.demangled)


def _build_log(data: bytes) -> None:
    log = parse_build_log(data.decode("utf-8", "replace"))
    for part in parts_of(log):
        _ptxas_log(report_of(part.functions, log).encode("utf-8", "replace"))


def _cubin(data: bytes) -> None:
    cubin = Cubin(data)
    for function in cubin.functions:
        cubin.generic_sites(function)
        _ = function.all_sites
        branches = cubin.branches(function)
        if branches is not None:
            machine_loops(branches, function.start, function.end).depth(function.start)
    _ = cubin.ptx, cubin.source_lines, cubin.ptx_lines


_LINES = (".debug_line", ".nv_debug_line_sass")


@functools.cache
def _line_seeds() -> tuple[bytes, ...]:
    cubins = [ElfFile(data) for data in _files("tests/fuzz/seeds/*.cubin")]
    return tuple(
        bytes(elf.content(section))
        for elf in cubins
        for name in _LINES
        if (section := elf.section(name)) is not None
    )


def _line_table(data: bytes) -> None:
    """A mutated line table in a cubin that is whole otherwise."""
    whole = _pair(_NAMES[len(data) % len(_NAMES)])[1]
    table, size = struct.unpack_from("<Q", whole, 40)[0], 64
    for name in _LINES:
        section = ElfFile(whole).section(name)
        assert section is not None
        changed = bytearray(whole)
        # Offset and size of the section (System V ABI, figure 4): behind all that there was.
        struct.pack_into("<QQ", changed, table + section.number * size + 24, len(whole), len(data))
        cubin = Cubin(bytes(changed) + data)
        for lines in (cubin.source_lines, cubin.ptx_lines):
            for entries in lines.values():
                line_at(entries, 64)


def _dwarf(data: bytes) -> None:
    read_variables(data.decode("utf-8", "replace"))


def _sass(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    parse_text(text)
    parse_live_registers(text)


def _sass_json(data: bytes) -> None:
    for instructions in parse_json(data.decode("utf-8", "replace")).values():
        for instruction in instructions:
            _ = instruction.text


@functools.cache
def _good_report() -> object:
    return parse_report((SEEDS / "scan.report.json").read_bytes())


def _report(data: bytes) -> None:
    report = parse_report(data)
    for unit in report.units:
        for kernel in unit.kernels:
            spellings(kernel.facts.name, kernel.facts.demangled)
            stable_name(kernel.facts.name)
    compare.compare(report, Policy(), baseline.from_report(report))
    difference.difference(_good_report(), report)  # type: ignore[arg-type]


def _baseline(data: bytes) -> None:
    known = baseline.SAVED.parse(data, "baseline.json")
    baseline.render(known)
    compare.compare(_good_report(), Policy(), known)  # type: ignore[arg-type]


def _configuration(data: bytes) -> None:
    _written("lmemscope.toml", data)
    from_flags({})


def _database(data: bytes) -> None:
    _written("compile_commands.json", data)
    read_database("compile_commands.json")


def _flags(data: bytes) -> None:
    """A response file that a database names."""
    _written("flags.rsp", data)
    words = ["nvcc", "@flags.rsp", "-c", "a.cu"]
    entry = {"directory": ".", "file": "a.cu", "arguments": words}
    _written("compile_commands.json", json.dumps([entry]).encode())
    read_database("compile_commands.json")


def _python(data: bytes) -> None:
    may_hold_kernels(data)
    read_programs(_written("program.py", data), "program.py")


def _cuda(data: bytes) -> None:
    read_cuda_source(readable(decoded(data).text))
    path = _written("source.cu", data)
    includes.closure(path, Unit("source.cu", path, "auto", "sm_90").options)
    read_lines(path)


def _tokens(data: bytes) -> None:
    tokenise(data.decode("utf-8", "surrogateescape"))


def _triton(data: bytes) -> None:
    _written("kernel.json", data)
    beside("kernel.cubin")


def _names(data: bytes) -> None:
    name = data.decode("utf-8", "replace")
    demangled = demangle(name)
    short_name(demangled)
    spellings(name, demangled)
    stable_name(name)


@functools.cache
def _kept_entry(directory: str) -> Path:
    """The file of an entry of the store; made where it is not there yet."""
    found = next(Path(directory, "entries").rglob("*.entry"), None)
    if found is None:
        outputs = Outputs("nvrtc", ("-lineinfo",), ("k<1>",), "a log", ())
        Slot(directory, "0" * 64).store("outputs", outputs, [b"ptx", b"cubin"], [])
    return found or next(Path(directory, "entries").rglob("*.entry"))


def _entry_seeds() -> tuple[bytes, ...]:
    """Entries of the store without the checksum and compression that would hide them."""
    # Whoever lists the seeds may do so in a checkout.
    with tempfile.TemporaryDirectory() as directory:
        return (_kept_entry(directory).read_bytes(),)


def _entry(data: bytes) -> None:
    """An entry of the store, as it is and with a checksum that is right."""
    body = data.partition(b"\n")[2]
    whole = hashlib.sha256(body).hexdigest().encode() + b"\n" + body
    slot = Slot(os.getcwd(), "0" * 64)
    unit = Unit("k.cu", "/k.cu", "auto", "sm_90")
    for content in (data, whole):
        _kept_entry(os.getcwd()).write_bytes(content)
        slot.load("outputs", Outputs, 2)
        known_report(slot, unit, replace(Wanted(), cache=os.getcwd()), lambda *_: ())


def _written(name: str, data: bytes) -> str:
    """A file in the working directory, which is the process's own; its absolute path."""
    Path(name).write_bytes(data)
    return os.path.abspath(name)


_DATABASE = json.dumps(
    [
        {
            "directory": "/build",
            "command": "nvcc -forward-unknown-to-host-compiler -DN=3 -I../inc "
            "--generate-code=arch=compute_90,code=[sm_90] -O3 -x cu -c ../a.cu -o a.o",
            "file": "../a.cu",
            "output": "CMakeFiles/app.dir/a.o",
        },
        {"directory": ".", "arguments": ["nvcc", "-c", "b.cu", "-maxrregcount=32"], "file": "b.cu"},
        {
            "directory": ".",
            "command": "env NVCC_APPEND_FLAGS='-DA=\\\"x\\\"' ccache clang++ -x cuda @all.rsp c.cc",
            "file": "c.cc",
        },
    ],
    indent=1,
).encode()
_FLAGS = b"""-DN=3 -I include -isystem "C dir" --std=c++17 -arch=sm_90 -maxrregcount 32
-gencode arch=compute_80,code=[compute_80,sm_80] -Xptxas -O3,--warn-on-spills -Xcompiler=-fPIC,-O2
--expt-relaxed-constexpr -lineinfo -rdc=true --use_fast_math -o a.o -x cu -U M -include pre.h
"""
_CONFIGURATION = b"""arch = ["sm_90"]
std = "c++17"
baseline = "lmemscope-baseline.json"
exclude = ["third_party/**"]
tolerance = 16
timeout = 60.5
[[limits]]
kernel = "row*"
max-frame = 64
forbid = ["register-spill"]
[[allowances]]
kernel = "k"
cause = "dynamic-index"
reason = "known"
expires = 2030-01-01
"""
_PYTHON = b'''import cupy as cp
from cupyx import jit
from numba import cuda, float32
N = 16
CODE = r"""
extern "C" __global__ void k(float *x) { float a[%d]; x[0] = a[1]; }
""" + "// more\\n"
k = cp.RawKernel(CODE, "k", options=("-DN=" + str(N),))
module = cp.RawModule(code=f"template<int M> __global__ void m() {{ }} // {N}",
                      name_expressions=["m<1>"])
twice = cp.ElementwiseKernel("float32 x, raw T y", "T z", "z = x * 2 + y[i]", "twice")
total = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "total")
with open("kernel.cu") as file:
    other = cp.RawKernel(file.read().strip(), "other")
@jit.rawkernel()
def one(x):
    x[0] = 1
@cuda.jit("void(float32[::1])")
def window(x):
    a = cuda.local.array((N, 2), dtype=float32)
    for i in range(N):
        a[i, 0] = x[i]
'''
_CUDA = b"""#include <cuda_runtime.h>
#include "inner.h"
#if 0
__global__ void dead() {}
#elif defined(X)
#define KERNEL(name, n) template <int K> __global__ void name##_##n(float *x)
#endif
// lmemscope: allow dynamic-index because it is small
// lmemscope: instantiate rm<32>
namespace a::b {
template <int N> __launch_bounds__(256, 2) __global__ void rm(const float *x, float *y) {
    float w[N]; asm volatile("mov.u32 %0, %%laneid;" : "=r"(w[0]));
    const char *s = R"x(a " ) b)x"; char c = '\\'';
}
}
static __device__ int helper(int i) { return i < 3 ? i : helper(i - 1); }
int main() { a::b::rm<32><<<1, 32>>>(nullptr, nullptr); /* lmemscope: what */ }
"""
_NAMES_SEEDS = (
    b"_ZN2ns2rmILi32EEEvPf",
    b"_Z1f1AIiiES_IS0_S0_ES_IS1_S1_E",
    b"_ZN7cutlass6KernelINS_4gemm6kernel4GemmINS1_11threadblock13MmaPipelinedEEEEEvNT_6ParamsE",
    b"_ZZ4statPiE6primes",
    b"_ZN52_INTERNAL_9f2c6ff8_4_a_cu_0000_1234__GLOBAL__N__5b1c3kEv",
)
_PTX_WORDS = (
    *(b".loc 1 2 3\n", b".loc\t1 7 3, function_name $L__info_string0, inlined_at 1 2 3\n"),
    *(b".local .align 16 .b8 __local_depot0[4096];\n", b"ld.local.u32 %r1, [%rd1+4];\n"),
    *(
        b"cvta.local.u64 %SP, %SPL;\n",
        b"bra $L__BB0_2;\n",
        b"@%p1 bra $L__BB0_1;\n",
        b"$L__BB0_9:\n",
    ),
    *(
        b".entry k(.param .u64 a)\n{",
        b".func (.param .b32 r) f(.param .b64 p)\n{",
        b"ret;\n",
        b"}\n",
    ),
    *(
        b"call.uni (retval0), f, (param0);\n",
        b"setp.lt.s32 %p1, %r1, %r2;\n",
        b"add.s64 %rd1, %SPL, ",
    ),
    *(b".branchtargets $L__BB0_1, $L__BB0_2;\n", b"brx.idx %r1, t;\n", b"mov.u64 %rd1, table;\n"),
    *(b".global .align 4 .b8 table[8] = {1, 2, 3};\n", b'.file 1 "a.cu"\n', b"phi", b"+-", b"%SP"),
)
_CUDA_WORDS = (
    *(b"__global__ ", b"__global__ void k(", b"template <", b"<<<1, 2>>>(", b'R"(', b'asm("'),
    *(b"#define K(a) __global__ void a\n", b"#if 0\n", b"#else\n", b"#endif\n", b"namespace a {"),
    *(b'#include "source.cu"\n', b"#include M\n", b"// lmemscope: allow ", b"??/", b"\\\n", b"/*"),
)
_PYTHON_WORDS = (
    *(
        b" + CODE",
        b'f"{N}{CODE}"',
        b"cp.RawKernel(",
        b"elif N:\n    pass\n",
        b"CODE = CODE + CODE\n",
    ),
    *(b"N = N * N\n", b"(", b'"""', b".strip()", b"Path(__file__).parent / ", b"lambda: ", b"not "),
    *(b"N = 9 ** 9 ** 9\n", b"@cuda.jit\n", b"-" * 50, b"a.b" * 30, b"[" * 30),
)
_LOG_WORDS = (
    *(
        b"ptxas info    : Compiling entry function 'k' for 'sm_90'\n",
        b"ptxas info    : Used 9 registers\n",
    ),
    *(
        b"ptxas info    : Function properties for k\n",
        b"nvlink info    : Function properties for 'k':\n",
    ),
    b"    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n",
    *(b"[1/2] Building CUDA object a.o\n", b"nvcc -c a.cu -Xptxas -v\n", b"a.cu(3): error: no\n"),
)
_JSON_WORDS = (
    b"null",
    b"[]",
    b"{}",
    b"1e999",
    b'"\\ud800"',
    b'"\\u001a001A"',
    b"-1",
    b"true",
    b'""',
)
_FLAG_WORDS = (
    *(
        b" @flags.rsp ",
        b" -I",
        b" --options-file ",
        b" -gencode arch=compute_90,code=sm_90 ",
        b" -D",
    ),
    *(
        b" -Xptxas ",
        b" -Xcompiler ",
        b" -x cu ",
        b" -arch=",
        b"'",
        b'"',
        b" -ccbin ",
        b" -- ",
        b" -o ",
    ),
)

TARGETS = (
    Target("ptx", _seeds("tests/fuzz/seeds/*.ptx"), _ptx, 3, _PTX_WORDS),
    Target(
        "explain-ptx",
        lambda: tuple(_pair(name)[0] for name in _NAMES),
        _explain_ptx,
        3,
        _PTX_WORDS,
    ),
    Target("explain-cubin", lambda: tuple(_pair(name)[1] for name in _NAMES), _explain_cubin, 1),
    Target("explain-log", _seeds("tests/fuzz/seeds/*.log"), _explain_log, 0.5, _LOG_WORDS),
    Target(
        "ptxas-log",
        _seeds("tests/support/data/ptxas_log/1*/*", "tests/fuzz/seeds/*.log"),
        _ptxas_log,
        2,
        _LOG_WORDS,
    ),
    Target("build-log", _seeds("tests/support/data/build_log/*"), _build_log, 1, _LOG_WORDS),
    Target("cubin", _seeds("tests/fuzz/seeds/*.cubin"), _cubin, 3),
    Target("line-table", _line_seeds, _line_table, 2),
    Target(
        "dwarf", _seeds("tests/fuzz/seeds/*.debug.ptx"), _dwarf, 0.5, (b".b8 255,255\n", b"}\n")
    ),
    Target("sass", _seeds("tests/fuzz/seeds/*.sass", "tests/fuzz/seeds/*.live"), _sass, 1),
    Target("sass-json", _seeds("tests/fuzz/seeds/*.sass.json"), _sass_json, 2, _JSON_WORDS),
    Target("report", _seeds("tests/fuzz/seeds/scan.report.json"), _report, 1, _JSON_WORDS),
    Target("baseline", _seeds("tests/fuzz/seeds/scan.baseline.json"), _baseline, 2, _JSON_WORDS),
    Target("configuration", lambda: (_CONFIGURATION,), _configuration, 2),
    Target("database", lambda: (_DATABASE,), _database, 3, (*_JSON_WORDS, *_FLAG_WORDS)),
    Target("flags", lambda: (_FLAGS,), _flags, 2, _FLAG_WORDS),
    Target("python", lambda: (_PYTHON, *_files("kernels/*.py")), _python, 2, _PYTHON_WORDS),
    Target("cuda", lambda: (_CUDA, *_files("kernels/*.cu")), _cuda, 3, _CUDA_WORDS),
    Target("triton", _seeds("tests/support/data/triton_cache/*/*.json"), _triton, 2, _JSON_WORDS),
    Target(
        "names", lambda: _NAMES_SEEDS, _names, 2, (b"S_", b"S0_", b"I", b"E", b"N", b"_Z", b"P")
    ),
    Target("cache-entry", _entry_seeds, _entry, 1),
    Target("linked-image", links.images, links.read_linked, 2),
    Target("nvlink-log", lambda: (links.LOG,), links.read_log, 0.5, _LOG_WORDS),
    Target(
        "build-ninja",
        lambda: (links.NINJA,),
        links.read_ninja,
        0.5,
        (b"$\n", b"$ ", b"$:", b": CUDA_COMPILER_a ", b"build ", b" | ", b" || "),
    ),
    Target("cmake-reply", lambda: (links.REPLY,), links.read_reply, 0.5, _JSON_WORDS),
    Target("containers", containers.seeds, containers.read_containers, 3),
    Target("binary", containers.seeds, containers.read_binary, 1),
    Target(
        "object-record",
        lambda: objects.SEEDS,
        objects.read_records,
        0.5,
        (b"$in", b"${out}", b"$(FLAGS)", b"rule ", b"build ", b" = ", b"\\\n", b"\t"),
    ),
    Target("profile", profiles.pages, profiles.read_pages, 1, (b'"', b'","', b"\n==", b"1,000")),
    Target("measurement", profiles.documents, profiles.read_document, 0.5, _JSON_WORDS),
)
"""Every target; the order is that of the series, so that a number means the same input."""
