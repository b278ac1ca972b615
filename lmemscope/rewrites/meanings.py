"""What names mean in the files that can be seen: macros' bodies, and how functions take arguments.

A rewrite that evaluates an expression twice, or later, or copies what it gives to a function, asks
here first. What is defined in files that cannot be seen is not known; the language's own functions
and macros have no such effects.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from lmemscope.model.blanked import closed, is_balanced
from lmemscope.rewrites.references import (
    ADDRESS,
    Reference,
    Taking,
    has_member_reference,
    references,
    takes_mutable,
    taking_of,
)
from lmemscope.rewrites.seen import BODY, is_in_sight, is_library, named, pastes

_DEFINE = re.compile(
    rb"^[ \t]*#[ \t]*define[ \t]+(\w+)(\([^)\n]*\))?[ \t]*((?:[^\n\\]|\\\r?\n|\\.)*)",
    re.MULTILINE,
)
_CHANGES = re.compile(rb"\+\+|--|(?<![=<>!+\-*/%&|^])=(?!=)|[+\-*/%&|^]=|<<=|>>=")
_EFFECTS = re.compile(rb"\w\s*\(|" + _CHANGES.pattern)
_STORING = re.compile(rb"\b(?:static|__shared__|__device__|__constant__|__managed__)\b")
_SEVERAL = re.compile(rb"[;{}]")
_CONDITIONAL = re.compile(
    rb"[;{}?]|&&|\|\||\b(?:if|else|for|while|do|switch|case|return|break|continue|goto|and|or|sizeof"
    rb"|decltype|noexcept|typeid|asm)\b"
)
_LIST = re.compile(rb"^[^()]*,|\)[^()]*,")
_CLASS = re.compile(rb"\b(?:struct|class|union)\b(?:[^;{}()=]|\((?:[^()]|\([^()]*\))*\))*\{")
_CLASS_HEAD = (
    rb"\b(?:struct|class|union)\s+"
    rb"(?:\w+\s*\((?:[^()]|\([^()]*\))*\)\s*|\[\[[^\]]*\]\]\s*|\w+\s+(?=\w))*"
)
"""A class up to its name, with attributes and macros between."""
_NAMED_CLASS = re.compile(_CLASS_HEAD + rb"(\w+)[^;{}()=]*\{")
_OPERATOR = re.compile(
    rb"\boperator\s*((?:\(\s*\)|(?!(?:[-+*/%&|^]|<<|>>)?=[^=])[^\s(=]|[=!<>]=|\s)+)\([^()]*\)\s*(const)?"
)
"""Operators, but those that assign, and whether they are const."""
_COPYING = re.compile(
    rb"\boperator\s*=(?!=)|\b(\w+)\s*\(\s*(?:const\s+)?\1\b\s*(?:<[^<>()]*>\s*)?(?:const\s*)?&"
)
_CALLED = re.compile(rb"\b(\w+)\s*(?:<[^;{}()]{0,500}>\s*)?\(")
_ALIAS = re.compile(rb"\busing\s+(\w+)\s*=([^;]*)")
_TYPEDEF = re.compile(rb"\btypedef\b([^;]*)")
_REFERENCE_WORDS = frozenset(
    one + end
    for one in (b"decltype", b"add_lvalue_reference", b"add_rvalue_reference")
    for end in (b"", b"_t")
)
_POINTERS = (
    rb"\(\s*(?:\w+\s*::\s*)?[*&][^()]*\b%b\b[^()]*\)\s*\(",
    rb"\busing\s+%b\s*=[^;(]*(?:\([^()]*\)\s*)?\(",
)
"""A variable that is a pointer to a function, and a type of such."""
_ALIASED = re.compile(rb"\btypedef\s([\w\s:]+);|\busing\s+(\w+)\s*=([\w\s:]+);")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_ALIASES = 4
"""Names of types that stand for each other, at most."""


class Meanings:
    """What can be seen.

    Attributes:
        texts: of the target's file and of the headers around it, blanked.
        is_all_device: whether functions without ``__device__`` may be the device's.

    Args:
        texts, is_all_device: these.
        quoted: the texts with what stands in quotes.
    """

    def __init__(
        self, texts: Iterable[bytes], quoted: Iterable[bytes] = (), *, is_all_device: bool = False
    ) -> None:
        self.is_all_device = is_all_device
        self.texts = tuple(dict.fromkeys(texts))
        self._quoted = tuple(dict.fromkeys(quoted))
        self._taking: dict[bytes, tuple[tuple[tuple[Taking, bytes], ...], ...]] = {}
        self._references: dict[tuple[bytes | None, bytes], tuple[Reference, ...]] = {}
        self._unseen: dict[bytes, bool] = {}
        self._bodies = functools.cache(lambda name: tuple(self._find_bodies(name)))

    @cached_property
    def _defined(self) -> dict[bytes, tuple[tuple[bytes, bytes], ...]]:
        found: dict[bytes, tuple[tuple[bytes, bytes], ...]] = {}
        for name, given, body in self.defined:
            found[name] = (*found.get(name, ()), (given, body))
        return found

    @cached_property
    def _macros(self) -> dict[bytes, tuple[bytes, ...]]:
        return {name: tuple(body for _, body in given) for name, given in self._defined.items()}

    @cached_property
    def _index(self) -> dict[bytes, list[bytes]]:
        """The texts that hold a word, by the word."""
        found: dict[bytes, list[bytes]] = {}
        for text in self.texts:
            for word in set(_WORD.findall(text)):
                found.setdefault(word, []).append(text)
        return found

    def _holding(self, name: bytes) -> Sequence[bytes]:
        """The texts that hold a name, or the word that it begins with."""
        word = _WORD.match(name)
        return self.texts if word is None else self._index.get(word[0], ())

    def _places(
        self, name: bytes, pattern: re.Pattern[bytes]
    ) -> Iterator[tuple[bytes, re.Match[bytes]]]:
        """Where the texts have a pattern of a name."""
        return ((text, found) for text in self._holding(name) for found in pattern.finditer(text))

    @cached_property
    def defined(self) -> tuple[tuple[bytes, bytes, bytes], ...]:
        """Macros' definitions: the name, the parameters in brackets if there are any, the body."""
        return tuple(one for text in self.texts for one in _DEFINE.findall(text))

    @cached_property
    def macro_names(self) -> frozenset[bytes]:
        """Names of the macros."""
        return frozenset(self._macros)

    @cached_property
    def macro_words(self) -> frozenset[bytes]:
        """Words of the macros' parameters and bodies."""
        return frozenset(_WORD.findall(self.definitions(self._defined)))

    @cached_property
    def halves(self) -> frozenset[bytes]:
        """Macros that open what they do not close, or close what they did not open."""
        found = {
            name
            for name, bodies in self._macros.items()
            if not all(is_balanced(body) for body in bodies)
        }
        grown = True
        while grown:
            more = {
                name
                for name, bodies in self._macros.items()
                for body in bodies
                if found & set(_WORD.findall(body))
            }
            grown = not more <= found
            found |= more
        return frozenset(found)

    @cached_property
    def words(self) -> frozenset[bytes]:
        """Whatever is a name, or looks like one, in any of the texts."""
        return frozenset(self._index)

    def definitions(self, words: Iterable[bytes]) -> bytes:
        """The parameters and bodies of the macros among some words."""
        wanted = set(words)
        return b"\n".join(
            parameters + body for name, parameters, body in self.defined if name in wanted
        )

    def macros(self, name: bytes) -> tuple[tuple[bytes, bytes], ...]:
        """The parameters in brackets, empty where there are none, and the body of a macro's
        definitions."""
        return self._defined.get(name, ())

    def macro_has(self, words: Iterable[bytes], pattern: re.Pattern[bytes]) -> bool:
        """Whether the body of a macro among some words has a pattern, or one that it names."""
        return any(self._affects(word, set(), pattern) for word in words)

    def is_in_macro(self, word: bytes) -> bool:
        """Whether the body of a macro has a word that is none of its parameters."""
        own = re.compile(rb"\b%b\b" % re.escape(word))
        return any(
            own.search(body) is not None and own.search(parameters) is None
            for _, parameters, body in self.defined
        )

    def may_name(self, words: Iterable[bytes], name: bytes) -> bool:
        """Whether a macro among some words, or one of its body, says a name, or pastes it together.

        What is pasted of arguments alone may be any name.
        """
        pending, seen = set(words) & self._macros.keys(), set[bytes]()
        while pending:
            seen |= pending
            bodies = [body for one in pending for body in self._macros[one]]
            inside = {word for body in bodies for word in _WORD.findall(body)}
            pending = (inside & self._macros.keys()) - seen
        for one, parameters, body in self.defined:
            own = set(_WORD.findall(parameters))
            if one in seen and (
                (name in _WORD.findall(body) and name not in own) or pastes(body, own, name)
            ):
                return True
        return False

    def has(self, pattern: re.Pattern[bytes], *, in_quotes: bool = False) -> bool:
        """Whether a pattern is found in any of the texts, or in what they quote, too."""
        return any(map(pattern.search, self._quoted if in_quotes else self.texts))

    def has_effects(self, words: Iterable[bytes], *, calls: bool = True) -> bool:
        """Whether a macro among some words may change something.

        Args:
            words: names.
            calls: whether calls of functions count.
        """
        return self.macro_has(words, _EFFECTS if calls else _CHANGES)

    def is_several(self, words: Iterable[bytes]) -> bool:
        """Whether a macro among some words may be more than one statement."""
        return self.macro_has(words, _SEVERAL)

    def is_conditional(self, words: Iterable[bytes]) -> bool:
        """Whether a macro among some words may leave out what stands with it, or do it again."""
        return self.macro_has(words, _CONDITIONAL)

    def stores(self, words: Iterable[bytes]) -> bool:
        """Whether a macro among some words may make a variable that threads or calls share."""
        return self.macro_has(words, _STORING)

    def is_redefined(self, words: Iterable[bytes]) -> bool:
        """Whether a macro among some words means one thing here and another there."""
        undefined = re.compile(rb"^[ \t]*#[ \t]*undef[ \t]+(\w+)", re.MULTILINE)
        gone = {name for text in self.texts for name in undefined.findall(text)}
        return any(word in gone or len(set(self._macros.get(word, ()))) > 1 for word in words)

    def is_list(self, words: Iterable[bytes], seen: frozenset[bytes] = frozenset()) -> bool:
        """Whether a macro among some words stands for several expressions, by others maybe."""
        new = {word for word in words if word in self._macros} - seen
        bodies = [body for word in new for body in self._macros[word]]
        return any(_LIST.search(body) is not None for body in bodies) or any(
            self.is_list(_WORD.findall(body), seen | new) for body in bodies
        )

    def tells_const(self) -> bool:
        """Whether operators or members of the program may tell what is const from what is not.

        What a macro makes may be either. Free operators of vectors of the language's aside, which
        are as they are everywhere.
        """
        if b"mutable" in self.words or any(
            b"operator" in body for bodies in self._macros.values() for body in bodies
        ):
            return True
        for text in self.texts:
            for start in _CLASS.finditer(text):
                body = text[start.end() : closed(text, start.end(), b"{}")]
                if any(one[1] != b"const" for one in _OPERATOR.findall(body)):
                    return True
        return any(takes_mutable(text, self._spelled_out) for text in self.texts)

    def copies_otherwise(self) -> bool:
        """Whether a class of the program has its own way to be copied or assigned."""
        return b"mutable" in self.words or self.has(_COPYING)

    def has_references(self, name: bytes) -> bool:
        """Whether a class of a name holds references, or its constructors take any."""
        if {"mutable", "const", "anything"} & self.taking(name):
            return True
        return any(
            b"&" in text[start.end() : closed(text, start.end(), b"{}")]
            for text, start in self._places(name, _class_of(name))
        )

    def holds_references(self) -> bool:
        """Whether a class of the program has a member that is a reference."""
        every = ((text, start) for text in self.texts for start in _CLASS.finditer(text))
        return any(has_member_reference(text, start.end()) for text, start in every)

    def is_array(self, name: bytes) -> bool:
        """Whether a member of a name may be an array: it is, or its declaration is not seen."""
        declared = re.compile(
            rb"(?<![\w>*&])([\w>*&]+)\s+\**" + re.escape(name) + rb"\s*(\[|[;,=:{])"
        )
        found = [one.groups() for _, one in self._places(name, declared)]
        return not found or any(
            mark == b"[" or self.has(_array_of(kind)) for kind, mark in found if kind
        )

    def is_row(self, kind: bytes) -> bool:
        """Whether a type's name stands for arrays: an element of it is a row, and no value."""
        return self.has(_array_of(kind))

    def turns_into_pointer(self, name: bytes, subscripts: int) -> bool:
        """Whether a member with so many subscripts may still be an array.

        Args:
            name: of the member.
            subscripts: how many follow it.
        """
        if not subscripts:
            return self.is_array(name)
        declared = re.compile(
            rb"(?<![\w>*&])([\w>*&]+)\s+\**%b\s*((?:\[[^\[\]]*\]\s*)+)[;,={]" % re.escape(name)
        )
        return any(
            one[2].count(b"[") > subscripts or self.has(_array_of(one[1]))
            for _, one in self._places(name, declared)
        )

    def taking(self, name: bytes) -> frozenset[Taking]:
        """How the functions of a name that can be seen take their arguments, any of them."""
        return frozenset(one for given in self._lists(name) for one, _ in given)

    def taking_at(self, name: bytes, position: int) -> frozenset[Taking]:
        """How those functions take the argument of a position, from 0."""
        if any(b"..." in written for given in self._lists(name) for _, written in given):
            return self.taking(name)
        return frozenset(given[position][0] for given in self._lists(name) if position < len(given))

    def _lists(self, name: bytes) -> tuple[tuple[tuple[Taking, bytes], ...], ...]:
        """What stands in brackets behind a name: the parameters of functions, and of calls."""
        if name not in self._taking:
            self._taking[name] = tuple(
                tuple(self._spelled_out(one) for one in taking_of(text, start.end()))
                for text, start in self._places(name, named(name))
            )
        return self._taking[name]

    def _spelled_out(self, given: tuple[Taking, bytes]) -> tuple[Taking, bytes]:
        """How an argument is taken where the parameter's type is another name of a reference."""
        taking, written = given
        words = set(_WORD.findall(written))
        is_named = words & self._reference_types or words & _REFERENCE_WORDS
        return ("mutable" if taking == "value" and is_named else taking), written

    @cached_property
    def classes(self) -> frozenset[bytes]:
        """Names of the program's classes, which their constructors have, too."""
        return frozenset(name for text in self.texts for name in _NAMED_CLASS.findall(text))

    def references(self, name: bytes | None, element: bytes) -> tuple[Reference, ...]:
        """The functions of a name, or all, that may take an element of a type by reference."""
        key = (name, element)
        if key not in self._references:
            texts = self.texts if name is None else self._holding(name)
            found = (one for text in texts for one in references(text, name, element))
            self._references[key] = tuple(found)
        return self._references[key]

    def is_held(self, name: bytes) -> bool:
        """Whether a class of a name has a member that is a reference."""
        return bool(name) and any(
            has_member_reference(text, start.end())
            for text, start in self._places(name, _class_of(name))
        )

    def takes_addresses(self, name: bytes, seen: frozenset[bytes] = frozenset()) -> bool:
        """Whether a function that gets a reference takes an address, or a macro: of that, maybe.

        Functions that it calls count, and one that cannot be seen may (`is_unseen`).
        """
        if name in seen:
            return False
        bodies = list(self._macros.get(name, ()))
        if {"mutable", "const", "anything"} & self.taking(name):
            bodies += self._bodies(name)
        called = {one for body in bodies for one in _CALLED.findall(body)}
        return any(ADDRESS.search(b"(" + body) is not None for body in bodies) or any(
            self.is_unseen(one) or self.takes_addresses(one, seen | {name}) for one in called
        )

    def is_unseen(self, called: bytes) -> bool:
        """Whether what is called may be a function that these texts do not have."""
        name = re.split(rb"::|\.|->", called.partition(b"<")[0])[-1].strip()
        if name not in self._unseen:
            self._unseen[name] = not (
                name in self._macros
                or name in self.classes
                or is_in_sight(name, self._holding(name))
                or self.is_type(name)
            )
        return self._unseen[name] and not is_library(called)

    def points_to_taking(self, names: Iterable[bytes]) -> bool:
        """Whether pointers to functions of some names, or types of such, may take references."""
        return any(
            b"&" in text[start.end() : closed(text, start.end(), b"()")]
            for one in names
            for pattern in _POINTERS
            for text, start in self._places(one, re.compile(pattern % re.escape(one)))
        )

    def reached(self, names: Iterable[bytes]) -> tuple[bytes, ...]:
        """The bodies of functions, lambdas and macros of some names, and of what they call.

        A variable that is called, of a class in sight, counts as its operator.
        """
        found: dict[bytes, None] = {}
        pending, seen = [*names], set[bytes]()
        while pending:
            name = pending.pop()
            if name in seen:
                continue
            seen.add(name)
            for body in (*self._macros.get(name, ()), *self._bodies(name)):
                found[body] = None
                pending += _CALLED.findall(body)
        return tuple(found)

    def is_type(self, name: bytes) -> bool:
        """Whether a name may stand for a type: something in sight says so, or it is a macro."""
        said = re.compile(
            rb"\btypedef\b[^;]*\b%b\b|\busing\s+%b\b|\b(?:class|typename|struct|union|enum)\s+%b\b"
            rb"|\busing\s[\w:\s]*::\s*%b\s*;" % ((re.escape(name),) * 4)
        )
        return name in self._macros or any(self._places(name, said))

    def is_reference(self, name: bytes) -> bool:
        """Whether a name stands for a type of references."""
        return name in self._reference_types

    @cached_property
    def _reference_types(self) -> frozenset[bytes]:
        said = [one for text in self.texts for one in _ALIAS.findall(text)]
        return frozenset(
            name
            for name, meant in said
            if b"&" in meant or _REFERENCE_WORDS & set(re.findall(rb"\w+", meant))
        ) | frozenset(
            name
            for text in self.texts
            for meant in _TYPEDEF.findall(text)
            for name in re.findall(rb"&\s*(\w+)\s*$", meant)
        )

    def spelled_out(self, type_: bytes) -> bytes:
        """A type as written, with what names in it stand for, as far as the texts say one thing."""
        for _ in range(_ALIASES):
            made = re.sub(rb"[A-Za-z_]\w*", lambda found: self._meant(found[0]), type_)
            if made == type_:
                break
            type_ = made
        return type_

    def _meant(self, name: bytes) -> bytes:
        """What a name of a type stands for; itself where that is not known or differs."""
        if name in self._macros:
            return name
        found = self._aliases.get(name, set())
        return next(iter(found)) if len(found) == 1 else name

    @cached_property
    def _aliases(self) -> dict[bytes, set[bytes]]:
        """What typedefs and aliases in sight say that a name of a type stands for."""
        found: dict[bytes, set[bytes]] = {}
        said = (one for text in self.texts for one in _ALIASED.findall(text))
        for typedef, name, aliased in said:
            *meant, last = (*aliased.split(), name) if name else typedef.split() or (b"",)
            if meant:
                found.setdefault(last, set()).add(b" ".join(meant))
        return found

    def _find_bodies(self, name: bytes) -> Iterator[bytes]:
        """What functions, constructors and lambdas of a name do, as far as they can be seen."""
        if name not in self._index:
            return
        bare = re.compile(rb"\b%b\s*=\s*\[[^\]]*\]\s*\{" % name)
        for text, start in self._places(name, named(name)):
            end = closed(text, start.end(), b"()")
            body = BODY.match(text, end)
            if body is not None:
                yield text[end : closed(text, body.end(), b"{}")]
        for text, start in self._places(name, bare):
            yield text[start.end() : closed(text, start.end(), b"{}")]

    def _affects(self, word: bytes, seen: set[bytes], pattern: re.Pattern[bytes]) -> bool:
        if word in seen:
            return False
        seen.add(word)
        return any(
            pattern.search(body) is not None
            or any(self._affects(one, seen, pattern) for one in _WORD.findall(body))
            for body in self._macros.get(word, ())
        )


def _class_of(name: bytes) -> re.Pattern[bytes]:
    """The head of a class of a name, up to its brace."""
    return re.compile(_CLASS_HEAD + rb"%b\b[^;{}()]*\{" % re.escape(name))


def _array_of(kind: bytes) -> re.Pattern[bytes]:
    """The declaration of a type's name that stands for arrays."""
    name = re.escape(kind)
    return re.compile(rb"\busing\s+%b\s*=[^;{}]*\[|\btypedef\b[^;{}]*\b%b\s*\[" % (name, name))
