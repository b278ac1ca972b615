"""Saved reports render again as they were, and the page holds what it should."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from lmemscope.errors import InputError, UsageError
from lmemscope.exporters import formats, render
from lmemscope.exporters.json import load_report, parse_report
from lmemscope.model import Report
from tests.support.answers import of_sarif
from tests.support.builders import judged, report
from tests.support.program import ROOT, Finished, run_program

FORMATS = tuple(formats.formats_of(Report))


class Balanced(HTMLParser):
    """Every element that is opened is closed, in order."""

    VOID = frozenset({"meta", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if "id" in given:
            self.ids.append(str(given["id"]))
        if tag == "a":
            self.links.append(str(given["href"]))
        assert "src" not in given, "the page loads nothing"
        if tag not in self.VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag


@pytest.mark.toolchain
@pytest.mark.parametrize("format_name", FORMATS)
def test_rendering_from_json_equals_rendering_directly(shipped: Finished, format_name: str) -> None:
    loaded = parse_report(shipped.out)
    text = render(loaded, "json", color=False, width=None, verbose=True)
    assert text == shipped.out
    again = parse_report(text)
    assert again == loaded
    first = render(loaded, format_name, color=False, width=None, verbose=True)
    assert render(again, format_name, color=False, width=None, verbose=True) == first


@pytest.mark.toolchain
def test_the_command_renders_saved_reports_without_compiling(tmp_path: Path) -> None:
    saved, endings = tmp_path / "saved.json", ("md", "html", "sarif", "json")
    source = tmp_path / "histogram.cu"
    source.write_text((ROOT / "kernels" / "histogram.cu").read_text())
    for name in ("saved.json", *(f"direct.{ending}" for ending in endings)):
        assert run_program("report", source.name, "-o", name, cwd=tmp_path).code == 0
    # Annotated lines come from the document: the source may have moved on.
    source.unlink()
    for ending in endings:
        direct, again = tmp_path / f"direct.{ending}", tmp_path / f"again.{ending}"
        assert run_program("report", str(saved), "-o", str(again)).code == 0
        assert again.read_bytes() == direct.read_bytes()
    assert "++bins[data[i] &amp; 63];" in (tmp_path / "again.html").read_text()


@pytest.mark.toolchain
def test_the_page_is_whole_and_self_contained(shipped: Finished) -> None:
    page = render(parse_report(shipped.out), "html", color=False, width=None, verbose=True)
    parser = Balanced()
    parser.feed(page)
    assert parser.stack == []
    assert {link.lstrip("#") for link in parser.links} == set(parser.ids)
    assert not re.search(r"(?:https?:)?//[\w.]+\.\w+", page), "no network"
    for part in (
        "prefers-color-scheme:dark",
        "histogram_private",
        "bins[data[i] &amp; 63]",
        "aria-label",
    ):
        assert part in page


@pytest.mark.toolchain
def test_sarif_is_what_the_published_schema_wants(shipped: Finished, tmp_path: Path) -> None:
    report = parse_report(shipped.out)
    log = json.loads(render(report, "sarif", color=False, width=None, verbose=True))
    assert len(log["runs"][0]["results"]) >= 15
    assert of_sarif(log) == []
    (tmp_path / "broken.cu").write_text("__global__ void k( {}\n")
    (tmp_path / "h.cu").write_text((ROOT / "kernels" / "histogram.cu").read_text())
    run_program("baseline", ".", cwd=tmp_path)
    run_program("check", ".", "--format", "sarif", "-o", "log.sarif", cwd=tmp_path)
    gate_log = json.loads((tmp_path / "log.sarif").read_text())
    (run,) = gate_log["runs"]
    assert run["results"][0]["suppressions"]
    assert run["invocations"][0]["toolExecutionNotifications"]
    assert of_sarif(gate_log) == []


def test_the_schema_would_object() -> None:
    log = json.loads(render(report(judged("k")), "sarif", color=False, width=None, verbose=True))
    assert of_sarif(log) == []
    log["runs"][0]["results"] = [{"level": "fatal"}]
    assert len(of_sarif(log)) == 2


def test_names_are_escaped() -> None:
    page = render(report(judged("a<b>&c")), "html", color=False, width=None, verbose=True)
    assert "a&lt;b&gt;&amp;c" in page
    assert "a<b>" not in page


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "lmemscope.report/1"}'])
def test_what_is_no_report_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"r\.json"):
        load_report(str(path))


def test_reports_of_another_schema_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text('{"schema": "lmemscope.report/2"}')
    with pytest.raises(UsageError, match="report/2"):
        load_report(str(path))
