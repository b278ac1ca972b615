"""JUnit XML, as CI servers read it: one test case per kernel."""

from __future__ import annotations

from collections import defaultdict
from xml.etree import ElementTree

from lmemscope.formats.demangle import short_name
from lmemscope.model import GateFailure, GateResult, Report


def render_junit(report: Report, result: GateResult) -> str:
    """One suite per unit, one case per kernel; a unit that failed is an error."""
    failures: dict[tuple[str, str, str], list[GateFailure]] = defaultdict(list)
    for failure in result.failures:
        failures[failure.input, failure.arch, failure.kernel].append(failure)
    root = ElementTree.Element("testsuites", name="lmemscope")
    for unit in report.units:
        suite = ElementTree.SubElement(root, "testsuite", name=f"{unit.input} ({unit.arch})")
        tests = failed = errors = 0
        if unit.failure is not None:
            case = ElementTree.SubElement(suite, "testcase", name="analysis", classname=unit.input)
            error = ElementTree.SubElement(case, "error", message=unit.failure.message)
            error.text = unit.failure.log
            tests, errors = 1, 1
        for kernel in unit.kernels:
            name = short_name(kernel.facts.demangled)
            case = ElementTree.SubElement(
                suite, "testcase", name=name, classname=f"{unit.input}.{unit.arch}"
            )
            tests += 1
            found = failures.get((unit.input, unit.arch, name), [])
            failed += bool(found)
            for failure in found:
                element = ElementTree.SubElement(
                    case,
                    "failure",
                    type=failure.kind,
                    message=f"expected {failure.expected}, found {failure.found}",
                )
                if failure.finding is not None:
                    element.text = failure.finding.message
        suite.set("tests", str(tests))
        suite.set("failures", str(failed))
        suite.set("errors", str(errors))
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'
