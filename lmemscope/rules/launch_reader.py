"""Where files launch a kernel: by its name, by a variable that holds its address, or by a call.

The one place that reads launches from host code. It compares names, whatever their scopes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice

from lmemscope.formats.statements import closed_at, parts_of
from lmemscope.model import SourceLocation, SourceText
from lmemscope.rules.launch_syntax import (
    arguments_of_call,
    called_with,
    configured,
    is_compiled,
    macro_around,
    parameter_name,
    shape_of_call,
)
from lmemscope.rules.pasted_names import may_be_pasted
from lmemscope.rules.python_launches import asks_for_shared_memory
from lmemscope.rules.remembered import Remembered
from lmemscope.rules.scopes import declarations_of, is_local
from lmemscope.rules.unchanged import changes

_ASKS = re.compile(
    r"\b(?:cudaFunc\w+|cudaOccupancy(?!MaxPotential)\w+)\s*(?:<[^;<>]*>\s*)?\([^();]*$"
)
"""A call that asks or sets something of a kernel, and does not launch it."""
_CHEVRONS = re.compile(r"<\s*<\s*<")
_DECLARES = re.compile(
    r"(?!\b(?:return|throw|co_return|co_yield|else|do|case)\b)\b[A-Za-z_]\w*\s+$|[{};]\s*$"
    r"|\busing\s[\w\s:]*$"
)
"""What stands before a name that it declares, or before a statement that is the name alone."""
_NO_VALUE = re.compile(r"\(|[-+*/%^](?!>)|=(?!=)|\.|\[")
"""What stands behind a name that is called, declared or a number."""
_INITIALISED = re.compile(r"\s*(?:\)\s*\([^;{}=]*\)\s*)?(?:=(?!=)|\{)")
_FIRST = re.compile(r"\w+")
_KEPT = re.compile(
    r"\b(?P<name>[A-Za-z_]\w*)\s*(?:\[[^\[\]]*\]\s*)*(?:\)\s*\([^;{}=]*\)\s*)?"
    r"(?:=(?!=)|(?<!\))(?=\{))\s*(?:\{(?:[^;{}=]*,)?\s*)?(?:[^;{}=]*[?:]\s*)?"
    r"(?:\([^()]*(?:\([^()]*\)[^()]*)*\)\s*)?&?\s*(?:\w+\s*::\s*)*$"
)
"""A variable that the value behind it is given to: ``auto k =``, ``void (*k)(int) =``, ``K k{``."""
_DECLARED = re.compile(r"\(\s*\*\s*(?:const\s+)?\w+\s*\)$")
"""``(*k)``: a pointer's declaration, or a call by it."""
_DEFINES = re.compile(r"#\s*define\s+(?P<name>\w+)(?P<parameters>\([^)]*\))?\s.*$")
_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(?!define\b)")
_TEMPLATE_GIVEN = re.compile(r"(?<!\w)(?P<name>[A-Za-z_]\w*)\s*<(?P<before>[^;{}<>]*)$")
"""A template whose argument the value behind it is."""
_TEMPLATE = re.compile(r"\btemplate\s*<(?P<given>[^;{}<>]*)>")
_CHOSEN = re.compile(r"[^;{}()]*\)\s*<\s*<\s*<(?P<shape>[^;]*?)>\s*>\s*>\s*\(")
"""What stands behind ``(n > 3 ? kernel :``, where that is launched."""
_GETS = re.compile(r"(?:cudaGetFuncBySymbol|cudaGetKernel)\(&\s*(?P<name>\w+)\)")
"""A call that gives its first argument a handle of the kernel in its second."""
_BODY = re.compile(r"[\s\w]*(?:->[^;{}]*)?\{")
"""What stands between a function's parameters and its body."""
_LEAST = 2
"""Parts of a launch's shape: a grid and a block."""
_LONGEST = 300
"""Characters before a kernel's name that say what is done with it."""
_DEPTH = 3
"""Variables, functions and macros that a kernel is followed through."""
_USES = 200
"""Calls of one function or macro that are looked at."""
_WORDS = re.compile(r"(?<![\w.>])[A-Za-z_]\w*")
_Definition = tuple[str, tuple[str, ...], tuple[int, int]]
"""The file of a function or macro, the names of its parameters, where its body is."""


@dataclass(frozen=True, slots=True)
class WrittenLaunch:
    """A launch as a text has it, of whatever instance.

    Attributes:
        instance: template arguments, as written.
        shape: grid, block and dynamic shared memory, as far as they are written; empty where a
            macro stands for more than one of them.
        place: at which the names in them are looked up.
        given: the kernel's arguments, as written; empty where they are not read.
        given_at: at which the names in those are looked up; None where it is the same place.
    """

    instance: str | None
    shape: tuple[str, ...]
    place: SourceLocation
    given: tuple[str, ...] = ()
    given_at: SourceLocation | None = None


@dataclass(frozen=True, slots=True)
class Launches:
    """The launches of a kernel that are found.

    Attributes:
        written: each of them.
        are_all: whether nothing else gets the kernel's address or puts its name together.
    """

    written: tuple[WrittenLaunch, ...]
    are_all: bool


_LAUNCHES: Remembered[tuple[str, tuple[str, ...]], Launches] = Remembered()


def launches_in(sources: SourceText, files: Iterable[str], kernel: str) -> Launches:
    """The launches of a kernel, by its plain name, that some files have."""
    looked = tuple(dict.fromkeys(files))

    def find() -> Launches:
        reader = _Reader(sources, looked)
        found = _joined(reader.of(kernel, file, _DEPTH) for file in looked)
        is_read = found.are_all and not may_be_pasted(kernel, sources, looked)
        return replace(found, are_all=is_read)

    return _LAUNCHES.of(sources, (kernel, looked), find)


def _joined(found: Iterable[Launches]) -> Launches:
    several = [*found]
    written = dict.fromkeys(one for each in several for one in each.written)
    return Launches((*written,), all(one.are_all for one in several))


_NONE = Launches((), are_all=True)
_UNKNOWN = Launches((), are_all=False)


def _pattern(name: str) -> str:
    """A name that begins a word; the pattern begins with the name, which is found fast."""
    return rf"{re.escape(name)}(?<!\w{re.escape(name)})"


class _Reader:
    """The launches that some files have.

    Args:
        sources: the text.
        files: that are looked through.
    """

    def __init__(self, sources: SourceText, files: tuple[str, ...]) -> None:
        self._sources, self._files = sources, files
        # Helpers that take a kernel are met at each of their calls, and lead to the same places.
        self.of = cache(self._of)
        self._definitions = cache(self._find_definitions)

    def _of(
        self, name: str, file: str, depth: int, span: tuple[int, int] | None = None
    ) -> Launches:
        """The launches of a kernel, or by a variable that holds one, in a file or a part of it."""
        if depth < 0:
            return _UNKNOWN
        holds = self._sources.holds if file.endswith(".py") else self._sources.names
        if not holds(file, name):
            return _NONE
        text = self._sources.code(file)
        start, end = span or (0, len(text))
        found = [self._handed_on(name, file, depth, (start, end))]
        if _CHEVRONS.search(text):
            launches = _direct(name).finditer(text, start, end)
            written = [
                one
                for launch in launches
                if is_compiled(text, launch.start())
                for one in self._expanded(
                    WrittenLaunch(
                        launch["instance"],
                        self._shape(launch["shape"]),
                        self._place(file, launch.start()),
                        _arguments(text, launch.end() - 1),
                    ),
                    file,
                    launch.start(),
                    depth,
                )
            ]
            found.append(Launches((*written,), are_all=True))
        return _joined(found)

    def _handed_on(self, name: str, file: str, depth: int, span: tuple[int, int]) -> Launches:
        """What becomes of a kernel where its name stands without a launch behind it.

        Each mention counts as one that hands it on, but for those that are understood: a
        declaration, a call, a launch, a question of the runtime, a number of its name.
        """
        text = self._sources.code(file)
        if file.endswith(".py"):
            return _UNKNOWN if asks_for_shared_memory(text) else _NONE
        mention = re.compile(
            rf"{_pattern(name)}(?!\w)\s*(?P<inner><[^;<>{{}}]*(?:<[^;<>{{}}]*>[^;<>{{}}]*)*>\s*)?"
            r"(?P<end>[,);:}\]>]|)"
        )
        launches = {one.start() for one in _direct(name).finditer(text, *span)}
        found = []
        for one in mention.finditer(text, *span):
            before = text[max(0, one.start() - _LONGEST) : one.start()]
            place = self._place(file, one.start())
            if (
                one.start() not in launches
                and _is_value(one, before, text)
                and is_compiled(text, one.start())
                and not (depth == _DEPTH and is_local(name, before, self._sources, place))
            ):
                found.append(self._of_value(name, file, one, before, depth))
        return _joined(found)

    def _of_value(
        self, name: str, file: str, mention: re.Match[str], before: str, depth: int
    ) -> Launches:
        """The launches by whatever gets a kernel's address at a mention of it."""
        text, instance = self._sources.code(file), (mention["inner"] or "").strip()[1:-1] or None
        alias = _alias(mention, before)
        kept = _KEPT.search(before)
        template = _TEMPLATE_GIVEN.search(before) if mention["end"] in (",", ">") else None
        chosen = _CHOSEN.match(text, mention.end()) if mention["end"] == ":" else None
        result = _UNKNOWN
        if chosen is not None:
            shape = self._shape(chosen["shape"])
            place = self._place(file, mention.start())
            result = Launches((WrittenLaunch(None, shape, place),), are_all=True)
        elif template is not None:
            position = template["before"].count(",")
            found = [
                self.of(parameters[position], at, depth - 1, span)
                for at, parameters, span in self._definitions(template["name"], of_template=True)
                if position < len(parameters)
            ]
            result = replace(_joined(found), are_all=False)
        elif alias is not None:
            if alias["parameters"] is None:
                result = _joined(self.of(alias["name"], at, depth - 1) for at in self._files)
        elif kept is not None and mention["end"] in (*";},:",) and kept["name"] != name:
            result = self._of_variable(kept["name"], file, mention.start(), depth)
        else:
            call = called_with(text, mention.start())
            if call is not None:
                own = mention.span("inner")
                result = self._of_call(file, call.name, call.begin, call.position, depth, own)
        if instance is None:
            return result
        written = (
            replace(one, instance=instance) if one.instance is None else one
            for one in result.written
        )
        return Launches((*written,), result.are_all)

    def _of_variable(self, name: str, file: str, offset: int, depth: int) -> Launches:
        """The launches by a variable that a value is given to; all of them only where it is a
        function's own, is declared with that value, and is launched, and nothing else."""
        text = self._sources.code(file)
        declared = declarations_of(name, self._sources, self._place(file, offset))
        own = [
            one
            for one in declared
            if one.scope.is_local
            and one.is_plain
            and _INITIALISED.match(text, one.end) is not None
            and text.find(";", one.end) >= offset > one.end
        ]
        if len(declared) != 1 or not own:
            return replace(self.of(name, file, depth - 1), are_all=False)
        span = (own[0].end, own[0].scope.end or len(text))
        mentions = re.compile(rf"{_pattern(name)}(?!\w)").finditer(text, *span)
        launched = {one.start() for one in _direct(name).finditer(text, *span)}
        are_all = all(one.start() in launched for one in mentions)
        return replace(self.of(name, file, depth - 1, span), are_all=are_all)

    def _of_call(
        self, file: str, name: str, begin: int, position: int, depth: int, template: tuple[int, int]
    ) -> Launches:
        """The launches by a function or macro that gets a kernel as an argument.

        Its own template arguments stand at ``template``, between two offsets.
        """
        text = self._sources.code(file)
        end = closed_at(text, begin)
        if end is None:
            return _UNKNOWN
        whole = template[0] - begin - 1, template[1] - begin - 1
        given = [*parts_of(text[begin + 1 : end - 1], whole=whole)]
        shape = shape_of_call(name, given, position)
        if shape is not None:
            place = self._place(file, begin)
            if isinstance(shape, str):
                shape = configured(shape, text[:begin])
            arguments = arguments_of_call(name, given, position, text[:begin])
            launch = WrittenLaunch(None, shape, place, arguments)
            return Launches((*self._expanded(launch, file, begin, depth),), are_all=True)
        got = _GETS.fullmatch(f"{name}({given[0].strip()})")
        if got is not None:
            return replace(self.of(got["name"], file, depth - 1), are_all=False)
        definitions = [one for one in self._definitions(name) if any(one[1][position:][:1])]
        by_it = [
            self.of(parameters[position], at, depth - 1, span)
            for at, parameters, span in definitions
        ]
        found = [
            one
            for (at, parameters, span), launches in zip(definitions, by_it, strict=True)
            for one in self._bound(
                launches.written,
                dict(zip(parameters, given, strict=False)),
                self._sources.code(at)[slice(*span)],
                self._place(file, begin),
            )
        ]
        # A function may be another one of its name; a macro that is defined once is read whole.
        around = [macro_around(self._sources.code(at), span[0]) for at, _, span in definitions]
        is_whole = len(around) == 1 and around[0] is not None and _defines(around[0], name)
        return Launches((*found,), is_whole and by_it[0].are_all)

    def _bound(
        self,
        launches: Iterable[WrittenLaunch],
        given: Mapping[str, str],
        body: str,
        place: SourceLocation,
    ) -> Iterator[WrittenLaunch]:
        """Launches in a body, with a call's arguments for its parameters in their shapes."""
        steady = {word: value for word, value in given.items() if not changes(word, body)}
        for one in launches:
            block, arguments = (
                {word for part in parts for word in _WORDS.findall(part)} & given.keys()
                for parts in (one.shape[1:2], one.given)
            )
            # Names of the body's own have no value at the call.
            is_given = bool(arguments) and arguments <= steady.keys()
            is_kept = not arguments and bool(body)
            written = tuple(_substituted(part, steady) for part in one.given)
            own = replace(
                one,
                given=one.given if is_kept else written if is_given or not body else (),
                given_at=(one.given_at or one.place) if is_kept else place,
            )
            if block and block <= steady.keys():
                shape = tuple(_substituted(part, steady) for part in one.shape)
                own = replace(own, shape=shape, place=place)
            yield own

    def _shape(self, written: str) -> tuple[str, ...]:
        """What stands between chevrons, part by part."""
        parts = (*parts_of(written),)
        words = {word for part in parts for word in _WORDS.findall(part)}
        if len(parts) < _LEAST or "__VA_ARGS__" in words:
            return ()
        return () if any(map(self._is_list, words)) else parts

    def _is_list(self, word: str) -> bool:
        """Whether a macro of that name may stand for several arguments."""
        defined = re.compile(
            rf"#[ \t]*define[ \t]+{word}(?!\w)(?:\([^()]*\))?(?P<body>(?:\\\n|[^\n])*)"
        )
        return any(
            len([*parts_of(found["body"])]) > 1
            for file in self._files
            if word in (code := self._sources.code(file))
            for found in islice(defined.finditer(code), _USES)
        )

    def _expanded(
        self, launch: WrittenLaunch, file: str, offset: int, depth: int
    ) -> Iterator[WrittenLaunch]:
        """A launch as it stands, or as each use of the macro that it is in makes it."""
        text = self._sources.code(file)
        macro = macro_around(text, offset)
        if macro is None or depth <= 0:
            yield launch
            return
        name, parameters = macro
        listed = "" if parameters is None else r"\s*\("
        use = re.compile(rf"{_pattern(name)}(?!\w){listed}")
        for at in self._files:
            code = self._sources.code(at)
            if name not in code:
                continue
            said = (one for one in use.finditer(code) if not _is_asked(code, one.start()))
            uses = [*islice(said, _USES + 1)]
            if len(uses) > _USES:
                yield launch  # With a parameter for its block: of the rest nothing is known.
            for one in uses[:_USES]:
                end = one.end() if parameters is None else closed_at(code, one.end() - 1)
                around = macro_around(code, one.start())
                if end is None or (around is not None and around[0] == name):
                    continue
                inside = code[one.end() : end - 1]
                given = dict(zip(parameters or (), parts_of(inside), strict=False))
                place = self._place(at, one.start())
                for bound in self._bound((launch,), given, "", place):
                    yield from self._expanded(
                        replace(bound, place=place), at, one.start(), depth - 1
                    )

    def _find_definitions(self, name: str, *, of_template: bool = False) -> tuple[_Definition, ...]:
        """Functions and macros of a name.

        Args:
            name: theirs.
            of_template: whether the parameters of templates are meant.
        """
        return (*self._defining(name, of_template),)

    def _defining(self, name: str, of_template: bool) -> Iterator[_Definition]:
        head = re.compile(rf"{_pattern(name)}\s*(?:=\s*\[[^\[\]]*\]\s*)?\(")
        for file in self._files:
            text = self._sources.code(file)
            if name not in text:
                continue
            for found in islice(head.finditer(text), _USES):
                end = closed_at(text, found.end() - 1)
                if end is None:
                    continue
                inside = text[found.end() : end - 1]
                if of_template:
                    before = text[max(0, found.start() - _LONGEST) : found.start()]
                    heads = [*_TEMPLATE.finditer(before)]
                    inside = heads[-1]["given"] if heads else ""
                parameters = tuple(parameter_name(part) for part in parts_of(inside))
                macro = macro_around(text, end)
                if macro is not None and _defines(macro, name):
                    last = re.compile(r"(?<!\\)\n|\Z").search(text, end)
                    assert last is not None
                    yield file, parameters, (end, last.start())
                    continue
                body = _BODY.match(text, end)
                closed = closed_at(text, body.end() - 1) if body is not None else None
                if closed is not None:
                    yield file, parameters, (end, closed)

    def _place(self, file: str, offset: int) -> SourceLocation:
        return SourceLocation(file, 1 + self._sources.code(file).count("\n", 0, offset))


def _is_asked(code: str, offset: int) -> bool:
    """Whether a macro's name stands in a directive that does not expand it."""
    line = code[code.rfind("\n", 0, offset) + 1 : offset]
    return _DIRECTIVE.match(line) is not None


def _defines(macro: tuple[str, tuple[str, ...] | None], name: str) -> bool:
    """Whether a macro is one of that name with parameters."""
    return macro[0] == name and macro[1] is not None


def _direct(kernel: str) -> re.Pattern[str]:
    """``kernel<4><<<grid, block>>>(``: the groups ``instance`` and ``shape``."""
    return re.compile(
        rf"{_pattern(kernel)}\s*(?:\[[^\[\]]*\]\s*)*\)?\s*(?:<(?P<instance>[^;{{}}]*?)>)?"
        r"\s*<\s*<\s*<(?P<shape>[^;]*?)>\s*>\s*>\s*\("
    )


def _arguments(text: str, opening: int) -> tuple[str, ...]:
    """What stands between the parentheses of a launch; nothing where they do not close."""
    end = closed_at(text, opening)
    return () if end is None else (*parts_of(text[opening + 1 : end - 1]),)


def _alias(mention: re.Match[str], before: str) -> re.Match[str] | None:
    """The macro that a name is all of, or the end of: ``#define IT kernel``."""
    rest = mention.string[mention.end("inner") : mention.end("inner") + 1]
    if mention["inner"] is None:
        first = _FIRST.search(mention[0])
        rest = mention.string[mention.start() + (len(first[0]) if first is not None else 0) :][:1]
    return _DEFINES.search(before.rpartition("\n")[2]) if rest in ("\n", "") else None


def _is_value(mention: re.Match[str], before: str, text: str) -> bool:
    """Whether a kernel's name is a value there that is handed on, or may be."""
    end, behind = mention["end"], text[mention.end() : mention.end() + _LONGEST]
    line = before.rpartition("\n")[2].lstrip()
    if line.startswith("#") and _DEFINES.match(line) is None:
        return False  # The name of the macro, or a condition.
    if before.rstrip().endswith((".", "->")):
        return False  # A member of that name.
    if _alias(mention, before) is not None:
        return True
    if not end:
        return _NO_VALUE.match(behind) is None
    if end == ":" and (behind[:1] == ":" or "?" not in before):
        return False
    if end == ";" and _DECLARES.search(before) is not None:
        return False
    return _ASKS.search(before) is None and _DECLARED.search(before + mention[0]) is None


def _substituted(part: str, given: Mapping[str, str]) -> str:
    """A part of a shape with arguments in the place of parameters."""
    whole = given.get(part.strip())
    if whole is not None:
        return whole
    return _WORDS.sub(lambda one: f"({given[one[0]]})" if one[0] in given else one[0], part)
