"""JUnit XML for CI servers: one test case per kernel, and one per piece of missing evidence."""

from __future__ import annotations

from collections import defaultdict
from xml.etree import ElementTree

from lmemscope.exporters import escape_xml
from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.layout import advice
from lmemscope.formats.demangle import short_name
from lmemscope.model import (
    Checked,
    GateFailure,
    GateResult,
    Link,
    MissingEvidence,
    UnitReport,
)


def render(checked: Checked, how: Presentation) -> str:
    """One suite per unit and linked program, and one for missing evidence, whose cases are errors.

    Accepted missing evidence is skipped instead.
    """
    del how
    report, result = checked.report, checked.result
    failures: dict[tuple[str, str, str], list[GateFailure]] = defaultdict(list)
    for failure in result.failures:
        failures[failure.input, failure.arch, failure.symbol].append(failure)
    root = ElementTree.Element("testsuites", name="lmemscope")
    for unit in report.units:
        if unit.failure is None:
            _unit(root, unit, failures)
    for link in report.links:
        _link(root, link, failures)
    if result.missing:
        logs = {unit.input: unit.failure.log for unit in report.units if unit.failure is not None}
        suite = ElementTree.SubElement(root, "testsuite", name="evidence")
        for piece in result.missing:
            _evidence(suite, piece, logs, accepted=result.complete)
        _count(suite)
    _accounts(root, result)
    return escape_xml.document(root)


def _unit(
    root: ElementTree.Element,
    unit: UnitReport,
    failures: dict[tuple[str, str, str], list[GateFailure]],
) -> None:
    suite = ElementTree.SubElement(root, "testsuite", name=f"{unit.input} ({unit.arch})")
    for kernel in unit.kernels:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            name=short_name(kernel.facts.demangled),
            classname=f"{unit.input}.{unit.arch}",
        )
        for failure in failures.pop((unit.input, unit.arch, kernel.facts.name), []):
            _failed(case, failure)
    _count(suite)


def _link(
    root: ElementTree.Element,
    link: Link,
    failures: dict[tuple[str, str, str], list[GateFailure]],
) -> None:
    """A case for each kernel in a program; failures that also occur in a unit are shown there."""
    if not link.kernels:
        return
    suite = ElementTree.SubElement(root, "testsuite", name=f"{link.name} ({link.arch})")
    for kernel in link.kernels:
        function = kernel.function
        name, home = short_name(function.demangled), function.input or link.name
        case = ElementTree.SubElement(
            suite, "testcase", name=name, classname=f"{link.name}.{link.arch}"
        )
        for failure in failures.pop((home, link.arch, function.name), []):
            _failed(case, failure)
    _count(suite)


def _failed(case: ElementTree.Element, failure: GateFailure) -> None:
    element = ElementTree.SubElement(
        case,
        "failure",
        type=failure.kind,
        message=f"expected {failure.expected}, found {failure.found}",
    )
    if failure.finding is not None:
        told = advice(failure.finding, failure.route)
        element.text = f"{failure.finding.message}. {told}"


def _evidence(
    suite: ElementTree.Element,
    piece: MissingEvidence,
    logs: dict[str, str | None],
    *,
    accepted: bool,
) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", name=piece.stage, classname=piece.input or "lmemscope"
    )
    word = "skipped" if accepted else "error"
    element = ElementTree.SubElement(case, word, message=piece.text)
    if piece.input is not None and not accepted:
        element.text = logs.get(piece.input)


def _accounts(root: ElementTree.Element, result: GateResult) -> None:
    """A skipped case for each note and everything left out or gone.

    What was checked has its own suite.
    """
    told: list[tuple[str, str, str]] = [
        (one.name or one.subject, one.subject, f"{one.state}: {one.text}")
        for one in result.accounts
        if one.state in ("left-out", "gone")
    ]
    told += [("note", "note", text) for text in result.notes]
    if not told:
        return
    suite = ElementTree.SubElement(root, "testsuite", name="accounts")
    for name, subject, text in told:
        case = ElementTree.SubElement(suite, "testcase", name=name, classname=f"accounts.{subject}")
        ElementTree.SubElement(case, "skipped", message=text)
    _count(suite)


def _count(suite: ElementTree.Element) -> None:
    """Write the totals that JUnit readers expect."""
    suite.set("tests", str(len(suite)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(sum(case.find(tag) is not None for case in suite)))
