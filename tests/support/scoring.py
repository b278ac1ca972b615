"""How much of a labelled kernel's report is right, each kind of statement apart.

The columns: ``cause`` (also wrong: what no label expects), ``object``, ``type``, ``size``,
``declaration``, ``lines`` (all lines of the object's accesses), ``primary`` (the finding's line),
``expression``, ``missing`` (each source that must be named), ``false`` (each source that is named),
``uniformity``, ``also`` (further causes) and ``unattributed`` (of each kernel). Where nothing that
is expected is found, all that was to be said of it is wrong.

A variable in several copies, one for each place where its function is inlined, is one find: all of
its copies must be right, and their lines and sources are taken together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lmemscope.formats.demangle import short_name
from lmemscope.model import (
    CauseShare,
    Finding,
    IndexSource,
    KernelReport,
    LocalAccess,
    LocalObject,
)
from tests.support.labels import Find, Label

COLUMNS = (
    "cause",
    "object",
    "type",
    "size",
    "declaration",
    "lines",
    "primary",
    "expression",
    "missing",
    "false",
    "uniformity",
    "also",
    "unattributed",
)

REQUIRED: Mapping[str, float] = dict.fromkeys(COLUMNS, 0.99)
"""The share of each column that has to be right, on each architecture."""


@dataclass(frozen=True, slots=True)
class Item:
    """One statement of a column, about one kernel on one architecture; what is said, in words."""

    column: str
    file: str
    kernel: str
    arch: str
    right: bool
    expected: str
    got: str


@dataclass(frozen=True, slots=True)
class Claim:
    """One line of a kernel's ledger with its finding, its object and the object's accesses."""

    share: CauseShare
    finding: Finding
    object: LocalObject | None
    accesses: tuple[LocalAccess, ...]

    @property
    def name(self) -> str | None:
        """What the finding calls the object."""
        return self.finding.object

    def lines(self, file: str) -> set[int]:
        """Lines of a file that the accesses are on; none for those without a line of their own."""
        found = (_line(access, file) for access in self.accesses)
        return {line for line in found if line}


@dataclass(frozen=True, slots=True)
class Tally:
    """How many items are right."""

    right: int
    total: int

    @property
    def share(self) -> float:
        """1 where there is nothing to be right about."""
        return self.right / self.total if self.total else 1.0


def base_name(kernel: KernelReport) -> str:
    """A kernel's name without namespace and template arguments."""
    return instance_name(kernel).partition("<")[0]


def instance_name(kernel: KernelReport) -> str:
    """A kernel's name without namespace, such as ``ring<float, 40>``."""
    template, bracket, arguments = short_name(kernel.facts.demangled).partition("<")
    return template.rpartition("::")[2] + bracket + arguments


def score(label: Label, kernels: Iterable[KernelReport], arch: str) -> list[Item]:
    """Score a kernel, all of its instances, on an architecture.

    Args:
        kernels: the report's kernels; others than the labelled one are passed over.
    """
    items: list[Item] = []
    found = [kernel for kernel in kernels if base_name(kernel) == label.kernel]
    if not found:
        items.append(Item("cause", label.file.name, label.kernel, arch, False, "a kernel", "none"))
    for kernel in found:
        items += _Scorer(label, kernel, arch).items()
    return items


def tallies(items: Iterable[Item]) -> dict[tuple[str, str], Tally]:
    """Items right and in all, by column and architecture."""
    counted: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for item in items:
        counted[item.column, item.arch].append(item.right)
    return {key: Tally(sum(rights), len(rights)) for key, rights in counted.items()}


def claims(kernel: KernelReport) -> list[Claim]:
    """A kernel's findings, each with the line of the ledger that it judges."""
    facts = kernel.facts
    left = list(kernel.findings)
    made = []
    for share in facts.shares:
        found = facts.objects[share.object_index] if share.object_index is not None else None
        finding = _finding(share, found, left)
        left.remove(finding)
        accesses = tuple(
            access for access in (*facts.accesses, *facts.generic) if share.concerns(access)
        )
        made.append(Claim(share, finding, found, accesses))
    return made


def spelled(source: IndexSource) -> str:
    """A source as labels spell it: ``parameter n``, ``memory p``, ``loop-counter constant``."""
    if source.kind == "loop-counter":
        return f"loop-counter {'constant' if source.constant_trip else 'run-time'}"
    return source.kind if source.name is None else f"{source.kind} {source.name}"


def _finding(share: CauseShare, found: LocalObject | None, findings: Sequence[Finding]) -> Finding:
    """The finding of a share; copies of one variable are told apart by bytes and index."""

    def unlike(finding: Finding) -> tuple[bool, ...]:
        size = share.frame_bytes or share.sites.bytes
        index = found.index if found is not None else None
        name = found.name if found is not None else None
        return (
            finding.cause != share.cause,
            finding.object != name,
            finding.bytes != size,
            finding.index != index,
        )

    return min(findings, key=unlike)


def _line(access: LocalAccess, file: str) -> int | None:
    inside = [f.location.line for f in access.chain if f.location.file.endswith(file)]
    return next((line for line in inside if line), None)


def _plain(text: str) -> str:
    return "".join(text.split())


def _spellings(source: str) -> set[str]:
    return set(source.split(" | "))


def _type(name: str | None) -> str:
    return _plain((name or "").replace("unsigned int", "unsigned"))


class _Scorer:
    """One instance of a kernel against its label."""

    def __init__(self, label: Label, kernel: KernelReport, arch: str) -> None:
        self._label = label
        self._kernel = kernel
        self._arch = arch
        self._instance = instance_name(kernel)
        self._items: list[Item] = []

    def items(self) -> list[Item]:
        finds = self._label.expected(self._arch, self._instance)
        every = claims(self._kernel)
        shares = [claim.share for claim in every if claim.share.cause == "unattributed"]
        unknown = sum(share.sites.bytes for share in shares)
        self._say("unattributed", not unknown, "0 B", f"{unknown} B")
        left = [claim for claim in every if claim.share.cause != "promoted"]
        matched = self._matched(finds, left)
        for find in finds:
            of_it = [claim for claim in left if matched.get(id(claim)) is find]
            if of_it:
                self._judge(find, of_it)
            else:
                self._miss(find, [c for c in left if id(c) not in matched])
        also = {(find.object, cause) for find in finds for cause in find.also}
        for claim in left:
            if id(claim) in matched or (claim.name, claim.share.cause) in also:
                continue
            if claim.share.cause == "unattributed" and not claim.share.frame_bytes:
                continue  # has a column of its own
            self._say("cause", False, "nothing", _described(claim))
        if not finds and not self._promoted_names() and not left:
            self._say("cause", True, "clean", "clean")
        self._judge_promoted([claim for claim in every if claim.share.cause == "promoted"])
        return self._items

    def _matched(self, finds: Sequence[Find], claimed: Sequence[Claim]) -> dict[int, Find]:
        """The find that each claim stands for, by its identity.

        Cause and name together decide first; then the name alone; then, for what is left, the
        cause alone, so that a wrong name or a wrong cause is counted once.
        """
        matched: dict[int, Find] = {}
        name = self._label.file.name

        def same_object(find: Find, claim: Claim) -> bool:
            return find.object == claim.name

        def same_cause(find: Find, claim: Claim) -> bool:
            return claim.share.cause in find.causes

        def nearness(find: Find, claim: Claim) -> tuple[bool, ...]:
            """Tells variables of one name apart, and slow paths."""
            return (
                find.declared is not None and find.declared == _declared(claim, name),
                _place(claim, name) in (find.primary or ()),
                bool(claim.lines(name) & (find.lines or set())),
                not any(known is find for known in matched.values()),
            )

        for claim in claimed:
            both = [f for f in finds if same_object(f, claim) and same_cause(f, claim)]
            if both:
                matched[id(claim)] = max(both, key=lambda find: nearness(find, claim))
        for test in (same_object, same_cause):
            for find in finds:
                if any(known is find for known in matched.values()):
                    continue
                for claim in claimed:
                    if test is same_object and claim.name is None:
                        continue
                    if id(claim) not in matched and test(find, claim):
                        matched[id(claim)] = find
                        break
        return matched

    def _judge(self, find: Find, found: Sequence[Claim]) -> None:
        name = self._label.file.name
        causes = {claim.share.cause for claim in found}
        self._say("cause", causes <= set(find.causes), find.causes, causes)
        names = {claim.name for claim in found}
        if find.object is not None or names != {None}:
            self._say("object", names == {find.object}, find.object, names)
        if find.object is not None and names != {find.object}:
            # Right by chance is not right: these would be another variable's.
            self._miss_object(find, f"of {_text(names)}")
        elif find.object is not None:
            self._judge_object(find, found)
        if find.lines is not None:
            # A declaration that initialises may have accesses, and may leave them without a line.
            lines = set().union(*(claim.lines(name) for claim in found)) - {find.declared}
            expected = find.lines - {find.declared}
            self._say("lines", lines == expected, expected, lines)
        if find.primary is not None:
            places = {_place(claim, name) for claim in found}
            self._say("primary", places <= find.primary, find.primary, places)
        self._judge_index(find, [_index(claim) for claim in found], found)
        also = set().union(*(_also(claim) for claim in found))
        if find.also or also:
            # Where several causes are equally true, one of them may stand beside the other.
            self._say("also", also - set(find.causes) == find.also, find.also, also)

    def _judge_object(self, find: Find, found: Sequence[Claim]) -> None:
        if find.type is not None:
            types = {claim.finding.type for claim in found}
            right = {_type(kind) for kind in types} <= {_type(kind) for kind in find.type}
            self._say("type", right, find.type, types)
        if find.size is not None:
            sizes = {_size(claim) for claim in found}
            self._say("size", sizes == {find.size}, find.size, sizes)
        if find.declared is not None:
            lines = {_declared(claim, self._label.file.name) for claim in found}
            self._say("declaration", lines == {find.declared}, find.declared, lines)

    def _judge_index(self, find: Find, indices: Sequence[_Index], found: Sequence[Claim]) -> None:
        if find.index is not None:
            written = {index.expression for index in indices}
            allowed: set[str | None] = {_plain(index) for index in find.index} or {None}
            self._say("expression", written <= allowed, find.index, written)
        if find.sources is not None:
            named = set().union(*(index.sources for index in indices))
            for source in sorted(find.sources):
                self._say("missing", not named.isdisjoint(_spellings(source)), source, named)
            allowed = {one for source in find.sources | find.optional for one in _spellings(source)}
            for source in sorted(named):
                self._say("false", source in allowed, find.sources, source)
        if find.uniformity is not None:
            uniformity = {index.uniformity for index in indices}
            right = uniformity <= set(find.uniformity)
            self._say("uniformity", right, find.uniformity, uniformity)

    def _miss(self, find: Find, left: Sequence[Claim]) -> None:
        """Everything that should have been said of what was not found."""
        got = ", ".join(_described(claim) for claim in left) or "nothing"
        self._say("cause", False, " ".join((*find.causes[:1], find.object or "")).strip(), got)
        if find.object is not None:
            self._say("object", False, find.object, got)
        self._miss_object(find, got)
        asked = {
            "lines": find.lines,
            "primary": find.primary,
            "expression": find.index,
            "uniformity": find.uniformity,
        }
        for column, value in asked.items():
            if value is not None:
                self._say(column, False, value, got)
        for source in sorted(find.sources or ()):
            self._say("missing", False, source, got)
        if find.also:
            self._say("also", False, find.also, got)

    def _miss_object(self, find: Find, got: str) -> None:
        asked = {"type": find.type, "size": find.size, "declaration": find.declared}
        for column, value in asked.items():
            if value is not None:
                self._say(column, False, value, got)

    def _promoted_names(self) -> tuple[str, ...]:
        return self._label.promoted if self._arch in self._label.promoted_archs else ()

    def _judge_promoted(self, found: Sequence[Claim]) -> None:
        # One finding says so of all of them.
        objects = self._kernel.facts.objects
        listed = [one.name for one in objects if one.cause == "promoted" and one.name]
        names = (listed or [""]) if found else []
        expected = self._promoted_names()
        for name in expected:
            self._say("cause", bool(found), f"promoted {name}", names)
            self._say("object", name in names, f"promoted {name}", names)
        for name in names:
            if name not in expected and (name or not expected):
                self._say("cause", False, "nothing", f"promoted {name}")

    def _say(self, column: str, right: bool, expected: object, got: object) -> None:
        where = (self._label.file.name, self._instance, self._arch)
        self._items.append(Item(column, *where, right, _text(expected), _text(got)))


@dataclass(frozen=True, slots=True)
class _Index:
    expression: str | None
    sources: frozenset[str]
    uniformity: str


def _index(claim: Claim) -> _Index:
    index = claim.finding.index
    if index is None:
        return _Index(None, frozenset(), "none")
    written = _plain(index.expression) if index.expression is not None else None
    if written is not None and not written.startswith("["):
        written = f"[{written}]"
    # Labels say of an object what all of its indices are made of.
    return _Index(written, frozenset(map(spelled, index.all_sources)), index.least_uniform)


def _declared(claim: Claim, file: str) -> int | None:
    where = claim.object.declared if claim.object is not None else None
    return where.line if where is not None and where.file.endswith(file) else None


def _place(claim: Claim, file: str) -> int | None:
    where = claim.finding.location
    return where.line if where is not None and where.file.endswith(file) else None


def _size(claim: Claim) -> int | None:
    """Bytes of the type: the object's own, where nothing else is said of the type."""
    if claim.object is None:
        return None
    size: int | None = getattr(claim.object, "type_size", None)
    return claim.object.size if size is None else size


def _also(claim: Claim) -> set[str]:
    further: Iterable[str] = getattr(claim.object, "also", ())
    return set(further)


def _described(claim: Claim) -> str:
    return f"{claim.share.cause} {claim.name}" if claim.name else claim.share.cause


def _text(value: object) -> str:
    if isinstance(value, set | frozenset | tuple | list):
        return ", ".join(sorted(map(str, value))) or "nothing"
    return str(value)
