"""What users did and what the gate answered: the exit code and every format say the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.app.plan import make_plan
from lmemscope.app.session import Session
from lmemscope.config.settings import Settings
from lmemscope.discover import plan
from lmemscope.errors import UsageError
from lmemscope.exporters import render
from lmemscope.exporters.github import render_annotations
from lmemscope.exporters.layout import summary
from lmemscope.formats.kernel_names import stable_name
from lmemscope.gate.compare import compare
from lmemscope.gate.difference import difference
from lmemscope.model import (
    Advice,
    Allowance,
    Baseline,
    CallFacts,
    Cause,
    CubinFacts,
    Failure,
    FunctionFacts,
    Gap,
    GateResult,
    GateVerdict,
    KernelReport,
    Limit,
    Policy,
    Report,
    SiteClass,
    SiteSplit,
    SourceLocation,
)
from tests.support.builders import (
    NOTHING,
    call,
    changed,
    facts,
    find,
    gate_as,
    judge,
    judged,
    kernel_with,
    program,
)
from tests.support.gate_reports import (
    BROKEN,
    TEMPLATES,
    found,
    known,
    project,
    reported,
    with_figures,
)

EXPECT = "// lmemscope: expect frame=0\n"
KERNEL = "__global__ void k() {}\n"
TODAY = date(2026, 11, 21)
NO_RULES = Policy()
CLEAN = judged("k")
DIRTY = judged("k", "dynamic-index")
CLEAN_OTHER = judged("other")


def with_facts(name: str = "k", **changes: Any) -> KernelReport:
    """A kernel whose facts are changed, without findings."""
    return changed(CLEAN, facts=facts(name, **changes))


def spilling(cause: Cause, bytes_: int) -> KernelReport:
    """A kernel whose spill stores and loads have so many bytes each."""
    return with_figures(found("k", bytes_, cause), frame=bytes_, stores=bytes_, loads=bytes_)


def callee(frame: int, stores: int = 0, loads: int = 0, *, ptxas: bool = True) -> FunctionFacts:
    """A function that is not inlined and spills."""
    share = SiteClass(int(loads > 0), int(stores > 0), loads, stores)
    told = reported(frame, stores, loads) if ptxas else None
    return FunctionFacts("leaf", "leaf", told, share, SiteSplit(share, NOTHING, NOTHING))


def at(line: int, kernel: KernelReport, file: str = "a.cu") -> KernelReport:
    """The kernel, defined on a line."""
    place = SourceLocation(file, line)
    return changed(kernel, facts=replace(kernel.facts, location=place))


def mangled(name: str, symbol: str) -> KernelReport:
    """A kernel with an array, under a name that the compiler made; fingerprinted as such."""
    fact = replace(kernel_with("dynamic-index"), name=symbol, demangled=name)
    return KernelReport.of(fact, DIRTY.verdict, find(fact))


def allowing(cause: Cause = "dynamic-index", **changes: Any) -> Policy:
    made = Allowance("k", cause, None, "measured", None, "lmemscope.toml")
    return Policy(allowances=(replace(made, **changes),))


def limited(**numbers: Any) -> Policy:
    return Policy(limits=(Limit(**numbers),))


def logged(*kernels: KernelReport) -> Report:
    """The report of a build's log: figures, and no code."""
    given = project(a=kernels)
    (unit,) = given.units
    return replace(given, units=(replace(unit, frontend="log"),))


NO_INSTANCE = Gap("instantiate", "template kernels without an instance: rm", "uninstantiated")
NO_KERNEL = Gap("kernels", "it defines no __global__ function")
NO_LOG = Gap("ptxas", "no report", "evidence")
UNRUN = Gap("run", "n.py holds kernels that only running it would compile", "uninstantiated")
CALLS_OUT = with_facts(calls=CallFacts((), (), False, external=("_Z4distPf",)))
CALLS_POINTER = with_facts(calls=CallFacts((), (), True, leads_out=True))
ANON = "_ZN41_GLOBAL__N__00000000_4_r_cu_{}4anonEPii"
ABOVE_A = (
    'namespace a {\n// lmemscope: allow dynamic-index "measured"\n__global__ void k() {\n}\n}\n'
    "namespace b {\n__global__ void k() {\n}\n}\n"
)


@dataclass(frozen=True)
class Scenario:
    """What a user did, and what the gate has to answer.

    Attributes:
        name: what happened.
        verdict: of the gate.
        given: the report.
        policy, known: of the project.
        options: of `compare`.
        said, unsaid: parts of the text, and what is no part of it.
    """

    name: str
    verdict: GateVerdict
    given: Report
    policy: Policy = NO_RULES
    known: Baseline | None = None
    options: dict[str, Any] = field(default_factory=dict)
    said: tuple[str, ...] = ()
    unsaid: tuple[str, ...] = ()

    def result(self) -> GateResult:
        return compare(self.given, self.policy, self.known, today=TODAY, **self.options)


S = Scenario
DIRTY_PROJECT = project(a=(DIRTY,))
FRAMED = project(a=(with_figures(DIRTY, frame=80),))
"""The array where ptxas puts it."""

NO_CODE: dict[str, Any] = {"sass": None, "sites": None, "own_sites": None}
UNATTRIBUTED = with_figures(found("k", cause="unattributed"), frame=80)
FRAME_OF_A_LOG = logged(UNATTRIBUTED)
SPILLS_OF_A_LOG = logged(spilling("register-spill", 16))
ACCEPT = {"allow_incomplete": True}
NOTED = Policy(uninstantiated="note")
EXTERNAL = Policy(external="note")
LAMBDA = "apply<f()::{{lambda(int)#{}}}>"
SCENARIOS = (
    # What is there and what is not.
    S("checks a clean project", "passed", project(a=(CLEAN,))),
    S("checks a dirty project", "failed", DIRTY_PROJECT, said=("dynamic-index `table`, 80 bytes",)),
    S("has a source without kernels beside others", "passed", project(a=(CLEAN,), b=NO_KERNEL)),
    S("has sources without kernels only", "undecided", project(a=NO_KERNEL, b=NO_KERNEL),
      said=("no kernel was checked",)),
    S("accepts that no kernel was checked", "passed", project(a=NO_KERNEL), options=ACCEPT),
    S("names a kernel that is nowhere", "undecided", project(a=()),
      said=("no kernel was checked", "--allow-incomplete")),
    S("has a file that does not compile", "undecided", project(a=(CLEAN,), b=BROKEN),
      said=("b.cu: [compile] NVRTC refused b.cu",)),
    S("accepts a file that does not compile", "passed", project(a=(CLEAN,), b=BROKEN),
      options=ACCEPT, said=("note: evidence",)),
    S("has both a failure and a file that does not compile", "failed",
      project(a=(DIRTY,), b=BROKEN), said=("Gate failed: 1 failure",)),
    S("has a failure and accepts a broken file", "failed", project(a=(DIRTY,), b=BROKEN),
      options=ACCEPT),
    S("checks a cubin without ptxas's report", "undecided", project(a=(CLEAN,), b=NO_LOG)),
    S("misses variable names only", "passed", project(a=(CLEAN,), b=Gap("names", "no source"))),
    S("has a template that nobody instantiates", "undecided", project(a=(CLEAN,), b=NO_INSTANCE)),
    S("notes templates that nobody instantiates", "passed", project(a=(CLEAN,), b=NO_INSTANCE),
      NOTED, said=("note: b.cu: [instantiate] template kernels without an instance: rm",)),
    S("has a file of templates only", "undecided", project(a=(CLEAN,), b=TEMPLATES)),
    S("notes a file of templates only", "passed", project(a=(CLEAN,), b=TEMPLATES), NOTED),
    S("notes templates, but a file does not compile", "undecided",
      project(a=(CLEAN,), b=BROKEN), NOTED),
    S("checks a directory with an unrun Numba kernel", "undecided",
      project(a=(CLEAN,), gaps=(UNRUN,)), said=("n.py holds kernels",)),
    S("notes an unrun Numba kernel", "passed", project(a=(CLEAN,), gaps=(UNRUN,)), NOTED),
    S("calls a function of another translation unit", "undecided", project(a=(CALLS_OUT,)),
      said=("k calls dist, which another translation unit defines",)),
    S("calls through a pointer what may be elsewhere", "undecided", project(a=(CALLS_POINTER,)),
      said=("k calls through a pointer",)),
    S("notes calls of other translation units", "passed", project(a=(CALLS_OUT,)), EXTERNAL,
      said=("note: a.cu: [external] k calls dist",)),
    S("notes templates, but calls another translation unit", "undecided",
      project(a=(CALLS_OUT,)), NOTED),
    # A baseline.
    S("checks right after writing a baseline", "passed", DIRTY_PROJECT, known=known(DIRTY_PROJECT)),
    S("adds a local array", "failed", project(a=(judged("k", "dynamic-index", "volatile"),)),
      known=known(DIRTY_PROJECT), said=("new: k (a.cu, sm_90): volatile `table`, 80 bytes",)),
    S("adds a second equal array", "failed",
      project(a=(judged("k", "dynamic-index", "dynamic-index"),)), known=known(DIRTY_PROJECT),
      said=("1 failure", "1 finding known")),
    S("adds a larger array on the same line", "failed",
      project(a=(replace(DIRTY, findings=(
          *found("k", 256).findings, *DIRTY.findings)),)),
      known=known(DIRTY_PROJECT), said=("new: k", "256 bytes", "1 failure")),
    S("lets an array grow", "failed", project(a=(found("k", 96),)), known=known(DIRTY_PROJECT),
      said=("worse: k (a.cu, sm_90): dynamic-index `table`, 96 bytes",)),
    S("lets an array grow within the tolerance", "passed", project(a=(found("k", 96),)),
      known=known(DIRTY_PROJECT), options={"tolerance": 16}),
    S("makes an array smaller", "passed", project(a=(found("k", 40),)),
      known=known(DIRTY_PROJECT), said=("was 80 bytes and is 40",)),
    S("removes an array", "passed", project(a=(CLEAN,)), known=known(DIRTY_PROJECT),
      said=("gone: k (sm_90): dynamic-index",)),
    S("deletes a file", "passed", project(b=(CLEAN,)), known=known(DIRTY_PROJECT),
      said=("gone: k (sm_90)",)),
    S("renames a kernel", "passed", project(a=(found("new"),)), known=known(DIRTY_PROJECT),
      said=("k is treated as renamed to new",)),
    S("writes a lambda in front of a known one", "passed",
      project(a=(judged(LAMBDA.format(1)), found(LAMBDA.format(2)))),
      known=known(project(a=(found(LAMBDA.format(1)),)))),
    S("writes an array into two lambdas", "failed",
      project(a=(found(LAMBDA.format(1)), found(LAMBDA.format(2)))),
      known=known(project(a=(found(LAMBDA.format(1)),))), said=("1 failure",)),
    S("writes an array into a lambda of another function", "failed",
      project(a=(judged(LAMBDA.format(1)), found(LAMBDA.format(1).replace("f()", "g()")))),
      known=known(project(a=(found(LAMBDA.format(1)),))), said=("1 failure",)),
    S("fixes one kernel and writes the same array into another", "failed",
      project(a=(CLEAN, found("other"))), known=known(DIRTY_PROJECT), said=("new: other",)),
    S("moves a file", "passed", project(moved=(DIRTY,)), known=known(DIRTY_PROJECT)),
    S("copies a kernel into a second file", "failed", project(a=(DIRTY,), b=(DIRTY,)),
      known=known(DIRTY_PROJECT), said=("new: k (b.cu",)),
    S("fixes a kernel and writes it into an old file", "failed", project(a=(CLEAN,), b=(DIRTY,)),
      known=known(DIRTY_PROJECT), said=("new: k (b.cu",)),
    S("checks another architecture", "failed", project(arch="sm_120", a=(DIRTY,)),
      known=known(DIRTY_PROJECT)),
    S("upgrades the toolkit, and bytes move by half", "passed", project(a=(found("k", 120),)),
      known=known(project(version="13.4", a=(DIRTY,))), said=("13.4 → 13.5",)),
    S("upgrades the toolkit, and bytes move beyond", "failed", project(a=(found("k", 121),)),
      known=known(project(version="13.4", a=(DIRTY,))), said=("worse",)),
    S("upgrades the toolkit, and 4 bytes become 256", "failed", project(a=(found("k", 256),)),
      known=known(project(version="13.4", a=(found("k", 4),))), said=("256 bytes",)),
    S("upgrades the toolkit with a wider tolerance", "passed", project(a=(found("k", 160),)),
      known=known(project(version="13.4", a=(DIRTY,))), options={"toolchain_tolerance": 100}),
    S("upgrades the toolkit, and variables lose their names", "passed",
      project(a=(found("k", 90, object_="other"),)),
      known=known(project(version="13.4", a=(DIRTY,)))),
    S("upgrades the toolkit, and another cause appears", "failed",
      project(a=(found("k", cause="register-spill"),)),
      known=known(project(version="13.4", a=(DIRTY,)))),
    S("upgrades lmemscope, whose fingerprints are others", "passed", DIRTY_PROJECT,
      known=replace(known(DIRTY_PROJECT, fingerprints=1), findings=tuple(
          replace(e, fingerprint="old") for e in known(DIRTY_PROJECT).findings)),
      said=("the baseline was written by another version", "lmemscope baseline")),
    S("upgrades lmemscope and adds an array", "failed",
      project(a=(DIRTY, found("other", 16))), known=known(DIRTY_PROJECT, fingerprints=1),
      said=("new: other",)),
    S("upgrades lmemscope and lets an array grow", "failed", project(a=(found("k", 96),)),
      known=known(DIRTY_PROJECT, fingerprints=1), said=("worse: k",)),
    S("checks an unnamed kernel in another checkout", "passed",
      project(a=(mangled("(anonymous namespace)::anon(int*)", ANON.format("2429f4fc_5560")),)),
      known=known(project(a=(
          mangled("(anonymous namespace)::anon(int*)", ANON.format("4ee6e92c_5939")),)))),
    # Limits.
    S("limits spills, and a callee spills", "failed",
      project(a=(with_facts(callees=(callee(16, 8, 8),)),)), limited(max_spill=0),
      said=("spill 16", "max-spill 0")),
    S("limits spills, and a callee without a report spills", "failed",
      project(a=(with_facts(callees=(callee(16, 8, 8, ptxas=False),)),)), limited(max_spill=0)),
    S("limits frames, and a callee has one", "failed",
      project(a=(with_facts(callees=(callee(40),)),)), limited(max_frame=0), said=("frame 40",)),
    S("limits frames above what kernel and callee have", "passed",
      project(a=(with_facts(ptxas=reported(24), callees=(callee(40),)),)), limited(max_frame=64)),
    S("limits frames, and the kernel recurses", "failed",
      project(a=(with_facts(stack_known=False),)), limited(max_frame=4096),
      said=("frame unknown (recursion or an indirect call)",)),
    S("limits spills, and the kernel recurses without any", "passed",
      project(a=(with_facts(stack_known=False),)), limited(max_spill=0)),
    S("limits spills that nobody reported", "undecided",
      project(a=(with_facts(ptxas=None, cubin=CubinFacts(32, 0, 0, 255), **NO_CODE),)),
      limited(max_spill=0),
      said=("spill of k is not known",)),
    S("limits frames, and a separately compiled function has one", "failed",
      project(a=(with_facts(calls=CallFacts(("leaf",), (), False)),
                 with_facts("leaf", kind="function", ptxas=reported(48)))),
      limited(kernel="k", max_frame=0), said=("frame 48",)),
    S("limits registers", "failed", project(a=(CLEAN,)), limited(max_registers=31),
      said=("limit: k (a.cu, sm_90): registers 32", "max-registers 31")),
    S("limits registers of kernels that are not there", "passed", project(a=(CLEAN,)),
      limited(kernel="other", max_registers=1),
      said=("note: limit for other: there is no such kernel",)),
    S("limits kernels of files that did not change", "passed", project(a=(CLEAN,)),
      limited(kernel="other", max_registers=1), options={"unchanged": {"b.cu"}},
      unsaid=("no such kernel",)),
    S("limits kernels that the run does not look at", "passed", project(a=(CLEAN,)),
      limited(kernel="other", max_registers=1), options={"kernels": ("k",)},
      unsaid=("no such kernel",)),
    S("limits a kernel that is there, and another that is not", "passed", project(a=(CLEAN,)),
      Policy(limits=(Limit("k", max_frame=0), Limit("attention", max_frame=0))),
      said=("limit for attention: there",), unsaid=("limit for k",)),
    S("limits registers and has an array", "failed", DIRTY_PROJECT, limited(max_registers=64),
      said=("new: k", "1 failure")),
    S("limits registers and has no array", "passed", project(a=(CLEAN,)),
      limited(max_registers=64)),
    S("limits registers and knows the array", "passed", DIRTY_PROJECT, limited(max_registers=64),
      known(DIRTY_PROJECT), said=("1 finding known or allowed",)),
    S("exceeds registers and has an array", "failed", DIRTY_PROJECT, limited(max_registers=31),
      said=("limit: k", "new: k", "2 failures")),
    S("limits frames and has an array within", "passed", FRAMED, limited(max_frame=80),
      said=("1 finding known or allowed",)),
    S("limits frames and has an array beyond", "failed", FRAMED, limited(max_frame=79),
      said=("limit: k", "frame 80", "1 failure")),
    S("limits frames of other kernels and has an array", "failed", FRAMED,
      limited(kernel="other", max_frame=80), said=("new: k",)),
    S("limits frames and registers and has an array within", "passed", FRAMED,
      limited(max_frame=80, max_registers=32)),
    S("limits frames in one table and registers in another", "passed", FRAMED,
      Policy(limits=(Limit(max_frame=80), Limit(max_registers=32)))),
    S("limits sites and has an array within", "passed", FRAMED, limited(max_sites=1)),
    S("limits sites and has an array beyond", "failed", FRAMED, limited(max_sites=0),
      said=("limit: k", "sites 1", "1 failure")),
    S("limits spills and has an array", "failed", FRAMED, limited(max_spill=64),
      said=("new: k", "1 failure")),
    S("limits spills and spills within", "passed",
      project(a=(spilling("register-spill", 16),)), limited(max_spill=32)),
    S("limits spills and spills beyond", "failed",
      project(a=(spilling("register-spill", 16),)), limited(max_spill=31),
      said=("spill 32", "1 failure")),
    S("limits spills, and a callee saves registers within", "passed",
      project(a=(spilling("callee-save", 16),)), limited(max_spill=32)),
    S("limits spills within and forbids a cause", "failed", FRAMED,
      limited(max_spill=64, forbid=("dynamic-index",)), said=("new: k",)),
    S("limits frames within and forbids a cause", "failed", FRAMED,
      limited(max_frame=256, forbid=("dynamic-index",)), said=("new: k", "1 failure")),
    S("limits registers and allows a cause", "passed", FRAMED,
      limited(max_registers=64, allow=("dynamic-index",))),
    S("limits a frame that nobody reported", "undecided",
      project(a=(changed(DIRTY, facts=changed(
          DIRTY.facts, ptxas=None, cubin=None)),)), limited(max_frame=256),
      said=("frame of k is not known",)),
    S("forbids a cause that is there", "failed", DIRTY_PROJECT, limited(forbid=("dynamic-index",))),
    S("forbids another cause", "passed", DIRTY_PROJECT, limited(forbid=("register-spill",))),
    S("forbids no cause", "passed", DIRTY_PROJECT, limited(forbid=()),
      said=("note: limit for *: forbid is empty, so local memory of any cause passes",)),
    S("forbids no cause in one table and one in another", "failed", DIRTY_PROJECT,
      Policy(limits=(Limit(forbid=()), Limit(forbid=("dynamic-index",)))),
      unsaid=("forbid is empty",)),
    # Causes that a log does not tell.
    S("forbids a cause that a log cannot tell", "undecided", FRAME_OF_A_LOG,
      limited(forbid=("dynamic-index",)),
      said=("a.cu: [limit] cause of 80 bytes of k is unknown, and a limit depends on it: "
            "forbid dynamic-index for *",)),
    S("accepts that a log cannot tell a forbidden cause", "passed", FRAME_OF_A_LOG,
      limited(forbid=("dynamic-index",)), options=ACCEPT, said=("note: evidence",)),
    S("forbids spills, and a log reports none", "passed", FRAME_OF_A_LOG,
      limited(forbid=("register-spill", "callee-save"))),
    S("forbids spills, and a log does not say whether there are some", "undecided",
      logged(changed(UNATTRIBUTED, facts=facts("k", ptxas=None, **NO_CODE))),
      limited(forbid=("register-spill",))),
    S("forbids spills, and a log reports some", "failed", SPILLS_OF_A_LOG,
      limited(forbid=("register-spill",)), said=("new: k", "1 failure")),
    S("forbids spills and arrays, and a log reports spills", "failed", SPILLS_OF_A_LOG,
      limited(forbid=("register-spill", "dynamic-index")), said=("new: k",)),
    S("forbids arrays, and a log reports spills alone", "passed", SPILLS_OF_A_LOG,
      limited(forbid=("dynamic-index",))),
    S("forbids saved registers, which a log counts as spills", "undecided", SPILLS_OF_A_LOG,
      limited(forbid=("callee-save",))),
    S("allows a cause that a log cannot tell", "undecided", FRAME_OF_A_LOG,
      limited(allow=("dynamic-index",)), said=("depends on it: allow dynamic-index for *",)),
    S("allows spills, and a log has another frame", "failed", FRAME_OF_A_LOG,
      limited(allow=("register-spill",)), said=("new: k",)),
    S("allows what a log cannot tell", "passed", FRAME_OF_A_LOG,
      limited(allow=("unattributed",), forbid=("dynamic-index",))),
    S("forbids what a log cannot tell", "failed", FRAME_OF_A_LOG,
      limited(forbid=("unattributed", "dynamic-index")), said=("new: k",)),
    S("limits frames within, allows a cause, and has a log", "passed", FRAME_OF_A_LOG,
      limited(max_frame=80, allow=("dynamic-index",))),
    S("forbids a cause for other kernels of a log", "failed", FRAME_OF_A_LOG,
      limited(kernel="other", forbid=("dynamic-index",)), said=("new: k",)),
    S("forbids a cause, and knows what the log cannot tell", "passed", FRAME_OF_A_LOG,
      limited(forbid=("dynamic-index",)), known(FRAME_OF_A_LOG)),
    S("forbids a cause, and what the log cannot tell grew", "undecided",
      logged(with_figures(found("k", 96, "unattributed"), frame=96)),
      limited(forbid=("dynamic-index",)), known(FRAME_OF_A_LOG)),
    S("forbids a cause and allows in the configuration what a log cannot tell", "passed",
      FRAME_OF_A_LOG, Policy((Limit(forbid=("dynamic-index",)),),
                             allowing("unattributed").allowances)),
    S("forbids a cause and has a clean log", "passed", logged(CLEAN),
      limited(forbid=("dynamic-index",))),
    S("forbids a cause, and code shows bytes of no known one", "passed",
      project(a=(UNATTRIBUTED,)), limited(forbid=("dynamic-index",))),
    S("prints from a kernel", "passed", project(a=(found("k", cause="printf-args"),))),
    # Allowances and expectations.
    S("allows an array in the configuration", "passed", DIRTY_PROJECT, allowing()),
    S("allows fewer bytes than there are", "failed", DIRTY_PROJECT, allowing(bytes=79),
      said=("accepts 79 bytes, and there are 80",)),
    S("allows a cause that is not there", "passed", project(a=(CLEAN,)), allowing(),
      said=("accepts nothing: there is no such finding",)),
    S("allows what a limit accepts", "passed", FRAMED,
      Policy((Limit(max_frame=80),), allowing().allowances), said=("is not needed: within",)),
    S("lets an allowance expire", "failed", DIRTY_PROJECT, allowing(expires=date(2026, 11, 20)),
      said=("expired on 2026-11-20",)),
    S("allows in one file and has the kernel in another", "failed",
      project(a=(found("a::k"),), b=(found("a::k"),), sources={"a": ABOVE_A}),
      said=("new: a::k (b.cu",)),
    S("allows in one namespace and has the kernel in another", "failed",
      project(a=(at(3, found("a::k")), at(7, found("b::k"))), sources={"a": ABOVE_A}),
      said=("new: b::k (a.cu", "1 failure")),
    S("allows a kernel whose first line was inlined from elsewhere", "passed",
      project(a=(at(90, found("a::k"), "math.cuh"),), sources={"a": ABOVE_A})),
    S("allows a kernel in a namespace that a macro opens", "passed",
      project(a=(at(3, found("hidden::a::k")),), sources={"a": ABOVE_A})),
    S("allows one of two overloads", "failed",
      project(a=(found("k(int)"), found("k(float)", object_="other")), sources={"a": (
          '\n// lmemscope: allow dynamic-index "why"\n__global__ void k(int) {}\n\n'
          "__global__ void k(float) {}\n")}), said=("`other`", "1 failure")),
    S("declares a kernel before it allows its array", "passed",
      project(a=(at(3, DIRTY),), sources={"a": (
          '__global__ void k();\n// lmemscope: allow dynamic-index "why"\n'
          "__global__ void k() {}\n")})),
    S("allows inside #if 0", "failed", project(a=(at(5, DIRTY),), sources={"a": (
        '#if 0\n// lmemscope: allow dynamic-index "why"\n#endif\n\n__global__ void k() {}\n')})),
    S("allows in the live branch of #if 0", "passed", project(a=(at(6, DIRTY),), sources={"a": (
        "#if 0 // old\nint don't;\n#else\n"
        '// lmemscope: allow dynamic-index "why"\n#endif\n__global__ void k() {}\n')})),
    S("allows in a raw string", "failed", project(a=(at(4, DIRTY),), sources={"a": (
        'auto s = R"(\n// lmemscope: allow dynamic-index "why"\n)";\n__global__ void k() {}\n')})),
    S("allows in a string", "failed", project(a=(at(2, DIRTY),), sources={"a": (
        "auto s = \"// lmemscope: allow dynamic-index 'why'\";\n__global__ void k() {}\n")})),
    S("expects the frame that there is, and allows nothing", "failed",
      project(a=(at(2, with_figures(DIRTY, frame=80)),), sources={
          "a": "// lmemscope: expect frame<=80\n__global__ void k() {}\n"}), said=("new: k",)),
    S("expects a frame of nothing, and has it", "passed", project(a=(at(2, CLEAN),), sources={
        "a": "// lmemscope: expect frame=0 spill=0\n__global__ void k() {}\n"})),
    S("expects no spill, and a callee spills", "failed",
      project(a=(at(2, with_facts(callees=(callee(0, 4, 4),))),), sources={
          "a": "// lmemscope: expect spill=0\n__global__ void k() {}\n"}),
      said=("expectation: k", "spill 8")),
    S("expects a depth of the stack, and the kernel recurses", "failed",
      project(a=(at(2, with_facts(stack_known=False)),), sources={
          "a": "// lmemscope: expect stack<=64\n__global__ void k() {}\n"}),
      said=("stack unknown",)),
)  # fmt: skip


def answers(given: Report, result: GateResult) -> Iterator[tuple[str, str]]:
    """What each format says of the gate, read by what a machine or a person would look at."""
    text = gate_as("text", result)
    verdict = {"passed": "passed", "failed": "failed", "incomplete": "undecided"}
    yield "text", verdict[text.splitlines()[-1].split()[1].strip(".:")]
    heading = gate_as("markdown", result, given).splitlines()[0]
    yield "Markdown", verdict[heading.removeprefix("# Local memory gate: ").split()[1].strip(":")]
    run = json.loads(gate_as("sarif", result, given))["runs"][0]
    (invocation,) = run["invocations"]
    failing = [
        one
        for one in run["results"]
        if "suppressions" not in one and one.get("kind") != "informational"
    ]
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[one["ruleIndex"]]["id"] == one["ruleId"] for one in run["results"])
    assert len(failing) == len(result.failures)
    yield "SARIF", _verdict(bool(failing), not invocation["executionSuccessful"])
    yield "SARIF's code", {0: "passed", 1: "failed", 3: "undecided"}[invocation["exitCode"]]
    suites = ElementTree.fromstring(gate_as("junit", result, given))
    sums = {
        name: sum(int(suite.get(name, "")) for suite in suites) for name in ("failures", "errors")
    }
    assert len(list(suites.iter("failure"))) == len(result.failures)
    assert sums["errors"] == len(list(suites.iter("error")))
    yield "JUnit", _verdict(sums["failures"] > 0, sums["errors"] > 0)
    lines = render_annotations(result).splitlines()
    errors = [line for line in lines if line.startswith("::error ")]
    lacking = [line for line in errors if "::evidence is missing" in line]
    yield "GitHub", _verdict(len(errors) > len(lacking), bool(lacking))


def _verdict(failed: bool, lacking: bool) -> str:
    return "failed" if failed else "undecided" if lacking else "passed"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_user(scenario: Scenario) -> None:
    result = scenario.result()
    assert result.verdict == scenario.verdict
    assert result.exit_code == {"passed": 0, "failed": 1, "undecided": 3}[scenario.verdict]
    said = dict(answers(scenario.given, result))
    assert said == dict.fromkeys(said, scenario.verdict)
    text = gate_as("text", result)
    assert [part for part in scenario.said if part not in text] == []
    assert [part for part in scenario.unsaid if part in text] == []
    if result.failures and result.failures[0].kind in ("new", "worse"):
        named = result.failures[0].finding
        assert named is not None
        assert f"`{named.object}`" in text.splitlines()[0]


def test_scenarios_are_many_and_have_names_of_their_own() -> None:
    names = [scenario.name for scenario in SCENARIOS]
    assert len(set(names)) == len(names) >= 60


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("// lmemscope: expct frame=0\n__global__ void k() {}\n", "a.cu:1: .*expct"),
        ("// lmemscope expect frame=0\n__global__ void k() {}\n", "a.cu:1: .*without a colon"),
        ("// lmemscope:\n__global__ void k() {}\n", "a.cu:1: .*none"),
        ("__global__ void k() {}\n// lmemscope: expect frame=0\n", "a.cu:2: no kernel follows"),
        ("// lmemscope: ALLOW volatile 'x'\n__global__ void k() {}\n", "a.cu:1: .*ALLOW"),
        ("/*\n * lmemscope: expect frame=0 */\n__global__ void k() {}\n", "a.cu:2: .*write //"),
        (EXPECT + "__device__ int f(int x) { return x; }\n" + KERNEL, "a.cu:1: .*f, or inside it"),
        (EXPECT + "DECLARE(k2, int *p) {}\n" + KERNEL, "a.cu:1: .*above DECLARE"),
        ("GLOBAL void k2() {\n" + EXPECT + "}\n" + KERNEL, "a.cu:2: .*above k2"),
        ("#ifdef X\n" + EXPECT + "#endif\n" + KERNEL, "a.cu:2: .* ends before k:"),
        ("#if X\n#else\n" + EXPECT + "#endif\nGLOBAL void k() {}\n", "a.cu:3: .* ends before"),
    ],
)
def test_a_user_mistypes_a_comment(source: str, said: str) -> None:
    given = project(a=(at(9, CLEAN),), sources={"a": source})
    with pytest.raises(UsageError, match=said) as raised:
        compare(given, Policy(), None)
    assert raised.value.exit_code == 2
    assert "expect" in (raised.value.hint or "")


@pytest.mark.parametrize(("now", "kinds"), [(128, []), (512, ["worse"])])
@pytest.mark.parametrize("make", [found, lambda _, size: spilling("register-spill", size)])
def test_a_user_resizes_a_known_array_or_spill(make: Any, now: int, kinds: list[str]) -> None:
    """An edited line changes the fingerprint, but neither the variable's name nor the kernel's."""
    before = project(a=(make("k", 256),))
    kernel = make("k", now)
    other = replace(kernel.findings[0], fingerprint="0123456789abcdef")
    result = compare(
        project(a=(replace(kernel, findings=(other,)),)),
        Policy(),
        known(before),
        today=TODAY,
    )
    assert [failure.kind for failure in result.failures] == kinds
    assert not result.gone
    assert len(result.better) == (now < 256)


@pytest.mark.parametrize(("now", "kinds"), [(80, []), (96, ["new"])])
def test_a_user_renames_a_known_array(now: int, kinds: list[str]) -> None:
    kernel = found("k", now, object_="counts")
    other = replace(kernel.findings[0], fingerprint="0123456789abcdef")
    result = compare(
        project(a=(replace(kernel, findings=(other,)),)),
        Policy(),
        known(project(a=(found("k", 80),))),
        today=TODAY,
    )
    assert [failure.kind for failure in result.failures] == kinds
    assert any("renamed to `counts`" in note for note in result.notes) == (not kinds)


def test_a_renamed_array_excuses_no_second_one() -> None:
    both = found("k", 80, object_="counts")
    twice = replace(both, findings=both.findings * 2)
    known_ = known(project(a=(found("k", 80),)))
    result = compare(project(a=(twice,)), Policy(), known_, today=TODAY)
    assert [failure.kind for failure in result.failures] == ["new"]


def taking(size: str, kernel: str = "k") -> Report:
    """A project with a kernel that takes stack at run time."""
    shown = kernel_with("alloca", with_object=False)
    shown = replace(shown, name=kernel, demangled=kernel)
    shown = replace(shown, run_time_sizes=(size,))
    return project(a=(KernelReport.of(shown, judge(shown), find(shown)),))


@pytest.mark.parametrize(
    ("now", "kinds"),
    [
        (taking("parameter 1 * 4"), []),
        (taking("parameter 1 * 4 + 65536"), ["new"]),
        # No figure says that it is the same.
        (taking("parameter 1 * 4 + 65536", "renamed"), ["new"]),
    ],
)
def test_a_user_takes_more_stack_at_run_time(now: Report, kinds: list[str]) -> None:
    """The size is in no figure: what computes it is compared."""
    result = compare(now, Policy(), known(taking("parameter 1 * 4")), today=TODAY)
    assert [failure.kind for failure in result.failures] == kinds


ALLOW = '// lmemscope: allow dynamic-index 80 "m"\n'


@pytest.mark.parametrize(
    ("source", "verdict"),
    [
        ("GLOBAL void k() {}\n" + KERNEL.replace("k", "z"), "passed"),
        # Which of the two was compiled the text does not tell.
        ("#if A\n" + KERNEL + "#else\nGLOBAL void k() {}\n#endif\n", "failed"),
    ],
)
def test_a_user_declares_kernels_by_a_macro_of_a_header(source: str, verdict: str) -> None:
    given = project(a=(DIRTY,), sources={"a": ALLOW + source})
    assert compare(given, NO_RULES, None, today=TODAY).verdict == verdict


def test_a_kernel_whose_name_a_macro_of_a_header_makes_is_not_guessed() -> None:
    source = ALLOW + "GLOBAL void pasted(k) {}\n" + KERNEL.replace("k", "z")
    with pytest.raises(UsageError, match=r"a\.cu:1: .*pasted"):
        compare(project(a=(DIRTY,), sources={"a": source}), NO_RULES, None, today=TODAY)


def test_what_was_not_compiled_or_kept_out_does_not_refuse_a_comment() -> None:
    source = {"a": EXPECT + "GLOBAL void hidden() {}\n"}
    kept_out = project(a=(CLEAN,), sources=source)
    assert compare(kept_out, NO_RULES, None, kernels=("k",), today=TODAY).verdict == "passed"
    compare(project(a=Failure("compile", "refused"), sources=source), NO_RULES, None, today=TODAY)
    with pytest.raises(UsageError, match=r"a\.cu:1: .*hidden"):
        compare(kept_out, NO_RULES, None, today=TODAY)


def test_a_user_limits_the_kernels_and_others_are_not_gone() -> None:
    both = project(a=(DIRTY, found("other")))
    result = compare(DIRTY_PROJECT, Policy(), known(both), kernels=("k",), today=TODAY)
    assert result.gone == ()
    result = compare(DIRTY_PROJECT, Policy(), known(both), today=TODAY)
    assert [entry.kernel for entry in result.gone] == ["other"]


def test_a_known_finding_does_not_suppress_a_new_one_of_the_same_fingerprint() -> None:
    given = project(a=(judged("k", "dynamic-index", "dynamic-index"),))
    result = compare(given, Policy(), known(DIRTY_PROJECT), today=TODAY)
    (run,) = json.loads(gate_as("sarif", result, given))["runs"]
    assert [("suppressions" in one) for one in run["results"]].count(True) == 1
    assert len(run["results"]) == 2


def test_a_user_checks_a_log_and_is_told_what_explains_it() -> None:
    command = Advice("Its source tells why.", "lmemscope explain a.cu::k")
    (finding,) = DIRTY.findings
    told = replace(finding, advice=(command,))
    kernel = replace(DIRTY, findings=(told,))
    unit = replace(project(a=(kernel,)).units[0], input="build.log", frontend="log")
    given = replace(DIRTY_PROJECT, units=(unit,))
    result = compare(given, Policy(), None)
    text = gate_as("text", result)
    assert "  explain:  Its source tells why.\n" in text
    assert "remove:" not in text
    assert "accept:   in lmemscope.toml:\n              [[allowances]]\n" in text
    for shown in (
        text,
        gate_as("markdown", result, given).partition("## Report")[0],
        render_annotations(result),
        gate_as("junit", result, given),
        gate_as("sarif", result, given),
    ):
        assert "lmemscope explain a.cu::k" in shown


def test_a_new_finding_is_as_severe_as_a_known_one_in_sarif() -> None:
    given = project(a=(DIRTY, found("other", cause="callee-save")))
    assert given.units[0].kernels[1].findings[0].severity == "warning"
    (run,) = json.loads(
        gate_as("sarif", compare(given, Policy(), known(DIRTY_PROJECT), today=TODAY), given)
    )["runs"]
    levels = {"suppressions" in one: one["level"] for one in run["results"]}
    assert levels[False] == "error"


def test_a_kernel_on_two_architectures_is_one_kernel() -> None:
    units = [project(arch=arch, a=(DIRTY, CLEAN_OTHER)).units[0] for arch in ("sm_80", "sm_90")]
    both = replace(DIRTY_PROJECT, units=tuple(units))
    assert summary(both).startswith("2 kernels on 2 architectures in 1 file, 1 with local memory")
    assert summary(DIRTY_PROJECT).startswith("1 kernel in 1 file, 1 with local memory")
    differing = render(difference(project(), both), "table")
    assert differing.endswith("2 kernels differ on 2 architectures.\n")


def test_a_user_has_two_overloads_and_junit_fails_one() -> None:
    one = changed(DIRTY, facts=replace(DIRTY.facts, name="_Z1ki"))
    other = changed(CLEAN, facts=replace(CLEAN.facts, name="_Z1kf"))
    given = project(a=(one, other))
    suites = ElementTree.fromstring(gate_as("junit", compare(given, Policy(), None), given))
    assert [len(case) for case in suites.iter("testcase")] == [1, 0]


@pytest.mark.parametrize(
    ("name", "stable"),
    [
        ("_ZN41_GLOBAL__N__00000000_4_r_cu_4ee6e92c_55604anonEPii", "_ZN11_GLOBAL__N_4anonEPii"),
        (
            "_ZN4ns_243_GLOBAL__N__baf99fce_14_instantiate_cu_main4tmplILi5EEEvPii",
            "_ZN4ns_211_GLOBAL__N_4tmplILi5EEEvPii",
        ),
        (
            "_ZN39_INTERNAL_00000000_4_r_cu_4ee6e92c_556041_GLOBAL__N__00000000_4_r_cu_4ee6e92c_"
            "55601fEPii",
            "_ZN9_INTERNAL11_GLOBAL__N_1fEPii",
        ),
        (
            "__nv_static_52__f4510a67_22_cuda_device_runtime_cu_3ecce0c0_2317245__Z1kPi",
            "__nv_static__Z1kPi",
        ),
        ("_Z4statPii", "_Z4statPii"),
        ("k", "k"),
        ("_GLOBAL__N_", "_GLOBAL__N_"),
        ("_ZN12_GLOBAL__N_14anonEPii", "_ZN12_GLOBAL__N_14anonEPii"),
    ],
)
def test_names_lose_what_compilers_number(name: str, stable: str) -> None:
    assert stable_name(name) == stable
    assert stable_name(stable) == stable


def test_fingerprints_do_not_depend_on_directory_and_process() -> None:
    one, other = (
        mangled("(anonymous namespace)::anon(int*)", ANON.format(made)).findings[0].fingerprint
        for made in ("2429f4fc_5560", "4ee6e92c_5939")
    )
    assert one == other != DIRTY.findings[0].fingerprint


def test_a_call_leads_out_of_the_module_unless_to_cudas_own_runtime() -> None:
    called = ("dist", "vprintf", "__cudaCDP2LaunchDeviceV2", "malloc", "leaf")
    body = "\n".join(call(name, "%rd1") for name in called)
    flow = ModuleFlow(program(body, leaf=call("far", "%rd1")))
    assert flow.calls("k").external == ("dist", "far")
    assert flow.calls("k").reached == ("leaf",)


def test_the_gpu_of_whoever_runs_it_does_not_choose_the_architecture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "k.cu").write_text("__global__ void k() {}\n")
    monkeypatch.setattr(plan, "detect_gpu", lambda: "sm_120")
    with ThreadPoolExecutor(1) as executor:
        for settings, arch in (
            (Settings(), "sm_120"),
            (Settings(default_archs=("sm_80",)), "sm_80"),
            (Settings(default_archs=("sm_80",), archs=("sm_100",)), "sm_100"),
        ):
            units = make_plan([str(tmp_path / "k.cu")], Session(settings, executor)).units
            assert [unit.arch for unit in units] == [arch]
