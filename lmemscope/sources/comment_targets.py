"""Detect when it is unclear which kernel a source comment refers to.

A comment refers to the definition below it. Macros may give that definition another name, or its
name to another definition. Only a preprocessor could tell, so the comment then applies to none.
This is checked only for files with such comments.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from lmemscope.files import cached_while_unchanged, read_beside
from lmemscope.model import CompileOptions, CudaSource, Directive, KernelDefinition, base_name
from lmemscope.sources.code import Code, Token
from lmemscope.sources.cuda import read_cuda_source
from lmemscope.sources.encoding import decoded, readable
from lmemscope.sources.tokens import lexemes

_SPOKEN = frozenset(("allow", "expect"))
_SPLICE = re.compile(r"\\[ \t]*\r?\n")
_DEFINE = re.compile(r"#\s*define\s+([^\W\d]\w*)(.*)", re.DOTALL)
_QUOTED_INCLUDE = re.compile(r'#\s*include\s*"')
_WORD = re.compile(r"\w+")
_SPLICED = re.compile(r"\?\?/[ \t]*\r?\n")
_ODD = re.compile(r"\?\?[=/'()!<>-]|<%|%>|%:|\\[uU][0-9a-fA-F]{4}")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'')
_STRUCTURE = re.compile(r"[{};]|##")
_MOST_PIECES = 4096


@dataclass(frozen=True, slots=True)
class _Text:
    """What a file contains besides its definitions.

    Attributes:
        macros: replacement of each macro, by name; several definitions are concatenated.
        outer: words in the parentheses of macros and functions outside bodies, with their counts,
            by the word before the parenthesis.
        spliced: the text with continued lines joined.
        odd: whether it contains digraphs, trigraphs or universal character names.
    """

    macros: dict[str, str]
    outer: dict[str, Counter[str]]
    spliced: str
    odd: bool

    def definitions_of(self, name: str) -> list[KernelDefinition]:
        """Kernels and other functions with an unqualified name that it defines."""
        if name not in self.spliced:
            return []
        return [one for one in _definitions(self.spliced) if base_name(one.name) == name]


def with_doubts(
    source: CudaSource, path: str, files: Sequence[str], options: CompileOptions, computed: bool
) -> CudaSource:
    """A source with doubts recorded for its own comments and those in its headers.

    Args:
        source: with its headers.
        path: its absolute path.
        files: all of the user's files that compiling it reads.
        options: its compile options.
        computed: whether it may read other files.
    """
    sources = (source, *(header.source for header in source.headers))
    if not any(one.word in _SPOKEN for own in sources for one in own.directives):
        return source
    unit = _Unit({file: _text(file) for file in (path, *files)}, options, computed)
    headers = tuple(
        replace(header, source=_told(header.source, header.path, unit)) for header in source.headers
    )
    return replace(_told(source, path, unit), headers=headers)


def with_doubts_of_text(source: CudaSource, text: str, options: CompileOptions) -> CudaSource:
    """As `with_doubts`, for text that is not a file of its own."""
    if not any(one.word in _SPOKEN for one in source.directives):
        return source
    computed = bool(options.include_dirs) or _QUOTED_INCLUDE.search(text) is not None
    return _told(source, "", _Unit({"": text_of(text)}, options, computed))


def _told(source: CudaSource, path: str, unit: _Unit) -> CudaSource:
    return replace(
        source,
        directives=tuple(_with_doubt(one, source, path, unit) for one in source.directives),
    )


def _with_doubt(directive: Directive, source: CudaSource, path: str, unit: _Unit) -> Directive:
    if directive.word not in _SPOKEN:
        return directive
    meant = source.definition_of(directive)
    if isinstance(meant, str):
        return directive
    return replace(
        directive, doubt=unit.doubt(meant, path), namesakes=tuple(unit.namesakes(meant, path))
    )


class _Unit:
    """All text in a compilation."""

    def __init__(
        self, texts: dict[str, _Text | None], options: CompileOptions, computed: bool
    ) -> None:
        self._computed = computed or None in texts.values()
        self._texts = {path: text for path, text in texts.items() if text is not None}
        self._macros: dict[str, str] = {}
        for text in self._texts.values():
            for name, replacement in text.macros.items():
                self._macros[name] = f"{self._macros.get(name, '')} {replacement}"
        for define in _defines(options):
            name, _, value = define.partition("=")
            self._macros[name.partition("(")[0]] = value
        self._words = {name: frozenset(_WORD.findall(text)) for name, text in self._macros.items()}
        self._odd = self._odd_macros()

    def namesakes(self, meant: KernelDefinition, path: str) -> Iterable[str]:
        """Functions in other files with the same unqualified name."""
        return sorted({one.name for one in self._others(meant, path) if one.name != meant.name})

    def doubt(self, meant: KernelDefinition, path: str) -> str:
        """Why another kernel may have been compiled under a definition's name, or empty."""
        name = base_name(meant.name)
        if self._computed:
            return "not all of the text is known that is compiled"
        if any(text.odd for text in self._texts.values()):
            return "the text spells characters by digraphs, trigraphs or numbers"
        for word in meant.name.split("::"):
            if word in self._macros:
                return f"{word} is a macro"
        if any(one.may_be(meant) for one in self._others(meant, path)):
            return f"another file of the compilation defines {meant.name} too"
        holding = sorted(macro for macro, words in self._words.items() if name in words)
        if holding:
            return f"the macro {holding[0]} holds the name {name}"
        if any(not self._makes_one(macro, meant) for macro in self._odd.intersection(meant.head)):
            return f"a macro before {name} holds more than words"
        made_here = meant.head.count(name) if meant.parameters is None else 0
        arguments = self._outer_arguments()
        if arguments[name] > made_here:
            return f"{name} is the argument of a macro, which may define it too"
        if _is_made_of(name, self._pieces(arguments)):
            return f"a macro may paste the name {name}"
        return ""

    def _makes_one(self, macro: str, meant: KernelDefinition) -> bool:
        """Whether a macro expands to exactly one kernel, named by its argument."""
        text = self._macros[macro]
        return (
            meant.parameters is None
            and text.count("__global__") == 1
            and "##" not in text
            and text.count("{") == text.count("}")
            and self._odd.isdisjoint(self._words[macro])
        )

    def _others(self, meant: KernelDefinition, path: str) -> Iterable[KernelDefinition]:
        name = base_name(meant.name)
        for other, text in self._texts.items():
            if other != path:
                yield from text.definitions_of(name)

    def _outer_arguments(self) -> Counter[str]:
        """Words passed to macros outside bodies."""
        unbalanced = any(text.count("{") != text.count("}") for text in self._macros.values())
        found: Counter[str] = Counter()
        for text in self._texts.values():
            for before, words in text.outer.items():
                outside = before if unbalanced else before.removesuffix(" (inside)")
                if before.endswith(" (inside)") and not unbalanced:
                    continue
                if outside.removesuffix(" (inside)") in self._macros:
                    found.update(words)
        return found

    def _odd_macros(self) -> set[str]:
        """Macros that expand to more than words, directly or through other macros."""
        users: dict[str, list[str]] = {}
        for name, words in self._words.items():
            for word in words & self._macros.keys():
                users.setdefault(word, []).append(name)
        pending = [name for name, text in self._macros.items() if _STRUCTURE.search(text)]
        odd = set(pending)
        while pending:
            for user in users.get(pending.pop(), ()):
                if user not in odd:
                    odd.add(user)
                    pending.append(user)
        return odd

    def _pieces(self, arguments: Counter[str]) -> frozenset[str]:
        """Words that macros may paste into names."""
        pasting = [text for text in self._macros.values() if "##" in text.replace(" ", "")]
        if not pasting:
            return frozenset()
        return frozenset(arguments).union(*(_WORD.findall(text) for text in pasting))


def _is_made_of(name: str, pieces: Collection[str]) -> bool:
    """Whether a name is composed of two or more pieces."""
    if not pieces:
        return False
    if len(pieces) > _MOST_PIECES:
        return True
    reached = [True] + [False] * len(name)
    for end in range(1, len(name) + 1):
        reached[end] = any(
            reached[begin] and name[begin:end] in pieces
            for begin in range(end)
            if (begin, end) != (0, len(name))
        )
    return reached[len(name)]


def _defines(options: CompileOptions) -> Iterable[str]:
    yield from options.defines
    arguments = (*options.nvrtc_args, *options.nvcc_args)
    for before, word in zip(("", *arguments), arguments, strict=False):
        if before in ("-D", "--define-macro"):
            yield word
        else:
            for lead in ("-D", "--define-macro="):
                if word.startswith(lead) and word != lead:
                    yield word.removeprefix(lead)


def _text(path: str) -> _Text | None:
    try:
        return _read(path)
    except OSError:
        return None


@cached_while_unchanged(512)
def _read(path: str) -> _Text:
    return text_of(readable(decoded(read_beside(path)).text))


def text_of(text: str) -> _Text:
    """Read a file's text, with lines joined as compilers do."""
    text = _SPLICE.sub("", text)
    macros: dict[str, str] = {}
    tokens: list[Token] = []
    for kind, lexeme in lexemes(text):
        if kind != "directive":
            tokens.append(Token(kind, lexeme, 0))
        elif (found := _DEFINE.match(lexeme)) is not None:
            macros[found[1]] = f"{macros.get(found[1], '')} {found[2]}"
    code = "".join(token.text for token in tokens if token.kind != "string")
    code += "".join(_STRING.sub("", replacement) for replacement in macros.values())
    odd = _SPLICED.search(text) is not None or _ODD.search(code) is not None
    return _Text(macros, _outer(Code(tokens)), text, odd)


@functools.lru_cache(maxsize=64)
def _definitions(text: str) -> tuple[KernelDefinition, ...]:
    source = read_cuda_source(text)
    return tuple(one for one in (*source.kernels, *source.functions) if not one.is_declaration)


def _outer(code: Code) -> dict[str, Counter[str]]:
    """Words in parentheses, by the word before, and whether that is inside a body."""
    found: dict[str, Counter[str]] = {}
    ends: list[int] = []
    for position, token in enumerate(code.tokens):
        while ends and ends[-1] < position:
            ends.pop()
        if token.text == "{" and code.is_matched(position):
            words = {code[index].text for index in range(code.start(position), position)}
            is_scope = "namespace" in words or ("extern" in words and "(" not in words)
            if not is_scope:
                ends.append(code.closing(position))
        if token.text == "(" and position and code[position - 1].kind == "word":
            name = code[position - 1].text + (" (inside)" if ends else "")
            inside = code.tokens[position + 1 : code.closing(position)][:_MOST_PIECES]
            words_inside = (one.text for one in inside if one.kind in ("word", "number"))
            found.setdefault(name, Counter()).update(words_inside)
    return found
