"""Check option values: one check per kind, shared by flags, file, API and comments."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from msgspec import Struct

from lmemscope.errors import UsageError
from lmemscope.formats.depths import parse_depth
from lmemscope.model import Cause
from lmemscope.model.option import Option

CAUSES: tuple[str, ...] = get_args(Cause)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_LONGEST_SHOWN = 80

LONGEST_TIMEOUT = 1_000_000
"""In seconds, about 12 days: the longest wait that the operating system supports."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value was given, for error messages.

    Attributes:
        name: the setting as written there: ``--jobs``, ``lmemscope.toml: jobs``.
        directory: base of relative paths; empty for the working directory.
        stage: of the error.
        verb: the word between the name and a wrong value.
    """

    name: str
    directory: str = ""
    stage: str = "usage"
    verb: Literal["is", "holds"] = "is"

    def refuse(self, value: object, accepts: str, hint: str | None = None) -> UsageError:
        """The error that names the setting, the value, and what is accepted."""
        message = f"{self.name} {self.verb} {shown(value)}, not {accepts}"
        return UsageError(self.stage, message, hint=hint)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value.

    Attributes:
        accepts: a description with unit and range: "a whole number from 1 up".
        check: converts a value given at a place to the one that the program uses; raises
            `UsageError`.
        read: converts a flag's text to the value to check.
        shape: whether a flag is given once, many times, or without a value.
        choices: the accepted words, if there is a list.
        bounds: of a number, as shown in the help.
    """

    accepts: str
    check: Callable[[object, Place], Any]
    read: Callable[[str], object] = str
    shape: Literal["one", "many", "switch"] = "one"
    choices: tuple[str, ...] = ()
    bounds: str = ""


def is_structure(hint: Any) -> bool:
    """Whether a type is a structure with its own fields."""
    return isinstance(hint, type) and issubclass(hint, Struct)


def kind_of_field(hint: Any, option: Option) -> Kind:
    """The kind of an option, from its field's type and its declaration."""
    if get_origin(hint) in (Union, UnionType):
        hint = next(one for one in get_args(hint) if one is not NoneType)
    if get_origin(hint) is tuple:
        item = get_args(hint)[0]
        return _tables() if is_structure(item) else _listed(_item(item, option))
    return _item(hint, option)


def _item(hint: Any, option: Option) -> Kind:
    named = _NAMED.get(option.check or "")
    if named is not None:
        return named()
    if hint is Cause:
        return _cause()
    if get_origin(hint) is Literal:
        words = get_args(hint)
        return _simple(f"one of {', '.join(words)}", words.__contains__, choices=words)
    if hint is int:
        return _whole(option)
    return {bool: _switch, float: _seconds, date: _day}.get(hint, lambda: _text(option.accepts))()


def _simple(
    accepts: str,
    is_valid: Callable[[Any], bool],
    of: type | tuple[type, ...] = str,
    **more: Any,
) -> Kind:
    """A kind whose values are used unchanged."""

    def check(value: object, place: Place) -> Any:
        # In Python, True is an int.
        odd = isinstance(value, bool) and of is not bool
        if odd or not isinstance(value, of) or not is_valid(value):
            raise place.refuse(value, accepts)
        return value

    return Kind(accepts, check, **more)


def _text(accepts: str, *, empty: bool = False) -> Kind:
    return _simple(accepts, lambda value: "\0" not in value and (empty or bool(value.strip())))


def _whole(option: Option) -> Kind:
    least, most = option.least, option.most
    unit = f" of {option.unit}" if option.unit else ""
    accepts = f"a whole number{unit} from {least} {'up' if most is None else f'to {most}'}"
    return _simple(
        accepts,
        lambda value: value >= least and (most is None or value <= most),
        int,
        read=_number(int),
        bounds=f"x>={least}" if most is None else f"{least}<=x<={most}",
    )


def _seconds() -> Kind:
    accepts = f"a number of seconds above 0, up to {LONGEST_TIMEOUT}"
    # NaN fails every comparison.
    within = _simple(accepts, lambda value: 0 < value <= LONGEST_TIMEOUT, (int, float))
    return replace(
        within,
        check=lambda value, place: float(within.check(value, place)),
        read=_number(float),
        bounds="x>0",
    )


def _switch() -> Kind:
    return _simple("true or false", lambda _: True, bool, shape="switch")


def _path() -> Kind:
    """A path; in a file, relative to the file's directory, which it must not leave."""
    accepts = "the path of a file; in a configuration file, one below its directory"

    def check(value: object, place: Place) -> str:
        given = _path_text(value, accepts, place)
        found = os.path.join(place.directory, given)
        top = os.path.join(os.path.realpath(place.directory), "")
        # A link may lead outside, where a command would write.
        if place.directory and not os.path.realpath(found).startswith(top):
            raise place.refuse(given, accepts, "the flag may name any file")
        return found

    return Kind(accepts, check)


def _directory(hint: str | None = None) -> Kind:
    """A directory, made absolute; with a hint, it must exist."""

    def check(value: object, place: Place) -> str:
        given = _path_text(value, "a directory", place)
        found = os.path.abspath(os.path.join(place.directory, given))
        if hint is not None and not os.path.isdir(found):
            raise place.refuse(given, "a directory", hint)
        return found

    return Kind("a directory", check)


def _cause() -> Kind:
    accepts = "a cause such as dynamic-index"

    def check(value: object, place: Place) -> str:
        if not isinstance(value, str) or value not in CAUSES:
            near = nearest(value, CAUSES) if isinstance(value, str) else None
            hint = f"did you mean {near}?" if near else f"causes: {', '.join(CAUSES)}"
            raise place.refuse(value, accepts, hint)
        return value

    return Kind(accepts, check, choices=CAUSES)


def _day() -> Kind:
    def read(given: str) -> object:
        try:
            return date.fromisoformat(given) if _DAY.fullmatch(given) else given
        except ValueError:
            return given

    # In Python, a datetime is a date, but cannot be compared with one.
    accepts = "a date such as 2027-06-30 (no quotes, no time)"
    return _simple(accepts, lambda value: not isinstance(value, datetime), date, read=read)


def _depth() -> Kind:
    accepts = "a depth such as f=12"

    def check(value: object, place: Place) -> tuple[str, int]:
        found = parse_depth(value) if isinstance(value, str) else None
        if found is None:
            raise place.refuse(value, accepts)
        return found

    return Kind(accepts, check)


def _is_specifier(text: str) -> bool:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        return False
    return True


_NAMED: Mapping[str, Callable[[], Kind]] = {
    "argument": lambda: _text("an argument", empty=True),
    "switch": _switch,
    "path": _path,
    "directory": _directory,
    "toolkit": lambda: _directory(
        "name a CUDA installation, or a directory that CUDA wheels are installed in"
    ),
    "cluster": lambda: _simple(
        "an address dask://HOST:PORT",
        lambda value: re.fullmatch(r"dask://\S+", value) is not None,
    ),
    "versions": lambda: _simple(
        "versions of CUDA such as >=13.1,<14", lambda value: bool(value) and _is_specifier(value)
    ),
    "depth": _depth,
    "architecture": lambda: _simple(
        "a real architecture such as sm_90",
        lambda value: re.fullmatch(r"sm_\d{2,3}[af]?", value) is not None,
    ),
}
"""By `Option.check`: checks that a field's type does not express."""


def _listed(item: Kind) -> Kind:
    """A list; a single string counts as a list of one."""
    accepts = f"a list, each {item.accepts}"

    def check(value: object, place: Place) -> tuple[Any, ...]:
        if isinstance(value, str | os.PathLike):
            return (item.check(value, place),)
        if isinstance(value, bytes | Mapping) or not isinstance(value, Iterable):
            raise place.refuse(value, accepts)
        return tuple(item.check(one, replace(place, verb="holds")) for one in value)

    return Kind(accepts, check, read=item.read, shape="many", choices=item.choices)


def _tables() -> Kind:
    """A list of tables, whose keys are options."""

    def check(value: object, place: Place) -> tuple[Mapping[str, object], ...]:
        if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
            is_table = isinstance(value, Mapping)
            hint = "a table of a list begins with two brackets: [[…]]" if is_table else None
            raise place.refuse(value, "a list of tables", hint)
        return tuple(value)

    return Kind("a list of tables", check, shape="many")


def shown(value: object) -> str:
    """A value as written in TOML, truncated if it is long."""
    if isinstance(value, bool):
        found = str(value).lower()
    elif isinstance(value, str):
        found = f'"{value}"' if value.isprintable() else repr(value)
    elif isinstance(value, date):
        found = value.isoformat()
    elif isinstance(value, Mapping):
        return "a table"
    elif isinstance(value, list | tuple):
        found = f"[{', '.join(map(shown, value[:_LONGEST_SHOWN]))}]"
    else:
        try:
            found = repr(value)
        except ValueError:  # Python refuses to print numbers of thousands of digits
            return "a number of thousands of digits"
    return found if len(found) <= _LONGEST_SHOWN else f"{found[:_LONGEST_SHOWN]}…"


def nearest(word: str, known: Sequence[str], least: float = 0.6) -> str | None:
    """The known word most similar to the given one, or None if none is similar."""
    from difflib import get_close_matches

    plain = word.lower().replace("_", "-")
    found = get_close_matches(plain, known, n=1, cutoff=least)
    found = found or [one for one in known if plain and plain in one.split("-")]
    return found[0] if found else None


def _path_text(value: object, accepts: str, place: Place) -> str:
    given = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(given, str) or not given or "\0" in given:
        raise place.refuse(value, accepts)
    return given


def _number(convert: Callable[[str], object]) -> Callable[[str], object]:
    """Text that is not a number stays text, so that the check rejects it with its own message."""

    def read(given: str) -> object:
        try:
            return convert(given)
        except ValueError:
            return given

    return read
