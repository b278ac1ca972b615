"""The frozen data types that cross a stage of the pipeline; this module imports nothing of ours.

Two vocabularies meet here. *Facts* are what the toolchain said and what the bytes of a cubin say
(`KernelFacts` and what it holds). *Judgements* (`Verdict`, `Finding`) are built from facts.

Units. Sizes are bytes per thread. Site bytes are bytes at instruction sites: the access width of
each ``LDL``/``STL`` summed over the instructions in the code, neither over executions nor over
threads; 31 KB at sites can share a frame of 128 bytes, so the two are never mixed.

``None`` always means "not observed", never zero.
"""

from __future__ import annotations

from lmemscope.model.artifacts import Artifacts, Member, Variable
from lmemscope.model.cause_table import (
    CAUSES,
    VERDICT_KINDS,
    Cause,
    CauseTraits,
    FrameOwner,
    VerdictKind,
    VerdictName,
    traits_of,
    verdict_kind,
)
from lmemscope.model.causes import (
    CauseShare,
    FrameRange,
    IndexFacts,
    IndexSource,
    LocalAccess,
    LocalObject,
)
from lmemscope.model.cuda_source import (
    CudaSource,
    Directive,
    KernelDefinition,
    base_name,
    split_expressions,
)
from lmemscope.model.evidence import Evidence, EvidenceKind, evidence_text
from lmemscope.model.facts import (
    CallFacts,
    CubinFacts,
    Disagreement,
    FunctionFacts,
    KernelFacts,
    LaunchBounds,
    LineUse,
    PtxasFacts,
    PtxFacts,
    SiteSplit,
)
from lmemscope.model.gate import (
    Accepted,
    Allowance,
    Baseline,
    BaselineEntry,
    FailureKind,
    GateFailure,
    GateResult,
    Limit,
    Policy,
)
from lmemscope.model.judgement import (
    Advice,
    Finding,
    KernelReport,
    LeftOut,
    Quotes,
    Report,
    UnitReport,
    Verdict,
)
from lmemscope.model.request import (
    CompileOptions,
    Confidence,
    Failure,
    Frontend,
    Gap,
    InlineFrame,
    KernelDirective,
    KernelKind,
    LogExcerpt,
    Quote,
    Severity,
    SiteKind,
    SourceKind,
    SourceLine,
    SourceLocation,
    Tool,
    Uniformity,
    Unit,
    Wanted,
)
from lmemscope.model.sites import (
    SiteClass,
)
from lmemscope.model.source_text import DisplayPaths, SourceText

__all__ = [
    "CAUSES",
    "VERDICT_KINDS",
    "Accepted",
    "Advice",
    "Allowance",
    "Artifacts",
    "Baseline",
    "BaselineEntry",
    "CallFacts",
    "Cause",
    "CauseShare",
    "CauseTraits",
    "CompileOptions",
    "Confidence",
    "CubinFacts",
    "CudaSource",
    "Directive",
    "Disagreement",
    "DisplayPaths",
    "Evidence",
    "EvidenceKind",
    "Failure",
    "FailureKind",
    "Finding",
    "FrameOwner",
    "FrameRange",
    "Frontend",
    "FunctionFacts",
    "Gap",
    "GateFailure",
    "GateResult",
    "IndexFacts",
    "IndexSource",
    "InlineFrame",
    "KernelDefinition",
    "KernelDirective",
    "KernelFacts",
    "KernelKind",
    "KernelReport",
    "LaunchBounds",
    "LeftOut",
    "Limit",
    "LineUse",
    "LocalAccess",
    "LocalObject",
    "LogExcerpt",
    "Member",
    "Policy",
    "PtxFacts",
    "PtxasFacts",
    "Quote",
    "Quotes",
    "Report",
    "Severity",
    "SiteClass",
    "SiteKind",
    "SiteSplit",
    "SourceKind",
    "SourceLine",
    "SourceLocation",
    "SourceText",
    "Tool",
    "Uniformity",
    "Unit",
    "UnitReport",
    "Variable",
    "Verdict",
    "VerdictKind",
    "VerdictName",
    "Wanted",
    "base_name",
    "evidence_text",
    "split_expressions",
    "traits_of",
    "verdict_kind",
]
