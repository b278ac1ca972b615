"""What the gate says accepts a finding, accepts it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from lmemscope.analysis.headers import directives_of
from lmemscope.app.acceptance import acceptance_of, with_comments
from lmemscope.app.baseline_file import BaselineFile
from lmemscope.config.settings import from_flags
from lmemscope.exporters import render
from lmemscope.gate.compare import compare
from lmemscope.lowering.compile_cuda import read_source
from lmemscope.model import (
    Acceptance,
    Account,
    Allowance,
    Checked,
    GateResult,
    Policy,
    Report,
    Unit,
)
from tests.support.gate_reports import found, known, project

ALLOW = '// lmemscope: allow dynamic-index 80 "measured"\n'
BODY = "__global__ void {name}() {{}}\n"
PLAIN = BODY.format(name="k")
IN_HEADER = '#include "{header}"\n'

Case = tuple[str, dict[str, str], bool]
CASES: dict[str, Case] = {
    "plain": (PLAIN, {}, True),
    "in a header": (IN_HEADER.format(header="k.cuh"), {"k.cuh": PLAIN}, True),
    "beside another kernel": (PLAIN + BODY.format(name="kk"), {}, True),
    "launched by a macro": ("#define LAUNCH() k<<<1, 1>>>()\n" + PLAIN, {}, False),
    "made by a macro": ("#define MAKE(n) __global__ void n() {}\nMAKE(k)\n", {}, True),
    "made with another by a macro": (
        "#define MAKE(n) __global__ void n() {} __global__ void n##_2() {}\nMAKE(k)\n",
        {},
        False,
    ),
    "defined twice": (f"#ifdef A\n{PLAIN}#else\n{PLAIN}#endif\n", {}, False),
    "in no text": ("", {}, False),
    "in a copy of a library": (
        IN_HEADER.format(header="third_party/k.cuh"),
        {"third_party/k.cuh": PLAIN},
        False,
    ),
}


def checked(directory: Path, text: str, headers: dict[str, str]) -> tuple[Unit, Report, GateResult]:
    """A unit, its report with a finding in `k`, and the gate's answer."""
    for name, content in {"a.cu": text, **headers}.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    unit = Unit("a.cu", str(directory / "a.cu"), "nvrtc", "sm_90")
    report = project(a=(found("k"),))
    result = compare(report, Policy(), None)
    return unit, report, with_comments(result, ((unit, report.units[0]),))


@pytest.mark.parametrize("name", CASES)
def test_a_comment_is_offered_only_where_it_accepts(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text, headers, takes = CASES[name]
    _, _, result = checked(tmp_path, text, headers)
    (failure,) = result.failures
    assert failure.takes_comment is takes
    shown = str(render(Checked(project(), result), "text"))
    assert ("// lmemscope: allow dynamic-index 80" in shown) is takes
    assert ("[[allowances]]" in shown) is not takes


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "k.cuh" not in case[1]])
def test_a_comment_that_is_offered_accepts_and_another_does_not(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text, headers, takes = CASES[name]
    if PLAIN not in text:
        return
    unit, report, _ = checked(tmp_path, text.replace(PLAIN, ALLOW + PLAIN, 1), headers)
    comments = directives_of(read_source(unit)[1], lambda header: header.path)
    told = replace(report, units=(replace(report.units[0], directives=comments),))
    assert (compare(told, Policy(), None).verdict == "passed") is takes


@pytest.mark.parametrize(
    "name",
    [
        "cub::detail::box<float>::run<(int)32, int [4]>",
        f"{'long::' * 40}run<int>",
        "plain",
        'odd"name\\',
    ],
)
def test_the_allowance_that_is_shown_accepts(name: str) -> None:
    report = project(a=(found(name),))
    result = compare(report, Policy(), None)
    failures = tuple(replace(one, takes_comment=False) for one in result.failures)
    shown = str(render(Checked(report, replace(result, failures=failures)), "text"))
    lines = (line.strip() for line in shown.split("accept:")[1].splitlines()[1:6])
    (table,) = tomllib.loads("\n".join(lines))["allowances"]
    assert table["bytes"] == 80
    allowance = Allowance(expires=None, place="lmemscope.toml", **table)
    assert compare(report, Policy(allowances=(allowance,)), None).verdict == "passed"


def test_several_kernels_take_an_allowance_each() -> None:
    report = project(a=(found("j"), found("k")))
    result = compare(report, Policy(), None)
    for takes in (True, False):
        failures = tuple(replace(one, takes_comment=takes) for one in result.failures)
        shown = str(render(Checked(report, replace(result, failures=failures)), "text"))
        assert "each of the 2 kernels" in shown


@pytest.mark.parametrize(
    ("paths", "flags", "typed", "command"),
    [
        (("src/", "b c.cu"), {}, {}, "lmemscope baseline src/ 'b c.cu'"),
        (("build",), {"arch": ("sm_80",)}, {"arch": 1}, "lmemscope baseline build --arch sm_80"),
        (
            ("build",),
            {},
            {"include": ("*/a.cu",), "kernels": ("f*",)},
            "lmemscope baseline build --kernel 'f*' --include '*/a.cu'",
        ),
        (("-",), {}, {}, None),
        (("saved.json",), {}, {}, None),
    ],
)
def test_the_baseline_is_written_by_a_whole_command(
    paths: tuple[str, ...], flags: dict[str, Any], typed: dict[str, Any], command: str | None
) -> None:
    given = from_flags(flags)
    result = compare(project(a=(found("k"),)), Policy(), None)
    how = acceptance_of(paths, given.settings, given, None, result, typed)
    assert how.baseline == command
    shown = str(render(Checked(project(), result, acceptance=how), "text"))
    assert ("lmemscope baseline" in shown) is (command is not None)
    since = Checked(project(), result, new_since="main", acceptance=how)
    assert "lmemscope baseline" not in str(render(since, "text"))


def test_no_baseline_is_written_for_a_part_of_its_inputs() -> None:
    given = from_flags({})
    result = compare(project(a=(found("k"),)), Policy(), known(project(b=(found("k"),))))
    left = Account("baseline", "b.cu", "left-out", "not among the given inputs")
    part = replace(result, accounts=(left,))
    file = BaselineFile("../known.json", "/")
    assert acceptance_of(("a.cu",), given.settings, given, file, part, {}) == Acceptance(None)
    whole = acceptance_of(("a.cu",), given.settings, given, file, result, {})
    assert whole.baseline == "lmemscope baseline a.cu -o ../known.json"
