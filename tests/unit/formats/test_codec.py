"""The codec: nothing is lost, nothing is believed that does not fit, and the schema is true."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import random
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import jsonschema
import pytest
from msgspec import Struct
from msgspec.structs import fields, replace

import lmemscope
from lmemscope.commands.schema import SCHEMAS, structure
from lmemscope.errors import InputError, LmemscopeError, UsageError
from lmemscope.exporters import formats, render
from lmemscope.exporters.json import load_report, parse_report, render_json, to_document
from lmemscope.formats import codec, documents
from lmemscope.formats.documents import schema_of
from lmemscope.formats.json_schema import json_schema
from lmemscope.gate import baseline
from lmemscope.lowering import store
from lmemscope.model import (
    Baseline,
    BaselineEntry,
    Failure,
    Gap,
    KernelReport,
    Report,
    Tool,
    UnitReport,
    Variable,
    by_name,
)
from tests.support.builders import report_of, spilling, with_object
from tests.support.program import ROOT, Finished, run_program

FORMATS = tuple(formats.formats_of(Report))
FIXED: dict[str, Any] = {
    "tie": "function",
    "others@LocalAccess": (0,),
    "kind@Gap": "evidence",
    "kind@Failure": "uninstantiated",
    "state": "compiled",
    "rule": "LM201",
    "name@Finding": "dynamic-index",
    "schema": "lmemscope.report/1",
}


def unsaved(kind: type[Struct]) -> tuple[str, ...]:
    """What no document holds of a structure, or the seal alone."""
    return (*getattr(kind, "UNWRITTEN", ()), "digest")


def filled(
    hint: Any,
    numbers: Iterator[int],
    *,
    bare: bool = False,
    name: str = "",
    within: tuple[Any, ...] = (),
) -> Any:
    """A value of a type in which no two strings or numbers are alike.

    Args:
        hint: the type.
        numbers: where the next number comes from.
        bare: without everything that may be left out: None and empty lists.
        name: of the field that it is for.
        within: the types that it is a part of.
    """
    arguments = get_args(hint)
    if name in FIXED:
        return FIXED[name]
    if name.partition("@")[0] in ("object", "object_index") and int in arguments:
        return None if bare else 1
    if type(None) in arguments:
        (inner,) = (argument for argument in arguments if argument is not type(None))
        if inner in within:
            return None  # what refers to its own kind ends somewhere
        return None if bare else filled(inner, numbers, name=name, within=within)
    if get_origin(hint) is Literal:
        return arguments[next(numbers) % len(arguments)]
    if get_origin(hint) is tuple and arguments[-1] is not Ellipsis:
        return tuple(filled(argument, numbers, bare=bare) for argument in arguments)
    if get_origin(hint) is tuple and arguments[0] in within:
        return ()  # members of members end somewhere
    if get_origin(hint) is tuple:
        # Figures of a source by its name: one has to be there for the field to be seen.
        made = (filled(arguments[0], numbers, within=within) for _ in range(2))
        return () if bare else tuple(made)
    if get_origin(hint) is dict:
        return {filled(one, numbers): filled(other, numbers) for one, other in [arguments]}
    if issubclass(hint, Struct):
        return hint(
            **{
                field.name: filled(
                    field.type,
                    numbers,
                    bare=bare,
                    within=(*within, hint),
                    name=f"{field.name}@{hint.__name__}"
                    if f"{field.name}@{hint.__name__}" in FIXED
                    else field.name,
                )
                for field in fields(hint)
                if field.name not in unsaved(hint)
            }
        )
    if hint is bool:
        return True
    if hint is float:
        return next(numbers) + 0.5
    return next(numbers) if hint is int else f"text {next(numbers)} é"


@functools.cache
def everything(*, bare: bool = False) -> Report:
    """A report with something in every field there is, or as little as there can be."""
    whole: Report = filled(Report, itertools.count(100), bare=bare)
    if bare:
        kernel = filled(UnitReport, itertools.count(100)).kernels[0]
        poor = filled(type(kernel), itertools.count(900), bare=True)
        unit = filled(UnitReport, itertools.count(500), bare=True)
        return replace(whole, units=(replace(unit, kernels=(poor,)),))
    return replace(whole, left_out=())


@functools.cache
def everything_as_text() -> str:
    return dumped(everything())


def schema(name: str) -> dict[str, Any]:
    return json_schema(structure(name))


def violations(document: Any, name: str = "report") -> list[str]:
    found = jsonschema.Draft202012Validator(schema(name)).iter_errors(document)
    return [f"{error.json_path}: {error.message}" for error in found]


def dumped(given: Report) -> str:
    return render_json(given, with_accesses=True)


def hand_made() -> list[Report]:
    failed = UnitReport(
        input="caf\udce9.cu",
        frontend="nvrtc",
        arch="sm_90",
        options=("-DX=\x1aDCE9", "\x1a", "\x1a001A", '"\\\n'),
        failure=Failure("compile", "naïve ∑ 😀", None, "nvcc caf\udce9.cu", "line\x1b[31m\x00"),
        gaps=(Gap("names", "no \ud800 source"),),
        kernels=(),
    )
    tools = (Tool("nvrtc", "13.0", "/a/\udcff"), Tool("nvrtc", "13.5", None), Tool("x", None, None))
    return [
        everything(),
        everything(bare=True),
        report_of(spilling(), with_object()),
        Report(version="1.0", toolchain={}, units=()),
        Report(
            version="1.0",
            toolchain=by_name(tools),
            units=(failed, *everything().units),
            default_arch="no GPU",
            notes=("left out \udc80",),
        ),
    ]


def as_saved(given: Report) -> Report:
    """Without what no document holds, and with the evidence in words."""
    return to_document(given, with_accesses=True)


def without_words(value: Any) -> Any:
    """The builtins of a value, without its evidence in words, and without empty lists."""
    plain = json.loads(codec.encode(value))
    left_out = {"evidence", *KernelReport.UNWRITTEN}

    def walked(one: Any) -> Any:
        if isinstance(one, list):
            return [walked(item) for item in one]
        if isinstance(one, dict):
            kept = {key: walked(item) for key, item in one.items() if key not in left_out}
            return {key: item for key, item in kept.items() if item != []}
        return one

    return walked(plain)


class TestRoundTrip:
    @pytest.mark.parametrize("given", hand_made())
    def test_every_field_of_hand_made_reports(self, given: Report) -> None:
        text = dumped(given)
        assert parse_report(text) == as_saved(given)
        assert without_words(as_saved(given)) == without_words(given)
        assert violations(json.loads(text)) == []
        assert text == json.dumps(json.loads(text), indent=2) + "\n"

    def test_the_filler_leaves_no_default(self) -> None:
        """Else a field that the codec drops would come back as it went."""

        def walk(value: Any, place: str) -> Iterator[str]:
            if isinstance(value, tuple):
                for number, item in enumerate(value):
                    yield from walk(item, f"{place}[{number}]")
            elif isinstance(value, Struct):
                for field in fields(value):
                    item = getattr(value, field.name)
                    saved = field.name not in unsaved(type(value))
                    if saved and item in (None, (), field.default):
                        yield f"{place}.{field.name}"
                    yield from walk(item, f"{place}.{field.name}")

        assert list(walk(everything(), "")) == [".left_out"]

    @pytest.mark.toolchain
    def test_every_field_of_every_kernel(self) -> None:
        given = lmemscope.scan(ROOT / "kernels", arch=["sm_90"])
        text = dumped(given)
        assert parse_report(text) == as_saved(given)
        assert sum(len(kernel.facts.accesses) for u in given.units for kernel in u.kernels) > 500
        assert violations(json.loads(text)) == []

    @pytest.mark.toolchain
    def test_every_sample_comes_back_as_it_was_written(self, samples: Finished) -> None:
        given = parse_report(samples.out)
        assert dumped(given) == samples.out
        assert sum(len(kernel.facts.accesses) for u in given.units for kernel in u.kernels) > 300
        assert violations(samples.document) == []

    @pytest.mark.toolchain
    def test_the_shipped_document_is_as_the_schema_says(self, shipped: Finished) -> None:
        assert violations(shipped.document) == []
        assert shipped.document["left_out"] == ["accesses"]

    def test_strings_of_all_sorts(self) -> None:
        chosen = random.Random(20)
        alphabet = [*"\x1a01AD8CE9", "\ud800", "\udce9", "\udfff", "é", "😀", "\\", "u", '"', "\0"]
        for _ in range(5000):
            text = "".join(chosen.choices(alphabet, k=chosen.randrange(12)))
            line = codec.encode([text])
            line.decode("utf-8")
            assert codec.decode(line, list[str]) == [text], ascii(text)

    def test_a_byte_of_a_name_is_written_as_documented(self) -> None:
        assert codec.encode("caf\udce9\x1a.cu") == rb'"caf\u001aDCE9\u001a.cu"'
        assert codec.encode("\x1aDCE9") == rb'"\u001a001ADCE9"'

    def test_what_is_in_no_need_of_escapes_keeps_them_out(self) -> None:
        assert codec.encode("\x1a DCE9 é\x7f") == '"\\u001a DCE9 é\x7f"'.encode()

    def test_sarif_names_the_bytes_of_a_file(self) -> None:
        given = hand_made()[-1]
        text = render(given, "sarif", color=False, width=None, verbose=True)
        (note,) = json.loads(text)["runs"][0]["invocations"][0]["toolExecutionNotifications"][:1]
        place = note["locations"][0]["physicalLocation"]["artifactLocation"]
        assert place == {"uri": "caf%E9.cu"}


class TestWhatIsLeftOut:
    def test_without_accesses_the_report_knows(self) -> None:
        given = everything()
        assert given.units[0].kernels[0].facts.accesses
        text = render_json(given)
        assert '"accesses": [' not in text
        loaded = parse_report(text)
        assert loaded.left_out == ("accesses",)
        # Asked for now, they are still not there.
        assert dumped(loaded) == text
        assert render_json(loaded) == text

    def test_documents_from_before_the_added_fields(self) -> None:
        document = json.loads(dumped(everything()))
        for added in ("left_out", "notes", "default_arch"):
            del document[added]
        for unit in document["units"]:
            for added in ("directives", "tools", "unknown_log_lines", "source_lines"):
                del unit[added]
            for kernel in unit["kernels"]:
                for access, opcode in zip(kernel["accesses"], ("STL", "LD.E"), strict=True):
                    del access["generic"]
                    access["opcode"] = opcode
        loaded = parse_report(json.dumps(document))
        assert loaded.left_out == ("directives",)
        facts = loaded.units[0].kernels[0].facts
        assert [access.opcode for access in facts.counted] == ["STL"]
        assert [access.opcode for access in facts.generic] == ["LD.E"]
        for unit in document["units"]:
            for kernel in unit["kernels"]:
                del kernel["accesses"]
        assert parse_report(json.dumps(document)).left_out == ("accesses", "directives")
        assert violations(document) == []

    def test_fields_of_a_later_lmemscope_are_passed_over(self) -> None:
        document = json.loads(dumped(everything()))
        document["mood"] = {"a": [1]}
        document["units"][0]["kernels"][0]["sources"]["ptxas"]["mood"] = 3
        assert parse_report(json.dumps(document)) == as_saved(everything())


def edited(*path: str | int, to: Any) -> str:
    """A document with one value replaced, or with ... removed."""
    document = place = json.loads(everything_as_text())
    for step in path[:-1]:
        place = place[step]
    if to is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return json.dumps(document)


KERNEL = ("units", 0, "kernels", 1)
DEEP = "[" * 200_000


class TestDamage:
    @pytest.mark.parametrize(
        ("text", "said"),
        [
            (edited("units", to=3), r"Expected `array`, got `int` - at `\$\.units`"),
            (edited("units", 1, "arch", to=...), r"missing required field `arch` - at .*units\["),
            (edited(*KERNEL, "registers", to="9"), r"Expected `int \| null`, got `str`"),
            (
                edited(*KERNEL, "frame", 0, "cause", to="bad luck"),
                r"Invalid enum value 'bad luck'",
            ),
            (edited(*KERNEL, "frame", 1, "object_index", to=2), r"frame\[1\]\.object_index"),
            (edited(*KERNEL, "causes", 1, "object_index", to=-1), r"causes\[1\]\.object_index"),
            (edited(*KERNEL, "accesses", 1, "object", to=99), r"accesses\[1\]\.object"),
            (edited(*KERNEL, "findings", 0, "rule", to="LM999"), r"findings\[0\]\.rule"),
            (edited(*KERNEL, "frame", 0, "size", to=10**19), "a number of more than 19 digits"),
            (edited("default_arch", to="\x1b[31m\n") + "x\x1b", "trailing characters"),
        ],
    )
    def test_the_place_is_named(self, text: str, said: str, tmp_path: Path) -> None:
        path = tmp_path / "r.json"
        path.write_text(text)
        with pytest.raises(InputError, match=said) as raised:
            load_report(str(path))
        assert str(path) in raised.value.message
        assert raised.value.message.isprintable()

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"\xff\xfe",
            b"\xef\xbb\xbf{}",
            b"null",
            b'"lmemscope.report/1"',
            b"{}",
            b'{"schema": 1}',
            b'{"schema": "lmemscope.report/1"}',
            b'{"schema": "lmemscope.report/1", "units": "\xe9"}',
            b'{"schema": "lmemscope.report/1", "units": "\\ud800", "\\udfff": 1}',
            b'{"schema": "lmemscope.report/", "units": []}',
            b'{"schema": "lmemscope.report/one"}',
            b'{"schema": "lmemscope.baseline/1", "toolchain": {}, "findings": []}',
            b'{"schema": "\\u001b[2J"}',
            DEEP.encode(),
            b'{"schema": "lmemscope.report/1", "mood": ' + DEEP.encode(),
            b'{"schema": "lmemscope.report/1", "units": ' + b'{"kernels":' * 100_000,
            b'{"schema": "lmemscope.report/1", "mood": "\\ud800", "units": ' + DEEP.encode(),
            b'{"schema": "lmemscope.report/1", "version": ' + b"9" * 100_000 + b"}",
        ],
    )
    def test_what_is_no_report_is_an_input_error(self, data: bytes, tmp_path: Path) -> None:
        path = tmp_path / "r.json"
        path.write_bytes(data)
        with pytest.raises(InputError) as raised:
            load_report(str(path))
        assert str(path) in raised.value.message
        assert raised.value.message.isprintable()
        assert len(raised.value.message) < 500 + len(str(path))

    def test_a_document_cut_off_anywhere(self) -> None:
        data = dumped(report_of(spilling(), with_object())).encode()
        for end in range(0, len(data) - 2, 37):
            with pytest.raises(InputError):
                parse_report(data[:end])

    def test_a_document_with_any_one_value_replaced(self) -> None:
        """Either it is refused, or it is a report that every format can show."""
        text = dumped(report_of(spilling(), with_object()))
        places = list(leaves(json.loads(text)))
        chosen = random.Random(7)
        outcomes = {"refused": 0, "read": 0}
        for path in chosen.sample(places, 150):
            for to in (None, -1, "", [], {}, True, 1.5):
                document = place = json.loads(text)
                for step in path[:-1]:
                    place = place[step]
                place[path[-1]] = to
                try:
                    loaded = parse_report(json.dumps(document))
                except LmemscopeError:
                    outcomes["refused"] += 1
                    continue
                outcomes["read"] += 1
                for name in FORMATS if isinstance(to, int) else ():
                    render(loaded, name, color=False, width=None, verbose=True)
        assert min(outcomes.values()) > 50

    def test_long_numbers_in_strings_are_no_numbers(self) -> None:
        text = edited("units", 0, "options", 0, to="9" * 5000)
        assert parse_report(text).units[0].options[0] == "9" * 5000
        largest = edited(*KERNEL, "frame", 0, "size", to=10**19 - 1)
        loaded = parse_report(largest)
        assert loaded.units[0].kernels[1].facts.frame[0].size == 10**19 - 1
        # A bar for it stays within the page.
        page = render(loaded, "markdown", color=False, width=None, verbose=True)
        assert len(page) < 100_000

    def test_too_large_is_said_before_it_is_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(documents, "LARGEST", 1 << 21)
        path = tmp_path / "r.json"
        with path.open("wb") as stream:
            stream.truncate(1 << 40)
        with pytest.raises(InputError, match=r"r\.json is no saved report: it has more than"):
            load_report(str(path))

    def test_what_cannot_be_opened(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="does not exist"):
            load_report(str(tmp_path / "gone.json"))
        with pytest.raises(InputError, match="cannot be read: Is a directory"):
            load_report(str(tmp_path))

    def test_another_writer_is_named(self) -> None:
        document = json.loads(dumped(everything()))
        document["version"], document["units"][0]["frontend"] = "9.9", "qcc"
        with pytest.raises(InputError, match="Invalid enum value 'qcc'") as raised:
            parse_report(json.dumps(document))
        assert str(raised.value.hint).startswith("lmemscope 9.9 wrote it, this is ")


def leaves(value: Any) -> Iterator[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if isinstance(item, (dict, list)) and item:
            for rest in leaves(item):
                yield (key, *rest)
        yield (key,)


class TestOtherSchemas:
    @pytest.mark.parametrize(
        ("number", "message", "hint"),
        [
            ("2", "of a newer lmemscope", "upgrade lmemscope, or "),
            ("10", "of a newer lmemscope", "upgrade lmemscope, or "),
            ("9" * 6000, "of a newer lmemscope", "upgrade lmemscope, or "),
            ("0", "of an older lmemscope", "write it again with"),
        ],
    )
    def test_which_way_to_go_is_said(self, number: str, message: str, hint: str) -> None:
        text = f'{{"schema": "lmemscope.report/{number}", "units": {{}}}}'
        with pytest.raises(UsageError, match=message) as raised:
            parse_report(text, "r.json")
        assert str(raised.value.hint).startswith(hint)
        assert "this lmemscope reads lmemscope.report/1" in raised.value.message

    @pytest.mark.parametrize(
        ("text", "code", "said"),
        [
            ('{"schema": "lmemscope.report/2"}', 2, "upgrade lmemscope"),
            ('{"schema": "lmemscope.diff/1"}', 3, "it has schema lmemscope.diff/1"),
            ('{"schema": "lmemscope.report/1", "version": 1}', 3, r"is damaged: "),
            ("{", 3, "is no saved report"),
        ],
    )
    def test_exit_codes(self, tmp_path: Path, text: str, code: int, said: str) -> None:
        (tmp_path / "r.json").write_text(text)
        done = run_program("report", "r.json", "-o", "r.md", cwd=tmp_path)
        assert done.code == code
        assert said in done.err
        assert "r.json" in done.err


class TestSchema:
    @pytest.mark.parametrize("name", SCHEMAS)
    def test_it_is_a_schema_with_descriptions(self, name: str) -> None:
        done = run_program("schema", name)
        assert done.code == 0
        assert done.document == json.loads(json.dumps(schema(name)))
        jsonschema.Draft202012Validator.check_schema(done.document)
        assert done.document["title"] == schema_of(structure(name))
        assert done.document["$id"].startswith("urn:lmemscope:")
        for part in (done.document, *done.document["$defs"].values()):
            assert part["description"]

    def test_fields_are_described_from_docstrings(self) -> None:
        parts = schema("report")["$defs"]
        assert parts["LocalAccess"]["properties"]["pc"]["description"].startswith("byte offset")
        assert parts["KernelReport"]["properties"]["spill_loads"]["description"].startswith("byt")
        assert "null" in parts["LocalAccess"]["properties"]["ptx_line"]["description"]

    def test_the_schema_would_object(self) -> None:
        document = json.loads(dumped(everything()))
        document["units"][0]["kernels"][0]["causes"][0]["cause"] = "bad luck"
        del document["units"][1]["arch"]
        document["units"][1]["kernels"][0]["verdict"]["rank"].append(3)
        found = "\n".join(violations(document))
        assert "'bad luck' is not one of" in found
        assert "'arch' is a required property" in found
        assert "verdict.rank: " in found

    def test_the_list_and_what_is_not_on_it(self) -> None:
        assert list(SCHEMAS) == sorted(SCHEMAS)
        listed = run_program("schema")
        assert [line.split()[0] for line in listed.out.splitlines()] == list(SCHEMAS)
        assert "lmemscope.report/1" in listed.out
        unknown = run_program("schema", "reports")
        assert unknown.code == 2
        assert "no schema reports" in unknown.err

    def test_the_page_names_every_field_in_order(self) -> None:
        page = (ROOT / "docs" / "json.md").read_text()
        told: dict[str, list[str]] = {}
        for section in re.split(r"^#+ ", page, flags=re.MULTILINE):
            heading = re.match(r".*\[(\w+)\]$", section, re.MULTILINE)
            rows = [line.split("|")[1:3] for line in section.splitlines() if line[:2] == "| "][1:]
            for first, second in rows:
                name, cell = (heading[1], first) if "`" in first and heading else (first, second)
                if "`" in cell:
                    told.setdefault(name.strip(), []).extend(re.findall(r"`(\w+)(?:\[\])?`", cell))
        wanted = {}
        for name in SCHEMAS:
            found = schema(name)
            parts = {structure(name).__name__: found, **found["$defs"]}
            wanted |= {part: list(parts[part]["properties"]) for part in parts}
        assert told == wanted


def known_findings(*findings: BaselineEntry, **tools: str) -> Baseline:
    tools = {"nvrtc": "13.5"} | tools
    return Baseline(schema=baseline.SCHEMA, toolchain=tools, findings=findings)


class TestBaseline:
    ENTRIES = (
        BaselineEntry("a.cu", "sm_90", "k<32>", "volatile", None, 80, "f0"),
        BaselineEntry('é"\u2028😀.cu', "sm_90", "k", "register-spill", "x", 8, "f1"),
    )

    def test_the_file_is_one_line_per_finding(self) -> None:
        known = known_findings(*self.ENTRIES, ptxas="?")
        assert baseline.render(known) == (
            '{\n  "schema": "lmemscope.baseline/1",\n'
            '  "toolchain": {"nvrtc": "13.5", "ptxas": "?"},\n'
            '  "fingerprints": 1,\n'
            '  "archs": [],\n'
            '  "default_arch": null,\n'
            '  "findings": [\n'
            '    {"input": "a.cu", "arch": "sm_90", "kernel": "k<32>", "cause": "volatile",'
            ' "object": null, "bytes": 80, "fingerprint": "f0"},\n'
            '    {"input": "\\u00e9\\"\\u2028\\ud83d\\ude00.cu", "arch": "sm_90", "kernel": "k",'
            ' "cause": "register-spill", "object": "x", "bytes": 8, "fingerprint": "f1"}\n'
            "  ]\n}\n"
        )

    def test_round_trip_and_schema(self, tmp_path: Path) -> None:
        odd = replace(self.ENTRIES[0], input="b\udce9.cu", bytes=3)
        known = known_findings(self.ENTRIES[0], odd, self.ENTRIES[1])
        path = tmp_path / "b.json"
        path.write_text(baseline.render(known), encoding="ascii")
        assert baseline.load(str(path)) == known
        assert violations(json.loads(path.read_text()), "baseline") == []
        # Earlier ones have the surrogate itself, as Python's json writes it.
        path.write_text(path.read_text().replace(r"\u001aDCE9", r"\udce9"))
        assert baseline.load(str(path)) == known

    @pytest.mark.parametrize(
        ("old", "new", "said"),
        [
            ('"bytes": 80', '"bytes": "80"', r"Expected `int`, got `str` - at `\$\.findings\[0\]"),
            ("volatile", "volatil", "Invalid enum value 'volatil'"),
            ('"arch": "sm_90", ', "", "missing required field `arch`"),
            ('"13.5"', "13.5", r"Expected `str`, got `float` - at `\$\.toolchain"),
            # Which of two holds is told nowhere, in a field that is not known either.
            ('"findings"', '"findings": [], "findings"', "findings more than once"),
            ("{", '{"n": {"a": 1, "a": 2},', "it has a more than once"),
        ],
    )
    def test_damage_is_placed(self, tmp_path: Path, old: str, new: str, said: str) -> None:
        path = tmp_path / "b.json"
        known = known_findings(*self.ENTRIES)
        path.write_text(baseline.render(known).replace(old, new, 1))
        with pytest.raises(UsageError, match=said) as raised:
            baseline.load(str(path))
        assert str(path) in raised.value.message


class TestStore:
    OUTPUTS: store.Outputs = filled(store.Outputs, itertools.count(1))

    @pytest.fixture
    def slot(self, tmp_path: Path) -> store.Slot:
        return store.Slot(str(tmp_path), "ab" * 32)

    def test_records_come_back_with_their_blobs_and_tools(
        self, slot: store.Slot, tmp_path: Path
    ) -> None:
        (tmp_path / "ptxas").write_text("")
        tools = (Tool("ptxas", "13.5", str(tmp_path / "ptxas")), Tool("nvrtc", None, None))
        record = replace(self.OUTPUTS, log="caf\udce9 at line 1\n")
        blobs = (b'{"\n\x00', b"", b"\x7fELF\n")
        slot.store("outputs", record, blobs, tools)
        found = slot.load("outputs", store.Outputs, blobs=3)
        assert found == (record, blobs, tools)
        variables = tuple(filled(Variable, itertools.count(n)) for n in (1, 50))
        slot.store("variables", variables, [], ())
        assert slot.load("variables", tuple[Variable, ...]) == (variables, (), ())

    def test_an_entry_of_another_structure_is_a_miss(self, slot: store.Slot) -> None:
        slot.store("outputs", {"frontend": "nvrtc", "options": "-O3"}, [b"1", b"2"], ())
        assert slot.load("outputs", store.Outputs, blobs=2) is None
        slot.store("outputs", self.OUTPUTS, [b"1"], ())
        assert slot.load("outputs", store.Outputs, blobs=2) is None
        assert slot.load("outputs", store.Outputs, blobs=1) is not None

    @pytest.mark.parametrize(
        "lines",
        [
            b"",
            b"[]\n{}\n",
            b'{"tools": [], "stamps": [], "lengths": [-1, 4]}\n{}\n123',
            b'{"tools": [], "stamps": [], "lengths": [1, 1]}\n{}\n123',
            b'{"tools": [], "stamps": [], "lengths": [1, 9]}\n{}\n123',
            DEEP.encode() + b"\n{}\n",
        ],
    )
    def test_a_forged_entry_is_a_miss(self, slot: store.Slot, lines: bytes) -> None:
        slot.store("outputs", self.OUTPUTS, [b"1", b"2"], ())
        (path,) = Path(slot.directory).rglob("*.entry")
        body = zlib.compress(lines)
        path.write_bytes(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
        assert slot.load("outputs", store.Outputs, blobs=2) is None
