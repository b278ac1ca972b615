"""Every format of a report whose every string is hostile: nothing of it becomes more than text."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from lmemscope.analysis.groups import templates
from lmemscope.exporters import render
from lmemscope.exporters.explanation import Explainer
from lmemscope.exporters.formats import formats_of
from lmemscope.exporters.github import render_annotations
from lmemscope.exporters.json import parse_report, render_json, to_document
from lmemscope.formats.codec import encode
from lmemscope.gate import compare
from lmemscope.gate.difference import difference
from lmemscope.model import GateResult, Policy, Report
from tests.support.builders import gate_as
from tests.support.hostile import TEXTS, document, hostile, strings_of
from tests.support.program import run_program, start_program

UNSEEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""Characters that a screen obeys, or shows as nothing."""
COMMAND = re.compile(
    r"^\s*::(error|warning|notice|debug|group|endgroup|echo|[\w-]*-[\w-]*)(\s.*)?::", re.I
)
"""What GitHub's runner takes for a command (ActionCommand.TryParseV2)."""
OLD_COMMAND = re.compile(r"##(vso|teamcity)?\[", re.I)
VARIANTS = range(7)
each_text = pytest.mark.parametrize("text", TEXTS, ids=repr)


def obeyed(output: str) -> list[str]:
    """What is in a text that a screen or a server would obey, in ASCII."""
    unseen = (output[max(one.start() - 40, 0) : one.end() + 20] for one in UNSEEN.finditer(output))
    commands = (
        line for line in output.split("\n") if COMMAND.match(line) or OLD_COMMAND.search(line)
    )
    return [ascii(one) for one in (*unseen, *commands)][:3]


@functools.cache
def made(text: str, variant: int = 0) -> Report:
    return hostile(text, variant)


def gate(report: Report) -> GateResult:
    """What the gate says, without expectations: hostile ones are refused before."""
    units = tuple(replace(unit, directives=()) for unit in report.units)
    return compare.compare(replace(report, units=units), Policy(), None)


def outputs(report: Report) -> Iterator[tuple[str, str]]:
    """Whatever the program can make of a report, with what it is."""
    for name in formats_of(Report):
        yield name, render(report, name, verbose=True)
    yield "table 80", render(report, "table", verbose=True, width=80)
    yield "json with accesses", render_json(report, with_accesses=True)
    explainer = Explainer(color=False, width=100)
    for unit in report.units:
        for kernel in unit.kernels:
            (group,) = templates([(unit, kernel)])
            yield "explanation", explainer.explain_group(group)
    result = gate(report)
    yield "gate", gate_as("text", result, verbose=True)
    yield "gate markdown", gate_as("markdown", result, report)
    yield "gate comment", gate_as("pr-comment", result, report)
    yield "gate junit", gate_as("junit", result, report)
    yield "gate sarif", gate_as("sarif", result, report)
    other = made("x")
    for name in ("table", "markdown", "json", "pr-comment"):
        yield f"difference {name}", render(difference(report, other), name)


@each_text
def test_no_format_holds_what_a_screen_or_a_server_obeys(text: str) -> None:
    for name, output in outputs(made(text)):
        assert (name, obeyed(output)) == (name, [])


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_word_of_the_vocabulary_is_laid_out_safely(variant: int) -> None:
    text = "\x1b[31m<b>\u202e"
    for name, output in outputs(made(text, variant)):
        assert (name, obeyed(output)) == (name, [])


def test_every_string_of_the_document_is_hostile() -> None:
    """The builder follows the types: what is not this text is a word of the vocabulary."""
    text = "\x1b hostile"
    words = {*strings_of(json.loads(document(text)))} - {text}
    assert all(re.fullmatch(r"[\w./-]+", word) for word in words)
    whole = json.loads(document(text))
    assert all(whole["units"][0]["kernels"][0][name] for name in ("quotes", "accesses", "calls"))


@each_text
def test_saved_reports_come_back_as_they_were(text: str) -> None:
    report = made(text)
    saved = render_json(report, with_accesses=True)
    assert saved.isascii()
    again = parse_report(saved)
    assert encode(to_document(again, with_accesses=True)) == encode(
        to_document(report, with_accesses=True)
    )


@each_text
def test_junit_is_xml_that_holds_the_names(text: str) -> None:
    report = made(text)
    root = ElementTree.fromstring(gate_as("junit", gate(report), report))
    assert root.tag == "testsuites"
    assert {element.tag for element in root.iter()} <= {
        "testsuites", "testsuite", "testcase", "failure", "error", "skipped"
    }  # fmt: skip


@each_text
def test_an_annotation_is_one_line_and_stays_in_its_fields(text: str) -> None:
    result = gate(made(text))
    plain = gate(made("x"))
    output = render_annotations(result)
    assert output.count("\n") == render_annotations(plain).count("\n")
    for line in output.splitlines():
        match = re.fullmatch(
            r"::(?:error|notice) ((?:file|line|title)=[^:,]*(?:,[a-z]+=[^:,]*)*)::(.*)", line
        )
        assert match is not None, line
        names = [one.partition("=")[0] for one in match[1].split(",")]
        assert names in (["file", "line", "title"], ["file", "title"], ["title"])


@each_text
def test_uris_of_sarif_name_files_of_this_machine(text: str) -> None:
    log = json.loads(render(made(text), "sarif"))
    found = [value for key, value in _items(log) if key == "uri"]
    assert found
    for uri in found:
        assert re.fullmatch(r"(file:///(?!/))?[A-Za-z0-9_.~/%-]*", uri), uri
        assert not uri.startswith("//")
        assert "/../" not in uri or not uri.startswith("file:")
    for key, value in _items(log):
        # Links in messages lead out of the viewer.
        assert key != "text" or "](" not in value


def _items(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, str):
                yield key, item
            yield from _items(item)
    elif isinstance(value, list):
        for item in value:
            yield from _items(item)


class Shape(HTMLParser):
    """Elements and attributes of a page, in their order, without what they say."""

    def __init__(self) -> None:
        super().__init__()
        self.shape: set[str] = set()
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.shape |= {tag, *(f"{tag} {name}" for name, _ in attrs)}
        self.scripts += tag == "script"
        for name, value in attrs:
            assert name != "href" or re.fullmatch(r"#g\d+", value or "")
            assert name != "style" or re.fullmatch(r"[\w:.,% ()-]*", value or "")


@each_text
def test_a_page_has_the_elements_of_a_harmless_one(text: str) -> None:
    def shape(of: str) -> Shape:
        parser = Shape()
        parser.feed(render(made(of), "html"))
        return parser

    found, expected = shape(text), shape("x")
    # A name too long or too short for its box in the map is said below it.
    assert found.shape <= expected.shape | {
        "p", "p class", "pre", "pre class", "text"
    }  # fmt: skip
    assert found.scripts == 1


@each_text
def test_markdown_links_and_mentions_nothing(text: str) -> None:
    output = render(made(text), "markdown", verbose=True)
    outside = re.sub(r"(?ms)^\s*(`{3,})\w*\n.*?^\s*\1$", "", output)
    outside = re.sub(r"`[^`\n]*`", "", outside)
    outside = re.sub(r"(?ms)^ *<pre>$.*?^ *</pre>$", "", outside)
    assert not re.findall(r"https?://|\bwww\.|@\w|(?<!&)#\d|\bGH-\d|\$\w", outside)
    # A summary is HTML, in which brackets mean nothing.
    assert not re.findall(r"(?<!\\)\[", re.sub(r"(?m)^<summary>.*$", "", outside))


@each_text
def test_colour_adds_styles_and_nothing_else(text: str) -> None:
    report = made(text)
    for width in (None, 80):
        shown = render(report, "table", color=True, width=width, verbose=True)
        assert not UNSEEN.search(re.sub(r"\x1b\[[\d;]*m", "", shown))
    allowed = {"\x1b[0m", "\x1b[1;31m", "\x1b[32m", "\x1b[33m", "\x1b[35m", "\x1b[36m"}
    plain = render(report, "table", color=True, width=None, verbose=True)
    assert {*re.findall(r"\x1b[^m]*m", plain)} <= allowed


# --- the command line ------------------------------------------------------------------------

TEXT = "a\x1b]0;t\x07\u202e\x9b\n::error::x ##[add-mask]y\udcff"


@pytest.mark.parametrize(
    "arguments",
    [
        ("scan", "FILE"),
        ("scan", "FILE", "--format", "json"),
        ("scan", "FILE", "--kernel", TEXT),
        ("explain", "FILE"),
        ("explain", f"FILE::{TEXT}"),
        ("check", "FILE"),
        ("check", "FILE", "-v", "--format", "junit"),
        ("baseline", "FILE"),
        ("diff", "FILE", "FILE", "--format", "markdown"),
        ("dump", "FILE", "--ptx"),
        ("scan", TEXT),
        ("scan", "FILE", "--arch", TEXT),
        ("scan", "FILE", "--format", TEXT),
        ("scan", "FILE", "-o", TEXT),
        ("scan", f"--{TEXT}", "FILE"),
        ("rules", TEXT),
        ("schema", TEXT),
        (TEXT,),
    ],
    ids=lambda arguments: " ".join(arguments).encode("ascii", "backslashreplace").decode()[:40],
)
def test_nothing_that_a_command_says_is_obeyed(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "report.json").write_text(document(TEXT))
    given = [one.replace("FILE", "report.json") for one in arguments]
    done = run_program(*given, cwd=tmp_path, GITHUB_ACTIONS="")
    said = done.out + done.err
    assert said
    assert obeyed(said) == []


def test_a_stream_that_is_ascii_takes_a_report(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text(document("naïve 你好"))
    done = start_program("scan", "report.json", cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert done.code == 3
    assert "Traceback" not in done.err
