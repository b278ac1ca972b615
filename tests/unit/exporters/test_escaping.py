"""Foreign text in the page and in Markdown: it is shown, and it does nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from msgspec.structs import replace

from lmemscope.exporters import escape_html, escape_markdown, render
from lmemscope.exporters.escape import visible
from lmemscope.model import (
    NOT_GIVEN,
    Advice,
    Disagreement,
    Failure,
    Gap,
    KernelReport,
    LineUse,
    Quotes,
    Report,
    SiteClass,
    SourceLine,
    SourceLocation,
    UnitReport,
)
from tests.support.builders import changed, judged, report
from tests.support.program import ROOT

EXPORTERS = ROOT / "lmemscope" / "exporters"
HOSTILE = (
    "<script>alert(1)</script>",
    "</script></style><img src=x onerror=alert(1)>",
    '"onload="alert(1)',
    "a|b",
    "a\\|b",
    "`code`",
    "``` \n```",
    "one\ntwo\r\n# three\n\n<b>four</b>",
    "</details><h1>out</h1>",
    "\x1b[31mred\x1b]0;title\x07",
    "abc\u202etxt.uc\u2066",
    "\ud800\x00\x7f\x9b",
    "[link](javascript:alert(1)) ![x](http://x.test/y.png) @someone",
    "*bold* _it_ ~~no~~ # &lt; &copy;",
    "'; drop",
)
UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
ALLOWED = frozenset(
    "html head meta title style body h1 h2 h3 p details summary ul li pre code b small span i div "
    "table thead tbody tr th td button a figure figcaption svg g rect text script".split()
)


def hostile_report(text: str) -> Report:
    """A report in which everything that comes from inputs is this text."""
    place = SourceLocation(text, 7)
    kernel = judged("k", "dynamic-index", object_=text)
    facts = kernel.facts
    found = replace(facts.objects[0], name=text, type=text, declared=place)
    facts = changed(
        facts,
        name=text,
        demangled=text,
        location=place,
        objects=(found,),
        lines=(LineUse.of(place, "local-object", SiteClass(1, 0, 4, 0)),),
        ptxas=replace(facts.ptxas, stack_frame=80) if facts.ptxas else None,
        disagreements=(Disagreement(text, {text: 1}),),
    )
    finding = replace(
        kernel.findings[0],
        object=text,
        type=text,
        message=f"`{text}` and {text}",
        location=place,
        advice=(Advice(text, text),),
        evidence=(text,),
        evidence_facts=NOT_GIVEN,
    )
    shown = KernelReport.of(
        facts,
        replace(kernel.verdict, text=text),
        (finding,),
        Quotes(sass=(text, text), sass_at=(place, None)),
    )
    clean = judged("clean")
    quiet = changed(clean, facts=replace(clean.facts, demangled=text))
    made = report(shown, quiet, gaps=(Gap("ptx", text),))
    unit = replace(made.units[0], input=text, source_lines=(SourceLine(text, 7, text),))
    failed = UnitReport(
        input=text,
        frontend="nvrtc",
        arch=text,
        options=(),
        failure=Failure("compile", text, text, None, text),
        gaps=(),
        kernels=(),
    )
    return replace(made, units=(unit, failed), notes=(text,), version=text)


class Page(HTMLParser):
    """What a browser would make of a page: elements, attributes and text."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in ("meta", "br"):
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.stack[-1:] not in (["script"], ["style"]):
            self.text.append(data)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_page_shows_hostile_text_and_runs_nothing_of_it(text: str) -> None:
    page = render(hostile_report(text), "html", color=False, width=None, verbose=True)
    parser = Page()
    parser.feed(page)
    assert parser.stack == []
    assert set(parser.tags) <= ALLOWED
    assert parser.tags.count("script") == parser.tags.count("style") == 1
    assert not {name for name in parser.attributes if name.startswith("on")}
    assert "src" not in parser.attributes
    assert not UNSEEN.search(page)
    assert page.encode("utf-8")
    assert visible(text).strip() in "".join(parser.text)


def outside_of_code(markdown: str) -> Iterator[str]:
    """Lines of Markdown without fenced blocks, code spans and backslash escapes."""
    fence = ""
    for line in markdown.splitlines():
        opening = re.match(r"\s*(`{3,})", line)
        if fence:
            if line.strip() == fence:
                fence = ""
            continue
        if opening:
            fence = opening[1]
            continue
        yield re.sub(r"`[^`]*`", "", re.sub(r"\\[^\w\s]", "", line))
    assert not fence


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_shows_hostile_text_and_stays_as_it_is_laid_out(text: str) -> None:
    made = render(hostile_report(text), "markdown", color=False, width=None, verbose=True)
    harmless = render(hostile_report("x"), "markdown", color=False, width=None, verbose=True)
    assert not UNSEEN.search(made)
    assert made.encode("utf-8")
    lines, expected = list(outside_of_code(made)), list(outside_of_code(harmless))
    tags = {tag for line in lines for tag in re.findall(r"</?\w+", line)}
    assert tags <= {tag for line in expected for tag in re.findall(r"</?\w+", line)} | {
        "<code",
        "</code",
    }
    for mark in ("#", "| "):
        assert sum(line.startswith(mark) for line in lines) == sum(
            line.startswith(mark) for line in expected
        )
    bars = [line.count("|") for line in lines if line.startswith("|")]
    assert bars == [line.count("|") for line in expected if line.startswith("|")]
    # A summary is HTML, in which Markdown means nothing.
    assert not any("](" in line for line in lines if not line.startswith("<summary>"))
    assert not re.search(r"@\w", "\n".join(lines))


def test_what_cannot_be_seen_is_spelled_out() -> None:
    assert visible("a\x1b[1m\u202eb\ud800") == r"a\x1b[1m\u202eb\ud800"
    assert visible("a\r\n\tb").split() == ["a", "b"]
    assert visible("a\r\n\tb", lines=True) == "a\n\tb"
    assert visible("naïve größe 你好 a\u00a0b") == "naïve größe 你好 a\u00a0b"


def test_a_listing_is_shown_and_not_obeyed() -> None:
    from lmemscope.commands import dump

    shown = dump.shown("ptx", [b"ld.local \x1b]0;t\x07\xff\r\n::add-mask::x\n\tok\n"], color=True)
    assert shown == "\x1b[33;1mld.local \\x1b]0;t\\x07\ufffd\x1b[0m\n\\x3a:add-mask::x\n\tok\n"


def test_a_failure_of_the_plugin_is_shown_and_not_obeyed() -> None:
    from lmemscope.pytest_plugin import failed

    with pytest.raises(pytest.fail.Exception) as found:
        failed("[compile] \x1b[31m\u202e", "::error::x")
    assert str(found.value) == "[compile] \\x1b[31m\\u202e\n\\x3a:error::x"


def test_sentences_keep_their_code_in_both_formats() -> None:
    sentence = "`a<b>` is <c>, `d"
    assert escape_html.prose(sentence).markup == "<code>a&lt;b&gt;</code> is &lt;c&gt;, `d"
    assert escape_markdown.prose(sentence).markup == r"`a<b>` is \<c\>, \`d"


def test_cells_and_blocks_hold_what_they_are_given() -> None:
    row = escape_markdown.row((escape_markdown.code("a|b"), "c|d", escape_markdown.code("e`|\\f")))
    assert row.markup == r"| `a\|b` | c\|d | <code>e&#96;&#124;&#92;f</code> |"
    fenced = [line.markup for line in escape_markdown.block(["a ```` b", "```"])]
    assert fenced == ["`````text", "a ```` b", "```", "`````"]


MADE = {"Html": "escape_html", "Markdown": "escape_markdown", "Shown": "escape_terminal"}
"""Types of text that is safe in its format, and the module that makes them."""

ONLY: dict[str, set[str]] = {
    "click.echo": {"commands/say.py", "commands/output.py", "commands/group.py"},
    "click.secho": set(),
    "click.style": set(),
    "print": set(),
    "codec.pretty": {"exporters/escape_json.py"},
    "json.dumps": {"exporters/html.py"},
    "ElementTree.tostring": {"exporters/escape_xml.py"},
    "pytest.fail": {"pytest_plugin.py"},
    "quote": {"exporters/escape_sarif.py"},
    "textwrap.wrap": {"exporters/escape_terminal.py"},
}
"""Functions by which text leaves the program, and where alone they may stand."""


PIPED = re.compile(r"(?<!\|)\|\s*(\w+)")
PLAIN = {"join", "length", "format", "max", "map", "reject", "selectattr", "list"}
"""Filters whose results are escaped like any other value."""


def modules() -> list[Path]:
    package = ROOT / "lmemscope"
    found = [
        *(package / "exporters").rglob("*.py"),
        *(package / "commands").glob("*.py"),
        package / "pytest_plugin.py",
    ]
    return sorted(found)


@pytest.mark.parametrize("module", modules(), ids=lambda path: path.stem)
def test_markup_is_made_by_the_escaping_modules_alone(module: Path) -> None:
    """`Html` and the like are made elsewhere by `constant` only, of what the module spells."""
    tree = ast.parse(module.read_text())
    spelled = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if (maker := MADE.get(node.func.id)) is not None:
            assert module.stem == maker, ast.unparse(node)
        if node.func.id == "constant":
            (given,) = node.args
            named = {part.id for part in ast.walk(given) if isinstance(part, ast.Name)}
            made_here = module.stem.startswith("escape_")
            assert named <= spelled or made_here, ast.unparse(node)
            assert not any(isinstance(part, ast.JoinedStr) for part in ast.walk(given))


@pytest.mark.parametrize("template", sorted((EXPORTERS / "page").glob("*.html")), ids=str)
def test_no_template_writes_a_value_unescaped(template: Path) -> None:
    """Every value passes through `escape_html.shown`; only these filters make markup of text."""
    text = template.read_text()
    code = "\n".join(re.findall(r"{[{%](.*?)[%}]}", text))
    assert {*PIPED.findall(code)} <= PLAIN | {"lines", "prose"}
    assert not re.search(r"autoescape|Markup|__|{%-?\s*(?:include|extends|filter|call)", text)
    # An attribute without quotes would end at a space, and a script or a style take what it holds.
    assert not re.search(r"=\s*{{", text)
    assert {*re.findall(r"<(?:script|style)>(.*?)</", text)} <= {"{{ script }}", "{{ style }}"}
    assert not re.search(r"\son\w+=|\b(?:src|srcset|action|formaction)=", text)
    assert {*re.findall(r'href="(.)', text)} <= {"#"}


def test_what_a_template_does_not_know_is_no_empty_text() -> None:
    for odd in (None, 1.5, ["a"], b"a"):
        with pytest.raises(TypeError):
            escape_html.shown(odd)
    assert escape_html.shown(True) == escape_html.Html("True")


@pytest.mark.parametrize("module", modules(), ids=lambda path: path.stem)
def test_text_leaves_the_program_in_few_places(module: Path) -> None:
    name = module.relative_to(ROOT / "lmemscope").as_posix()
    tree = ast.parse(module.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert name in ONLY.get(called, {name}), ast.unparse(node)
            assert called not in ("sys.stdout.write", "sys.stderr.write"), ast.unparse(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert "\x1b" not in node.value or module.stem == "escape_terminal", node.value
