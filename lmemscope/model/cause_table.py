"""The table of causes, and of the verdicts they lead to.

Everything about a cause that is not its rule is here. To add one, add a record and a rule file of
the same name (`lmemscope.rules`). No field has a default: importing this module fails if a record
omits a field or a cause has no record.
"""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct

Cause = Literal[
    "register-spill",
    "callee-save",
    "dynamic-index",
    "rolled-loop",
    "large-array",
    "address-taken",
    "param-copy",
    "const-table",
    "volatile",
    "printf-args",
    "math-slow-path",
    "call-frame",
    "alloca",
    "device-launch",
    "debug-build",
    "promoted",
    "unattributed",
]
VerdictName = Literal[
    "clean", "promoted", "minor", "call-stack", "local-object", "unknown", "spill"
]
FrameOwner = Literal["object", "spill slots", "saved registers", "padding", "unknown"]


class VerdictKind(Struct, frozen=True, kw_only=True):
    """A kind of verdict, and how it is displayed.

    Attributes:
        name: as in the documents.
        rank: higher is worse; equal ranks are sorted by site bytes.
        uses_memory: whether such a kernel counts as using local memory.
        counted: how the summary words the count of such kernels, or None to leave them out.
        color: on a terminal, as a rich colour name.
        shade: in HTML, the style sheet variable.
        mark: the symbol in Markdown.
    """

    name: VerdictName
    rank: int
    uses_memory: bool
    counted: str | None
    color: str
    shade: str
    mark: str


class CauseTraits(Struct, frozen=True, kw_only=True):
    """Properties of a cause, independent of any kernel.

    Attributes:
        name: as in the documents; the rule's module has the same name, with underscores.
        verdict: the kind of verdict it leads to.
        gated: whether it fails the gate, and so belongs in a baseline.
        owner: the owner of frame bytes that its accesses touch outside objects.
        named: whether its objects are source variables, which have names.
        indexed: whether a finding says how the object is indexed.
        deepens: whether it makes the stack depth statically unknown.
        costly: whether its cost ranks kernels; accesses of the others run only for messages and
            launches, or not at all.
    """

    name: Cause
    verdict: VerdictName
    gated: bool
    owner: FrameOwner
    named: bool
    indexed: bool
    deepens: bool
    costly: bool


VERDICT_KINDS = (
    VerdictKind(
        name="clean",
        rank=0,
        uses_memory=False,
        counted=None,
        color="green",
        shade="clean",
        mark="✅",
    ),
    VerdictKind(
        name="promoted",
        rank=1,
        uses_memory=False,
        counted="promoted to registers",
        color="cyan",
        shade="minor",
        mark="✅",
    ),
    VerdictKind(
        name="minor",
        rank=2,
        uses_memory=True,
        counted=None,
        color="cyan",
        shade="minor",
        mark="🟨",
    ),
    VerdictKind(
        name="call-stack",
        rank=3,
        uses_memory=True,
        counted=None,
        color="yellow",
        shade="call",
        mark="🟧",
    ),
    VerdictKind(
        name="local-object",
        rank=4,
        uses_memory=True,
        counted=None,
        color="yellow",
        shade="object",
        mark="🟧",
    ),
    VerdictKind(
        name="unknown",
        rank=4,
        uses_memory=True,
        counted=None,
        color="magenta",
        shade="unknown",
        mark="❔",
    ),
    VerdictKind(
        name="spill",
        rank=5,
        uses_memory=True,
        counted="spilling registers",
        color="bold red",
        shade="spill",
        mark="🟥",
    ),
)

CAUSES = (
    CauseTraits(
        name="register-spill",
        verdict="spill",
        gated=True,
        owner="spill slots",
        named=True,
        indexed=False,
        deepens=False,
        costly=True,
    ),
    CauseTraits(
        name="callee-save",
        verdict="call-stack",
        gated=True,
        owner="saved registers",
        named=True,
        indexed=False,
        deepens=False,
        costly=True,
    ),
    CauseTraits(
        name="dynamic-index",
        verdict="local-object",
        gated=True,
        owner="unknown",
        named=True,
        indexed=True,
        deepens=False,
        costly=True,
    ),
    CauseTraits(
        name="rolled-loop",
        verdict="local-object",
        gated=True,
        owner="unknown",
        named=True,
        indexed=True,
        deepens=False,
        costly=True,
    ),
    CauseTraits(
        name="large-array",
        verdict="local-object",
        gated=True,
        owner="unknown",
        named=True,
        indexed=True,
        deepens=False,
        costly=True,
    ),
    CauseTraits(
        name="address-taken",
        verdict="local-object",
        gated=True,
        owner="unknown",
        named=True,
        indexed=False,
        deepens=False,
        costly=True,
    ),
    CauseTraits(
        name="param-copy",
        verdict="local-object",
        gated=True,
        owner="unknown",
        named=True,
        indexed=True,
        deepens=False,
        costly=True,
    ),
    CauseTraits(
        name="const-table",
        verdict="local-object",
        gated=True,
        owner="unknown",
        named=True,
        indexed=True,
        deepens=False,
        costly=True,
    ),
    CauseTraits(
        name="volatile",
        verdict="local-object",
        gated=True,
        owner="unknown",
        named=True,
        indexed=True,
        deepens=False,
        costly=True,
    ),
    CauseTraits(
        name="printf-args",
        verdict="minor",
        gated=False,
        owner="unknown",
        named=False,
        indexed=False,
        deepens=False,
        costly=False,
    ),
    CauseTraits(
        name="math-slow-path",
        verdict="minor",
        gated=True,
        owner="unknown",
        named=False,
        indexed=False,
        deepens=False,
        costly=True,
    ),
    CauseTraits(
        name="call-frame",
        verdict="call-stack",
        gated=True,
        owner="saved registers",
        named=True,
        indexed=False,
        deepens=True,
        costly=True,
    ),
    CauseTraits(
        name="alloca",
        verdict="call-stack",
        gated=True,
        owner="unknown",
        named=True,
        indexed=False,
        deepens=True,
        costly=True,
    ),
    CauseTraits(
        name="device-launch",
        verdict="minor",
        gated=False,
        owner="unknown",
        named=False,
        indexed=False,
        deepens=False,
        costly=False,
    ),
    CauseTraits(
        name="debug-build",
        verdict="local-object",
        gated=True,
        owner="unknown",
        named=True,
        indexed=False,
        deepens=False,
        costly=True,
    ),
    CauseTraits(
        name="promoted",
        verdict="promoted",
        gated=False,
        owner="unknown",
        named=True,
        indexed=False,
        deepens=False,
        costly=False,
    ),
    CauseTraits(
        name="unattributed",
        verdict="unknown",
        gated=True,
        owner="unknown",
        named=True,
        indexed=False,
        deepens=False,
        costly=True,
    ),
)


def _check(names: tuple[str, ...], known: tuple[str, ...], what: str) -> None:
    if names != known:
        odd = sorted({*names} ^ {*known}) or list(names)
        raise TypeError(f"{what}: one record each, in the order of the Literal; see {odd}")


_check(tuple(kind.name for kind in VERDICT_KINDS), get_args(VerdictName), "VERDICT_KINDS")
_check(tuple(cause.name for cause in CAUSES), get_args(Cause), "CAUSES")

_KIND_OF = {kind.name: kind for kind in VERDICT_KINDS}
_TRAITS_OF = {cause.name: cause for cause in CAUSES}


def traits_of(cause: Cause) -> CauseTraits:
    """The record of a cause."""
    return _TRAITS_OF[cause]


def verdict_kind(name: VerdictName) -> VerdictKind:
    """The record of a kind of verdict."""
    return _KIND_OF[name]
