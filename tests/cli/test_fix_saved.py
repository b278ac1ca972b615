"""What ``lmemscope fix`` saved, shown in reports: only where it still holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from lmemscope.commands.schema import structure
from lmemscope.errors import InputError, UsageError
from lmemscope.exporters import fix_document
from lmemscope.formats.json_schema import json_schema
from tests.conftest import Once
from tests.support.program import Finished, run_program

RING = """\
#include "size.h"
extern "C" __global__ void __launch_bounds__(64) ring(const float *in, float *out, int n) {
  float window[SIZE] = {};
  for (int i = 0; i < n; ++i) {
    window[i & 7] += in[i];
    out[i] = window[(n - i) & 7];
  }
}
"""
SIZE = "#define SIZE 8\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, once: Once) -> Path:
    """A directory with a kernel and with what was tried on it."""

    def made() -> str:
        done = run_program("fix", "ring.cu", "--arch", "sm_90", "--format", "json", cwd=tmp_path)
        assert done.code == 0, done.err
        return done.out

    monkeypatch.chdir(tmp_path)
    (tmp_path / "ring.cu").write_text(RING)
    (tmp_path / "size.h").write_text(SIZE)
    (tmp_path / "fix.json").write_text(once("fix-of-ring", made))
    return tmp_path


def explained(here: Path, *more: str) -> Finished:
    return run_program("explain", "ring.cu", *more, cwd=here)


FROM = ("--fix-from", "fix.json")


@pytest.mark.toolchain
def test_a_document_shows_what_trying_shows(here: Path) -> None:
    tried = explained(here, "--fix")
    saved = explained(here, *FROM)
    assert "Proven fix: " in tried.out
    assert saved.out == tried.out
    assert (saved.code, saved.err) == (0, "")


@pytest.mark.toolchain
@pytest.mark.parametrize("ending", ["json", "md", "html", "sarif"])
def test_every_format_shows_it(here: Path, ending: str) -> None:
    assert run_program("report", "ring.cu", "-o", "saved.json", cwd=here).code == 0
    for source in ("ring.cu", "saved.json"):
        done = run_program("report", source, *FROM, "-o", f"out.{ending}", cwd=here)
        assert (done.code, done.err) == (0, "")
        text = (here / f"out.{ending}").read_text()
        assert "window_lmem[SIZE][64]" in text
    if ending == "sarif":
        (result,) = json.loads(text)["runs"][0]["results"]
        (change,) = result["fixes"][0]["artifactChanges"]
        assert change["artifactLocation"]["uri"] == "ring.cu"


def changed(document: dict[str, Any], **fields: Any) -> dict[str, Any]:
    for one in document["candidates"]:
        one |= fields
    return document


def of_another_kernel(document: dict[str, Any]) -> dict[str, Any]:
    return changed(document, kernel="other")


def with_other_figures(document: dict[str, Any]) -> dict[str, Any]:
    for one in document["candidates"]:
        one["before"]["registers"] += 1
    return document


def of_another_file(document: dict[str, Any]) -> dict[str, Any]:
    for one in document["candidates"]:
        one["patch"] = one["patch"].replace("b/ring.cu", "b/../ring.cu")
    return document


def without_units(document: dict[str, Any]) -> dict[str, Any]:
    del document["units"]
    return document


def of_unknown_files(document: dict[str, Any]) -> dict[str, Any]:
    document["units"][0]["files"] = None
    return document


def by_another_compiler(document: dict[str, Any]) -> dict[str, Any]:
    document["units"][0]["tools"][0]["version"] = "11.8"
    return document


def of_one_object(document: dict[str, Any]) -> dict[str, Any]:
    return changed(document, object="other", fingerprint="0")


Change = Callable[[dict[str, Any]], dict[str, Any]]


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (of_another_kernel, "ring.cu has no kernel other any more"),
        (lambda found: changed(found, fingerprint="0"), "1 finding that it has of ring.cu is not"),
        (of_one_object, "it says nothing of window in ring.cu"),
        (with_other_figures, "ring in ring.cu has other figures than when it was tried"),
        (of_another_file, "a patch for ring is of files that ring.cu was not compiled from"),
        (without_units, "it does not say which content of ring.cu was tried"),
        (of_unknown_files, "it does not know all files that ring.cu is compiled from"),
        (by_another_compiler, "ring.cu was compiled by nvrtc 11.8, and now by 1"),
    ],
)
def test_what_does_not_fit_is_said_and_not_shown(here: Path, change: Change, said: str) -> None:
    path = here / "fix.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    done = explained(here, *FROM)
    assert done.code == 0
    assert f"note: fix.json: {said}" in done.err
    assert "Proven" not in done.out
    assert "Tried" not in done.out


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("ring.cu", RING.replace("{}", "{1}"), "ring.cu has changed since ring.cu was tried"),
        # The machine code is the same: nobody says that the next patch of it is.
        ("size.h", f"{SIZE}// more\n", "size.h has changed since ring.cu was tried"),
    ],
)
def test_a_file_that_was_edited_is_not_what_was_tried(
    here: Path, file: str, text: str, said: str
) -> None:
    run_program("report", "ring.cu", "-o", "saved.json", cwd=here)
    (here / file).write_text(text)
    done = explained(here, *FROM)
    assert f"note: fix.json: {said}" in done.err
    assert "Proven" not in done.out
    report = run_program("report", "saved.json", *FROM, "-o", "out.md", cwd=here)
    assert said in report.err
    assert said in (here / "out.md").read_text()
    (here / file).unlink()
    gone = run_program("report", "saved.json", *FROM, "-o", "out.md", cwd=here)
    assert f"{file}, which ring.cu was compiled from, cannot be read" in gone.err


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--arch", "sm_80"), "it was tried for sm_90, and ring.cu is for sm_80 here"),
        (("-D", "X=1"), "ring.cu was tried with other options (now "),
        (("--maxrregcount", "64"), "ring.cu was tried with other options (now "),
    ],
)
def test_another_compilation_is_not_what_was_tried(
    here: Path, more: tuple[str, ...], said: str
) -> None:
    done = explained(here, *more, *FROM)
    assert f"note: fix.json: {said}" in done.err
    assert "Proven" not in done.out


@pytest.mark.toolchain
def test_another_input_has_nothing(here: Path) -> None:
    (here / "copy.cu").write_text(RING)
    done = run_program("explain", "copy.cu", *FROM, cwd=here)
    assert "note: fix.json: it holds nothing on copy.cu" in done.err
    assert "Proven" not in done.out


@pytest.mark.toolchain
def test_kernels_that_are_left_out_are_no_loss(here: Path) -> None:
    other = '\nextern "C" __global__ void other(float *o) { o[0] = 1; }\n'
    (here / "ring.cu").write_text(RING + other)
    run_program("fix", "ring.cu", "-o", "fix.json", cwd=here)
    assert run_program("explain", "ring.cu::other", *FROM, cwd=here).err == ""


@pytest.mark.toolchain
def test_a_header_that_a_macro_names_makes_a_document_prove_nothing(here: Path) -> None:
    text = RING.replace('#include "size.h"', "#define IN(x) #x\n#include IN(size.h)")
    (here / "ring.cu").write_text(text)
    run_program("fix", "ring.cu", "-o", "fix.json", cwd=here)
    found = json.loads((here / "fix.json").read_text())
    assert found["candidates"]
    assert found["units"][0]["files"] is None
    jsonschema.validate(found, json_schema(structure("fix")))
    assert "it does not know all files" in explained(here, *FROM).err


@pytest.mark.toolchain
def test_either_trying_or_what_was_tried(here: Path) -> None:
    both = explained(here, "--fix", *FROM)
    assert both.code == 2
    assert "leave one of them out" in both.err


CANDIDATE = {
    "input": "a.cu",
    "arch": "sm_90",
    "kernel": "k",
    "object": None,
    "fingerprint": "f",
    "rewrite": "select",
    "applicability": "safe",
    "verdict": "removed",
    "rank": 1,
    "before": dict.fromkeys(
        ("registers", "stack_frame", "spill_stores", "spill_loads", "shared", "ldl", "stl"), 1
    )
    | {"code_bytes": 1, "occupancy": None},
    "after": None,
    "cost_before": None,
    "cost_after": None,
    "patch": "",
    "error": None,
    "cause": "dynamic-index",
    "location": None,
    "summary": "s",
    "caveat": None,
    "run": None,
}


def a_document(**fields: Any) -> bytes:
    made = CANDIDATE | {"after": CANDIDATE["before"]} | fields
    return json.dumps({"schema": "lmemscope.fix/1", "version": "0", "candidates": [made]}).encode()


def test_a_whole_document_is_read() -> None:
    (trial,) = fix_document.SAVED.parse(a_document(), "fix.json").trials
    assert (trial.rank, trial.rewriting.rewrite) == (1, "select")


@pytest.mark.parametrize(
    ("data", "kind", "said"),
    [
        (a_document()[:-3], InputError, "fix.json is no saved document of fix"),
        (b"[]", InputError, "fix.json is no saved document of fix"),
        (a_document(rank="1"), InputError, "`$.candidates[0].rank`"),
        (a_document(verdict="fine"), InputError, "`$.candidates[0].verdict`"),
        (a_document(rank=0), InputError, "`$.candidates[0].rank`"),
        (a_document(verdict="worse"), InputError, "`$.candidates[0].rank`"),
        (a_document(after=None), InputError, "`$.candidates[0].after`"),
        (a_document(patch=None), InputError, "`$.candidates[0].patch`"),
        (a_document().replace(b"fix/1", b"fix/2"), UsageError, "of a newer lmemscope"),
        (a_document().replace(b"fix/1", b"report/1"), InputError, "it has schema lmemscope.report"),
    ],
)
def test_a_damaged_document_is_refused(data: bytes, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind) as caught:
        fix_document.SAVED.parse(data, "fix.json")
    error = caught.value
    assert isinstance(error, (InputError, UsageError))
    assert error.stage == "fix"
    assert error.message.startswith("fix.json ")
    assert said in error.message
    assert error.hint


def test_a_document_that_is_missing_ends_before_anything_is_compiled(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("__global__ void k() {}\n")
    missing = run_program("explain", "a.cu", "--fix-from", "no.json", cwd=tmp_path)
    assert missing.code == 3
    assert missing.err.startswith("error: [fix] no.json does not exist\nhint: write it with: ")
    (tmp_path / "odd.json").write_text("{")
    odd = run_program("report", "a.cu", "--fix-from", "odd.json", "-o", "o.md", cwd=tmp_path)
    assert odd.code == 3
    assert odd.err.startswith("error: [fix] odd.json is no saved document of fix")
    assert not (tmp_path / "o.md").exists()
