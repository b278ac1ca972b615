"""Build logs: reports taken apart again, whatever builds and CI systems did to them."""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lmemscope.analysis.reported import facts_of_report
from lmemscope.formats.build_errors import error_in, failed_files, first_of
from lmemscope.formats.build_log import BuildLog, parse_build_log, parts_of, report_of
from lmemscope.formats.build_steps import Step, step_in
from lmemscope.formats.log_lines import plain
from lmemscope.formats.ptxas_log import parse_ptxas_log
from lmemscope.lowering import log as log_route
from lmemscope.model import KernelFacts, Unit, kind_of
from lmemscope.routes import Asked, kind_of_content
from lmemscope.rules.reported import find_reported
from lmemscope.rules.verdict import judge
from tests.support.program import DATA, ROOT, Finished, run_program

RECORDED = sorted(path.name for path in (DATA / "ptxas_log").iterdir() if path.is_dir())
NINJA = DATA / "build_log" / "ninja.log"
MAKE_J2 = DATA / "build_log" / "make-j2.log"


def recorded(version: str, case: str = "plain") -> str:
    return (DATA / "ptxas_log" / version / f"{case}.log").read_text()


def entry(name: str, arch: str = "sm_90") -> str:
    return f"ptxas info    : Compiling entry function '{name}' for '{arch}'\n"


def properties(name: str, frame: int = 0, stores: int = 0, loads: int = 0) -> str:
    return (
        f"ptxas info    : Function properties for {name}\n"
        f"    {frame} bytes stack frame, {stores} bytes spill stores, {loads} bytes spill loads\n"
    )


def used(registers: int, *more: str) -> str:
    said = ", ".join((f"Used {registers} registers", "used 0 barriers", *more))
    return f"ptxas info    : {said}\n"


def kernel(name: str, registers: int = 8, arch: str = "sm_90") -> str:
    return entry(name, arch) + properties(name) + used(registers)


MODULE = "ptxas info    : 0 bytes gmem\n"


def facts(text: str) -> dict[tuple[str, str | None], KernelFacts]:
    """Facts of every function of a log, by name and architecture."""
    log = parse_build_log(text)
    return {
        (fact.name, part.arch): fact
        for part in parts_of(log)
        for fact in facts_of_report(parse_ptxas_log(report_of(part.functions, log)))
    }


def figures(fact: KernelFacts) -> tuple[Any, ...]:
    return (fact.ptxas, fact.stack_known, [(c.name, c.ptxas) for c in fact.callees])


def run_with_input(data: bytes, *arguments: str, cwd: Path = ROOT) -> Finished:
    done = subprocess.run(
        [sys.executable, "-m", "lmemscope", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        input=data,
        capture_output=True,
        timeout=240,
        check=False,
    )
    assert b"Traceback" not in done.stderr, done.stderr
    return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())


WRAPPED: dict[str, Callable[[str], str]] = {
    "as it is": lambda line: line,
    "carriage returns": lambda line: f"{line}\r",
    "colours": lambda line: f"\x1b[1m\x1b[35m{line}\x1b[0m\x1b[K",
    "GitHub's raw log": lambda line: f"2026-01-31T12:34:56.1234567Z {line}",
    "gh run view --log": lambda line: f"build\tRun make\t2026-01-31T12:34:56.1234567Z {line}",
    "GitLab": lambda line: f"2026-01-31T12:34:56.123456Z 01O {line}",
    "Jenkins": lambda line: f"[2026-01-31T12:34:56.123Z] {line}",
    "docker build": lambda line: f"#12 34.56 {line}",
    "msbuild": lambda line: f"1>{line}",
    "a progress line overwritten": lambda line: f"[1/2] Building x\r{line}",
}


@pytest.mark.parametrize("wrapping", WRAPPED)
@pytest.mark.parametrize("version", RECORDED)
def test_every_toolkits_report_reads_the_same_in_any_wrapping(version: str, wrapping: str) -> None:
    text = recorded(version)
    wrapped = "\n".join(map(WRAPPED[wrapping], text.splitlines())) + "\n"
    alone = {fact.name: fact for fact in facts_of_report(parse_ptxas_log(text))}
    found = facts(wrapped)
    assert {name for name, _ in found} == set(alone)
    assert {arch for _, arch in found} == {"sm_80"}
    for (name, _), fact in found.items():
        assert figures(fact) == figures(alone[name])


@pytest.mark.parametrize("version", RECORDED)
def test_recursion_is_seen_wherever_the_report_lets_it_be_seen(version: str) -> None:
    """Toolkits 12.6 to 13.4 say nothing, but print no depth where there is a stack."""
    known = facts(recorded(version))["recursive", "sm_80"].stack_known
    assert not known


@pytest.mark.parametrize("wrapping", WRAPPED)
def test_steps_are_seen_in_any_wrapping(wrapping: str) -> None:
    line = "[  7%] Building CUDA object CMakeFiles/x.dir/src/a.cu.o"
    assert step_in(plain(WRAPPED[wrapping](line))) == Step("CUDA", "src/a.cu")


@pytest.mark.parametrize(
    ("line", "source"),
    [
        ("[12/40] Building CUDA object CMakeFiles/x.dir/src/a.cu.o", "src/a.cu"),
        ("[ 50%] Building CUDA object lib/CMakeFiles/x.dir/a.cu.o", "lib/a.cu"),
        ("Building CUDA object lib/CMakeFiles/x.dir/__/common/a.cu.o", "common/a.cu"),
        ("Building CUDA object CMakeFiles/x.dir/a.cu.obj", "a.cu"),
        ("nvcc -arch=sm_90 -Xptxas -v -c src/a.cu -o build/a.o", "src/a.cu"),
        ("/usr/local/cuda/bin/nvcc -I inc -c -o a.o a.cu", "a.cu"),
        ("cd /b/sub && /usr/local/cuda/bin/nvcc -x cu -c k.cpp -o k.o", "/b/sub/k.cpp"),
        ("ccache nvcc -MF a.cu.d -MT a.cu.o -c '/p/with space/a.cu'", "/p/with space/a.cu"),
        ("[1/2] /usr/local/bin/nvcc --options-file x.rsp -c /p/a.cu -o a.o", "/p/a.cu"),
        ("ptxas -v -arch=sm_80 kernels.ptx -o k.cubin", "kernels.ptx"),
        ("Compiling  a.cu              > build/obj/a.o", "a.cu"),
        ("NVCC src/a.cu", "src/a.cu"),
        ("a.cu", "a.cu"),
        ('#$ cudafe++ --orig_src_file_name "a.cu" --orig_src_path_name "/p/a.cu" x', "a.cu"),
        (r'"C:\CUDA\bin\nvcc.exe" -Xptxas -v -c "C:\p q\a.cu" -o a.obj', r"C:\p q\a.cu"),
        ("nvcc -arch=sm_90 a.cu b.cu -o both", None),
    ],
)
def test_lines_that_name_the_file_being_compiled(line: str, source: str | None) -> None:
    step = step_in(line)
    assert (step.source if step is not None else None) == source


@pytest.mark.parametrize(
    "line",
    [
        "a.cu(12): warning #177-D: variable was declared but never used",
        "make[2]: Entering directory '/p/build'",
        "-- The CUDA compiler identification is NVIDIA 13.0.88",
        "#$ ptxas -arch=sm_90 -v /tmp/tmpxft_00003c08_00000000-6_a.ptx -o x.cubin",
        "FAILED: CMakeFiles/x.dir/a.cu.o",
    ],
)
def test_other_lines_begin_no_step(line: str) -> None:
    assert step_in(line) is None


def test_links_and_other_languages_are_steps_that_compile_no_kernel() -> None:
    assert step_in("[ 50%] Building CXX object CMakeFiles/x.dir/a.cpp.o") == Step("CXX")
    assert step_in("[100%] Linking CUDA executable x") == Step(None)
    linking = step_in("nvcc -arch=sm_90 a.o b.o -o both")
    assert linking is not None
    assert linking.source is None
    assert linking.language is None


def test_a_commands_own_architectures_and_relocatable_code() -> None:
    step = step_in("nvcc -dc -gencode arch=compute_80,code=[compute_80,sm_80] -arch=sm_90a -c a.cu")
    assert step is not None
    assert step.archs == ("sm_80", "sm_90a")
    assert step.relocatable


# ninja: each step with its own output


def test_ninja_names_the_file_of_every_kernel() -> None:
    log = parse_build_log(NINJA.read_text())
    assert not log.is_parallel
    owners = {(f.name, f.arch): f.source for f in log.functions}
    assert owners["spilling", "sm_90"] == "src/spill.cu"
    assert owners["_Z7callingPKdPdi", "sm_80"] == "src/wrap.cu"
    assert None not in owners.values()


def test_kernels_of_one_name_in_two_files_stay_apart() -> None:
    log = parse_build_log(NINJA.read_text())
    frames = {
        f.source: f.stack for f in log.functions if (f.name, f.arch) == ("_Z10testKerneli", "sm_80")
    }
    assert frames["src/simplePrintf.cu"] != frames["src/simpleAssert.cu"]


def test_ninja_steps_are_read_apart_even_if_one_was_cut_off() -> None:
    cut = "[1/2] Building CUDA object CMakeFiles/x.dir/a.cu.o\n" + MODULE + entry("a")
    whole = "[2/2] Building CUDA object CMakeFiles/x.dir/b.cu.o\n" + MODULE + kernel("b", 20)
    found = facts(cut + whole)
    assert found["b", "sm_90"].registers == 20
    assert found["a", "sm_90"].registers is None


# make -j: one stream


def test_a_parallel_make_has_the_figures_of_ninja() -> None:
    parallel, apart = facts(MAKE_J2.read_text()), facts(NINJA.read_text())
    shared = {key for key in apart if key[1] is not None and key[0] != "_Z10testKerneli"}
    assert len(shared) > 30
    for key in shared:
        mine, theirs = parallel[key].ptxas, apart[key].ptxas
        assert mine == theirs, key


def test_a_parallel_make_names_no_file_and_no_caller() -> None:
    log = parse_build_log(MAKE_J2.read_text())
    assert log.is_parallel
    assert {f.source for f in log.functions} == {None}
    assert not any(f.callees for f in log.functions)
    assert "_Z3fibi" in {f.name for f in log.functions}, "callees are listed on their own"


def test_a_sequential_make_names_files_and_callers() -> None:
    text = "".join(
        f"[ 50%] Building CUDA object CMakeFiles/x.dir/{name}.cu.o\n{MODULE}{kernel(name)}"
        + properties(f"callee_of_{name}", 16)
        for name in "ab"
    )
    log = parse_build_log(text)
    assert not log.is_parallel
    assert [(f.name, f.source) for f in log.functions] == [("a", "a.cu"), ("b", "b.cu")]
    assert [c.name for f in log.functions for c in f.callees] == ["callee_of_a", "callee_of_b"]


def test_two_files_of_one_name_started_together_are_not_taken_for_one() -> None:
    text = (
        "[ 25%] Building CUDA object a/CMakeFiles/x.dir/k.cu.o\n"
        "[ 50%] Building CUDA object b/CMakeFiles/y.dir/k.cu.o\n" + MODULE + kernel("k")
    )
    assert parse_build_log(text).is_parallel


def test_a_c_plus_plus_step_does_not_own_kernels() -> None:
    text = (
        "[ 25%] Building CUDA object CMakeFiles/x.dir/a.cu.o\n"
        + MODULE
        + kernel("a", arch="sm_80")
        + "[ 50%] Building CXX object CMakeFiles/x.dir/b.cpp.o\n"
        + MODULE
        + kernel("a")
    )
    log = parse_build_log(text)
    assert log.is_parallel
    assert {f.source for f in log.functions} == {None}


def test_a_file_that_fails_to_compile_does_not_make_a_build_parallel() -> None:
    text = (
        "[ 25%] Building CUDA object CMakeFiles/x.dir/a.cu.o\n"
        'a.cu(3): error: identifier "x" is undefined\n'
        "[ 50%] Building CUDA object CMakeFiles/x.dir/b.cu.o\n" + MODULE + kernel("b")
    )
    (function,) = parse_build_log(text).functions
    assert function.source == "b.cu"


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ('bad.cu(1): error: identifier "undefined_thing" is undefined', "bad.cu"),
        ("src/bad.cu(12): error #20: identifier is undefined", "src/bad.cu"),
        ('a b/bad.cu(2): catastrophic error: cannot open source file "x.h"', "a b/bad.cu"),
        ('"bad.cu", line 3: error: expected a ";"', "bad.cu"),
        ('1 error detected in the compilation of "bad.cu".', "bad.cu"),
        ('2 catastrophic errors detected in the compilation of "bad.cu".', "bad.cu"),
        ("bad.cpp:1:10: fatal error: x.h: No such file or directory", "bad.cpp"),
        ("bad.cpp:3: error: expected ';'", "bad.cpp"),
        ("C:\\x\\bad.cu(3): error C2065: 'x': undeclared identifier", "C:\\x\\bad.cu"),
        ("  C:\\x\\bad.cu(3): error : expected a declaration", "C:\\x\\bad.cu"),
        ("##[error]bad.cu(1): error: identifier is undefined", "bad.cu"),
        ("FAILED: a/bad.cu.o", "a/bad.cu.o"),
        ("FAILED: [code=1] a/bad.cu.o ", "a/bad.cu.o"),
        ("make: *** [Makefile:3: bad.o] Error 2", "bad.o"),
        ("gmake[2]: *** [m/build.make:76: m/x.dir/bad.cu.o] Error 1", "m/x.dir/bad.cu.o"),
        ("make: *** [bad.o] Killed", "bad.o"),
        ("make: *** No rule to make target 'x.cu', needed by 'x.o'.  Stop.", None),
        ("make: Target 'all' not remade because of errors.", None),
        ("ninja: build stopped: subcommand failed.", None),
        ("ninja: error: 'a.cu', needed by 'a.o', missing and no known rule to make it", None),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_35'", None),
        ("nvcc error   : 'ptxas' died due to signal 9 (Kill signal)", None),
        ("ptxas fatal   : Ptx assembly aborted due to errors", None),
        ("ptxas error   : Entry function 'k' uses too much shared data", None),
        ("ptxas /tmp/a.ptx, line 12; error   : Unknown symbol 'x'", "/tmp/a.ptx"),
        ("nvlink error   : Undefined reference to '_Z1fv' in 'a.o'", None),
        ("cc1plus: error: unrecognized command-line option", None),
        ("g++: fatal error: Killed signal terminated program cc1plus", None),
        ("clang++-18: error: unable to execute command", None),
        ("1 warning and 1 error generated when compiling for sm_90.", None),
        ("collect2: error: ld returned 1 exit status", None),
        ("LINK : fatal error LNK1120: 1 unresolved externals", None),
        ("error: command '/usr/bin/nvcc' failed with exit code 1", None),
        ("CMake Error at CMakeLists.txt:3 (message):", None),
    ],
)
def test_lines_that_say_that_a_build_failed(line: str, named: str | None) -> None:
    error = error_in(line)
    assert error is not None
    assert failed_files([error]) == ((named,) if named is not None else ())
    assert len(parse_build_log(MODULE + kernel("k") + line + "\n").errors) == 1


@pytest.mark.parametrize(
    "line",
    [
        "nvcc -c src/error.cu -o error.o",
        "[1/2] Building CUDA object CMakeFiles/x.dir/src/error.cu.o",
        'src/error.cu(3): warning #177-D: variable "error" was declared but never referenced',
        "error.cu:3:1: warning: error: is a label",
        "warning: error: is a label",
        "note: error: is a label",
        '    printf("a.cu(1): error: no");',
        'nvcc -DSAY="error: none" -c a.cu -o a.o',
        "ptxas info    : Compiling entry function 'error' for 'sm_90'",
        "ptxas info    : Function properties for fatal_error",
        "ptxas warning : Registers are spilled to local memory in function 'error'",
        "make: [Makefile:3: clean] Error 1 (ignored)",
        "0 errors, 3 warnings",
        "-- Performing Test HAS_ERROR - Failed",
        "remark: failed to unroll: error bound",
    ],
)
def test_other_lines_say_of_no_failure(line: str) -> None:
    assert parse_build_log(MODULE + kernel("k") + line + "\n").errors == []


def test_a_failed_build_names_each_file_once_and_its_first_error() -> None:
    lines = (
        "FAILED: CMakeFiles/x.dir/src/bad.cu.o",
        'include/u.cuh(3): error: identifier "x" is undefined',
        '1 error detected in the compilation of "src/bad.cu".',
        "b.cpp:1:1: error: expected ';'",
        "make[1]: *** [x.make:3: CMakeFiles/x.dir/killed.cu.o] Killed",
        "make: *** [Makefile:91: all] Error 2",
    )
    errors = parse_build_log("\n".join(lines)).errors
    assert failed_files(errors) == ("src/bad.cu", "b.cpp", "CMakeFiles/x.dir/killed.cu.o")
    assert first_of(errors).text == lines[1]


# lines between each other's


def test_a_line_that_may_be_of_two_kernels_is_nobodys() -> None:
    text = entry("a") + entry("b") + properties("a") + properties("b", 16) + used(20) + used(30)
    found = facts(text)
    assert found["a", "sm_90"].registers is None
    assert found["b", "sm_90"].registers is None
    assert found["b", "sm_90"].stack_frame == 16
    assert all(f.mixed_up for f in parse_build_log(text).functions)


def test_equal_lines_do_not_need_to_be_told_apart() -> None:
    text = entry("a") + entry("b") + properties("a") + properties("b", 16) + used(20) + used(20)
    found = facts(text)
    assert found["a", "sm_90"].registers == found["b", "sm_90"].registers == 20


def test_lines_are_certain_again_once_the_others_have_theirs() -> None:
    mixed = entry("a") + entry("b") + properties("a") + properties("b", 16) + used(20) + used(30)
    assert facts(mixed + kernel("c", 40))["c", "sm_90"].registers == 40


def test_one_kernel_for_two_architectures_at_once_has_only_equal_figures() -> None:
    announced = entry("k", "sm_80") + entry("k", "sm_90")
    differing = announced + properties("k", 8) + used(20) + properties("k", 8) + used(30)
    found = facts(differing)
    assert found["k", "sm_80"].registers is None
    equal = announced + properties("k", 8) + used(20) + properties("k", 8) + used(20)
    found = facts(equal)
    assert [found["k", arch].registers for arch in ("sm_80", "sm_90")] == [20, 20]


_NAMES = re.compile(r"\b(sharing|recursive|calling|indexed|spilling|_Z3fibi|_Z5heavyPKdi)\b")


@pytest.mark.parametrize("cut", ["", "head", "tail"])
@pytest.mark.parametrize("seed", range(60))
def test_no_interleaving_ever_gives_a_wrong_figure(seed: int, cut: str) -> None:
    """Two or three reports shuffled into each other line by line: the truth, or nothing."""
    choose = random.Random(seed)
    report = recorded(choose.choice(RECORDED), choose.choice(["plain", "capped", "warnings"]))
    reports = [_NAMES.sub(rf"\1_{number}", report) for number in range(choose.choice([2, 3]))]
    truth = {f.name: f for text in reports for f in _every(parse_build_log(text))}
    pending = [text.splitlines(keepends=True) for text in reports]
    shuffled, current, stays = [], 0, choose.choice([0.0, 0.5, 0.9])
    while any(pending):
        if not pending[current] or choose.random() > stays:
            current = choose.choice([n for n, lines in enumerate(pending) if lines])
        shuffled.append(pending[current].pop(0))
    at = choose.randrange(len(shuffled)) if cut else 0
    shuffled = shuffled[:at] if cut == "tail" else shuffled[at:]
    found = _every(parse_build_log("".join(shuffled)))
    assert cut or {f.name for f in found} == set(truth)
    for function in found:
        for which in ("stack", "used"):
            value, expected = getattr(function, which), getattr(truth[function.name], which)
            unknown = value is None and (function.mixed_up or cut != "")
            assert value == expected or unknown, function.name


def _every(log: BuildLog) -> list[Any]:
    return [one for function in log.functions for one in (function, *function.callees)]


def test_lines_that_a_filter_left_out_are_not_known() -> None:
    kept = "".join(
        f"{line}\n" for line in recorded("13.0.88").splitlines() if line.startswith("ptxas")
    )
    found = facts(kept)["spilling", "sm_80"]
    assert (found.registers, found.stack_frame, found.spill_stores) == (32, None, None)


@pytest.mark.parametrize("version", RECORDED)
def test_warnings_alone_give_their_figures(version: str) -> None:
    """``-Xptxas -warn-spills`` without ``-v``."""
    text = "".join(
        f"{line}\n"
        for line in recorded(version, "warnings").splitlines()
        if line.startswith("ptxas warn")
    )
    ((_, fact),) = [item for item in facts(text).items() if item[0][0] == "spilling"]
    assert fact.stack_frame == 552
    assert fact.spill_stores is not None
    assert fact.spill_stores > 1000
    assert fact.registers is None


# nvlink


def test_nvlinks_figures_are_the_linked_kernels() -> None:
    found = facts(NINJA.read_text())
    for arch, registers in (("sm_80", 44), ("sm_90", 46)):
        linked = found["_Z5callsPKiPii", arch]
        assert linked.ptxas is not None
        assert linked.stack_frame == 0
        assert linked.ptxas.linked_stack == linked.cumulative_stack == 264
        assert linked.registers == registers
        assert linked.kind == "entry"


def linked(name: str, registers: int, stack: int) -> str:
    return (
        f"nvlink info    : Function properties for '{name}':\n"
        f"nvlink info    : used {registers} registers, used 0 barriers, {stack} stack, "
        "0 bytes smem, 364 bytes cmem[0], 0 bytes lmem\n"
    )


def test_a_link_that_names_no_architecture_is_taken_only_where_it_does_not_matter() -> None:
    compiled = kernel("k", 20, "sm_80") + kernel("k", 24, "sm_90")
    differing = facts(compiled + linked("k", 30, 64) + linked("k", 32, 64))
    assert differing["k", "sm_80"].registers == 20
    assert differing["k", "sm_80"].cumulative_stack is None
    equal = facts(compiled + linked("k", 30, 64) + linked("k", 30, 64))
    assert equal["k", "sm_80"].registers == 30
    assert equal["k", "sm_90"].cumulative_stack == 64


def test_links_between_each_others_lines_are_not_taken() -> None:
    (name_a, used_a), (name_b, used_b) = (
        linked(name, registers, 64).splitlines(keepends=True)
        for name, registers in (("a", 30), ("b", 32))
    )
    found = facts(kernel("a") + kernel("b") + name_a + name_b + used_b + used_a)
    assert found["a", "sm_90"].cumulative_stack is None
    assert found["b", "sm_90"].registers == 8


@pytest.mark.parametrize("version", [v for v in RECORDED if int(v.partition(".")[0]) >= 13])
def test_a_log_of_a_link_alone(version: str) -> None:
    found = {name: fact for (name, _), fact in facts(recorded(version, "linked")).items()}
    assert found["calling"].cumulative_stack == 904
    assert found["calling"].stack_frame is None
    assert not found["recursive"].stack_known


# the same kernel twice


def test_an_equal_repetition_counts_once_and_another_figure_is_shown_apart() -> None:
    same = parts_of(parse_build_log(kernel("k", 20) + kernel("k", 20)))
    assert [part.number for part in same] == [1]
    other = parts_of(parse_build_log(kernel("k", 20) + kernel("k", 30)))
    assert [(part.number, len(part.functions)) for part in other] == [(1, 1), (2, 1)]


# judgement


def verdict_of(text: str, name: str = "k") -> tuple[str, str]:
    (fact,) = [fact for (found, _), fact in facts(text).items() if found == name]
    verdict = judge(fact)
    return verdict.kind, verdict.text


def test_clean_only_if_nothing_is_there_at_all() -> None:
    assert verdict_of(kernel("k")) == ("clean", "clean")
    called = kernel("k") + properties("callee", 0, 16, 16)
    assert verdict_of(called) == ("spill", "spill 16/16 B in callee")
    assert verdict_of(kernel("k") + linked("k", 8, 264))[0] == "unknown"
    unknown = "ptxas warning : Stack size for entry function 'k' cannot be statically determined\n"
    assert verdict_of(unknown + kernel("k")) == (
        "call-stack",
        "stack depth unknown (recursion or indirect call)",
    )
    assert verdict_of(entry("k") + "ptxas info    : Used 31 registers, 132+4 bytes lmem\n") == (
        "unknown",
        "stack of 136 B in called functions, cause not known from a log",
    )


def test_figures_that_are_not_there_are_not_clean() -> None:
    assert verdict_of(entry("k") + "ptxas info    : Used 31 registers\n")[0] == "unknown"


def findings_of(text: str) -> list[tuple[str, int, str]]:
    ((_, fact),) = facts(text).items()
    return [(f.cause, f.bytes, f.confidence) for f in find_reported(fact, "a.cu", "sm_90")]


def test_findings_say_what_figures_support_and_no_more() -> None:
    frame_only = entry("k") + properties("k", 256) + used(20)
    assert findings_of(frame_only) == [("unattributed", 256, "possible")]
    spilled = entry("k") + properties("k", 64, 80, 90) + used(20)
    assert findings_of(spilled) == [("register-spill", 64, "likely")]


def test_an_array_beside_spills_is_seen_where_spills_cannot_fill_the_frame() -> None:
    both = entry("k") + properties("k", 320, 64, 64) + used(20)
    assert findings_of(both) == [
        ("register-spill", 64, "likely"),
        ("unattributed", 256, "possible"),
    ]


def test_a_finding_names_the_command_that_explains_it() -> None:
    ((_, fact),) = facts(entry("_Z1kILi3EEvPf") + properties("_Z1kILi3EEvPf", 256)).items()
    (finding,) = find_reported(fact, "src/a b.cu", "sm_90")
    assert finding.advice[0].code == "lmemscope explain 'src/a b.cu::k<3>' --arch sm_90"
    assert (finding.evidence, finding.evidence_facts[0].kind) == ((), "reported-frame")
    (finding,) = find_reported(fact, None, "")
    assert finding.advice[0].code == "lmemscope explain 'FILE.cu::k<3>'"


# as an input


def test_a_log_is_told_by_its_name_or_by_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "output.txt"
    path.write_text("make all\n" * 50000 + kernel("k"))
    assert kind_of(str(path)) is None
    found = kind_of_content(str(path))
    assert found is not None
    assert found.name == "build log"
    path.write_text("make all\n" * 50000)
    assert kind_of_content(str(path)) is None


def units(path: Path, *archs: str) -> tuple[Unit, ...]:
    asked = Asked(archs or ("sm_90",), explicit=bool(archs), frontend="auto", walked=False)
    return log_route.expand(Unit(path.name, str(path), "auto", ""), asked).units


def test_a_unit_for_each_file_and_architecture(tmp_path: Path) -> None:
    path = tmp_path / "build.log"
    path.write_text(NINJA.read_text())
    names = [(unit.name, unit.arch) for unit in units(path)]
    assert len(names) == len(set(names)) == 17
    assert ("build.log[src/wrap.cu]", "sm_80") in names
    assert {unit.arch for unit in units(path, "sm_80")} == {"sm_80", ""}


def test_too_large_a_log_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "build.log"
    path.write_text(kernel("k"))
    monkeypatch.setattr(log_route, "LIMIT", 50)
    (unit,) = units(path)
    assert unit.excerpt is not None
    assert unit.excerpt.problem is not None
    assert "larger than" in unit.excerpt.problem


def test_a_parallel_builds_kernels_are_found_in_files_at_hand(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "spill.cu").write_text("__global__ void spilling(int n) {}\n")
    (tmp_path / "src" / "wrap.cu").write_text("__global__ void calling(int n) {}\n")
    path = tmp_path / "build.log"
    path.write_text(MAKE_J2.read_text())
    sources = {name: file for u in units(path) for name, file in (u.excerpt or u).sources}  # type: ignore[union-attr]
    assert Path(sources["spilling"]).name == "spill.cu"
    assert Path(sources["_Z7callingPKdPdi"]).name == "wrap.cu"
    assert "indexed" not in sources


# the program


def test_scan_of_a_log_and_of_standard_input_agree() -> None:
    named = run_program("scan", str(NINJA), "--format", "json")
    piped = run_with_input(NINJA.read_bytes(), "scan", "-", "--format", "json")
    assert named.code == piped.code == 0
    for document in (named.document, piped.document):
        for unit in document["units"]:
            unit["input"] = unit["input"].partition("[")[2]
    assert named.document["units"] != []
    assert [u["kernels"] for u in named.document["units"]] == [
        u["kernels"] for u in piped.document["units"]
    ]
    spilling = piped.kernel("spilling", "sm_90")
    assert (spilling["registers"], spilling["stack_frame"]) == (32, 1264)
    assert (spilling["spill_stores"], spilling["spill_loads"]) == (3976, 4264)
    assert spilling["sass"] is spilling["ptx"] is None
    assert {unit["frontend"] for unit in piped.document["units"]} == {"log"}
    assert piped.document["default_arch"] is None


def test_a_log_in_every_format(tmp_path: Path) -> None:
    for ending in ("json", "md", "html", "sarif"):
        target = tmp_path / f"report.{ending}"
        assert run_program("scan", str(MAKE_J2), "-o", str(target)).code == 0
        assert "spilling" in target.read_text()
    explained = run_program("explain", f"{NINJA}::spilling", "--arch", "sm_80").out
    assert "lmemscope explain src/spill.cu::spilling --arch sm_80" in explained


def test_a_powershell_log_is_utf_16(tmp_path: Path) -> None:
    path = tmp_path / "build.log"
    path.write_bytes(kernel("k").replace("\n", "\r\n").encode("utf-16"))
    assert run_program("scan", str(path), "--format", "json").kernel("k")["registers"] == 8


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"make: nothing to be done\n", "holds no report of ptxas or nvlink"),
        (b"", "holds no report of ptxas or nvlink"),
        (b"\x7fELF\0\0\0", "is binary, not a build log"),
    ],
)
def test_what_is_no_log_is_refused_clearly(data: bytes, message: str) -> None:
    finished = run_with_input(data, "scan", "-")
    assert finished.code == 3
    assert f"- (standard input) {message}" in finished.out


def test_a_directory_does_not_stand_for_its_logs(tmp_path: Path) -> None:
    (tmp_path / "build.log").write_text(kernel("k"))
    assert run_program("scan", str(tmp_path)).code == 3


def test_a_build_without_kernels_is_a_fact_of_its_log() -> None:
    finished = run_program("scan", "-", "--format", "json", given=MODULE.encode())
    (unit,) = finished.document["units"]
    assert unit["kernels"] == []
    assert unit["gaps"][0]["reason"] == "the log reports no kernel"


def test_an_architecture_that_the_log_lacks_is_said() -> None:
    finished = run_program("scan", "-", "--arch", "sm_80", given=kernel("k").encode())
    assert "- (standard input) reports nothing for sm_80; it has sm_90" in finished.out


def test_lines_of_no_known_shape_are_counted() -> None:
    text = kernel("k") + "ptxas info    : Juggled 7 clubs\n"
    finished = run_program("scan", "-", "--format", "json", given=text.encode())
    (unit,) = finished.document["units"]
    assert unit["unknown_log_lines"] == ["ptxas info    : Juggled 7 clubs"]


# the gate


def check(text: str, *arguments: str, cwd: Path = ROOT) -> Finished:
    return run_program("check", "-", *arguments, cwd=cwd, given=text.encode())


SPILLING = MODULE + entry("k") + properties("k", 64, 80, 90) + used(32)


def test_the_gate_passes_a_clean_log_and_fails_one_with_spills() -> None:
    assert check(MODULE + kernel("k")).code == 0
    failed = check(SPILLING)
    assert failed.code == 1
    assert "register-spill" in failed.out


def test_limits_hold_for_a_log() -> None:
    assert check(SPILLING, "--max-spill", "170").code == 0
    assert check(SPILLING, "--max-spill", "169").code == 1
    assert check(SPILLING, "--max-frame", "63").code == 1
    assert check(SPILLING, "--max-registers", "32").code == 1
    assert check(SPILLING, "--max-registers", "32", "--max-frame", "64").code == 0
    assert check(SPILLING, "--max-registers", "31").code == 1


@pytest.mark.parametrize("name", ["failed-make.log", "failed-ninja.log"])
def test_the_log_of_a_failed_build_leaves_the_gate_undecided(name: str) -> None:
    text = (DATA / "build_log" / name).read_text()
    undecided = check(text)
    assert undecided.code == 3
    said = "-: [compile] the build failed at bad.cu, so its log may lack kernels: bad.cu(1): error:"
    assert said in undecided.out
    assert check(text, "--allow-incomplete").code == 0
    shown = run_program("scan", "-", given=text.encode())
    assert shown.code == 0
    assert said in shown.out.partition("Not known:")[2]
    written = run_program("scan", "-", "--format", "json", given=text.encode())
    gaps = [
        gap["kind"]
        for unit in written.document["units"]
        for gap in unit["gaps"]
        if gap["stage"] == "compile"
    ]
    assert gaps == ["evidence"]


def test_a_failed_build_without_any_report_is_as_undecided() -> None:
    fatal = "ptxas fatal   : Ptx assembly aborted due to errors\n"
    assert check(fatal).code == 3
    failed = check(fatal + MODULE + kernel("k"), "--arch", "sm_90")
    assert failed.code == 3
    assert "the build failed, so its log may lack kernels: ptxas fatal" in failed.out


def test_figures_that_are_mixed_up_leave_the_gate_undecided() -> None:
    text = entry("a") + entry("b") + properties("a") + properties("b") + used(20) + used(30)
    undecided = check(text, "--max-registers", "64")
    assert undecided.code == 3
    assert "are not known: lines of compilations that ran at the same time" in undecided.out


def test_a_baseline_of_one_log_judges_the_next(tmp_path: Path) -> None:
    old, new = tmp_path / "old.log", tmp_path / "new.log"
    old.write_text(NINJA.read_text())
    new.write_text(old.read_text().replace("256 bytes stack frame", "320 bytes stack frame"))
    baseline = str(tmp_path / "known.json")
    assert run_program("baseline", str(old), "-o", baseline).code == 0
    assert run_program("check", str(old), "--baseline", baseline).code == 0
    failed = run_program("check", str(new), "--baseline", baseline)
    assert failed.code == 1
    assert failed.out.startswith("worse: indexed")


def test_two_logs_compared_kernel_by_kernel(tmp_path: Path) -> None:
    old, new = tmp_path / "old.log", tmp_path / "new.log"
    old.write_text(NINJA.read_text())
    new.write_text(old.read_text().replace("256 bytes stack frame", "320 bytes stack frame"))
    finished = run_program("diff", str(old), str(new), "--format", "json")
    document = json.loads(finished.out)
    changed = [(d["kernel"], d["arch"], d["change"]) for d in document["kernels"]]
    assert changed == [("indexed", "sm_80", "worse"), ("indexed", "sm_90", "worse")]


def test_the_page_shows_what_the_command_prints() -> None:
    page = (ROOT / "docs" / "builds.md").read_text()
    ((command, shown),) = re.findall(r"```console\n\$ lmemscope (.*?)\n(.*?)```", page, re.DOTALL)
    printed = run_program(*shlex.split(command)).out
    for line in shown.splitlines():
        assert line in printed
