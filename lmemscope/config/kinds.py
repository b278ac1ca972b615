"""What a setting takes: one check per kind of value, the same for flag, file, API and comment."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Literal, get_args

from lmemscope.errors import UsageError
from lmemscope.formats.depths import parse_depth
from lmemscope.model import Cause

CAUSES: tuple[str, ...] = get_args(Cause)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_LONGEST_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value was given, for messages.

    Attributes:
        name: the setting as it is written there: ``--jobs``, ``lmemscope.toml: jobs``.
        directory: where relative paths start; empty for the working directory.
        stage: of the error.
        verb: between the name and a wrong value.
    """

    name: str
    directory: str = ""
    stage: str = "usage"
    verb: Literal["is", "holds"] = "is"

    def refuse(self, value: object, accepts: str, hint: str | None = None) -> UsageError:
        """The error that names the setting, the value and what is accepted in its place."""
        message = f"{self.name} {self.verb} {shown(value)}, not {accepts}"
        return UsageError(self.stage, message, hint=hint)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value.

    Attributes:
        accepts: in words, with unit and range: "a whole number from 1 up".
        check: turns a value, given at a place, into what the program uses; raises `UsageError`.
        read: from a flag's text to the value to check.
        shape: whether a flag is given once, many times, or takes no value.
        choices: all that is accepted, where that is a list of words.
        bounds: of a number, as the help shows them.
    """

    accepts: str
    check: Callable[[object, Place], Any]
    read: Callable[[str], object] = str
    shape: Literal["one", "many", "switch"] = "one"
    choices: tuple[str, ...] = ()
    bounds: str = ""


def text(accepts: str, *, empty: bool = False) -> Kind:
    """A string; an empty one only where that means something."""

    def check(value: object, place: Place) -> str:
        if not isinstance(value, str) or "\0" in value or not (value.strip() or empty):
            raise place.refuse(value, accepts)
        return value

    return Kind(accepts, check)


def choice(*words: str) -> Kind:
    """One of some words."""
    accepts = f"one of {', '.join(words)}"

    def check(value: object, place: Place) -> str:
        if not isinstance(value, str) or value not in words:
            raise place.refuse(value, accepts)
        return value

    return Kind(accepts, check, choices=words)


def whole(least: int, unit: str = "", most: int | None = None) -> Kind:
    """A whole number with a lower bound, and maybe an upper one."""
    reach = "up" if most is None else f"to {most}"
    accepts = f"a whole number{unit and f' of {unit}'} from {least} {reach}"

    def check(value: object, place: Place) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise place.refuse(value, accepts)
        if most is not None and value > most:
            raise place.refuse(value, accepts)
        return value

    bounds = f"x>={least}" if most is None else f"{least}<=x<={most}"
    return Kind(accepts, check, read=_number(int), bounds=bounds)


def seconds(most: int) -> Kind:
    """A time above zero."""
    accepts = f"a number of seconds above 0, up to {most}"

    def check(value: object, place: Place) -> float:
        # NaN compares with nothing.
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= most:
            raise place.refuse(value, accepts)
        return float(value)

    return Kind(accepts, check, read=_number(float), bounds="x>0")


def switch() -> Kind:
    """Yes or no."""

    def check(value: object, place: Place) -> bool:
        if not isinstance(value, bool):
            raise place.refuse(value, "true or false")
        return value

    return Kind("true or false", check, shape="switch")


def path(accepts: str) -> Kind:
    """A path; of a file, relative to that file's directory, which it may not leave."""

    def check(value: object, place: Place) -> str:
        given = _path(value, accepts, place)
        found = os.path.join(place.directory, given)
        top = os.path.join(os.path.realpath(place.directory), "")
        # A link may lead elsewhere, where a command would write.
        if place.directory and not os.path.realpath(found).startswith(top):
            raise place.refuse(given, accepts, "the flag may name any file")
        return found

    return Kind(accepts, check)


def directory(accepts: str, *, exists: bool = False, hint: str | None = None) -> Kind:
    """A directory, made absolute; of a file, relative to that file's directory."""

    def check(value: object, place: Place) -> str:
        given = _path(value, accepts, place)
        found = os.path.abspath(os.path.join(place.directory, given))
        if exists and not os.path.isdir(found):
            raise place.refuse(given, accepts, hint)
        return found

    return Kind(accepts, check)


def cluster() -> Kind:
    """Machines where units run."""
    accepts = "an address dask://HOST:PORT"

    def check(value: object, place: Place) -> str:
        if not isinstance(value, str) or not re.fullmatch(r"dask://\S+", value):
            raise place.refuse(value, accepts)
        return value

    return Kind(accepts, check)


def cause() -> Kind:
    """A cause by name."""
    accepts = "a cause such as dynamic-index"

    def check(value: object, place: Place) -> str:
        if not isinstance(value, str) or value not in CAUSES:
            near = nearest(value, CAUSES) if isinstance(value, str) else None
            hint = f"did you mean {near}?" if near else f"causes: {', '.join(CAUSES)}"
            raise place.refuse(value, accepts, hint)
        return value

    return Kind(accepts, check, choices=tuple(CAUSES))


def day() -> Kind:
    """A date without a time."""
    accepts = "a date such as 2027-06-30 (no quotes, no time)"

    def check(value: object, place: Place) -> date:
        # A datetime is a date to Python, and compares with none.
        if not isinstance(value, date) or isinstance(value, datetime):
            raise place.refuse(value, accepts)
        return value

    def read(given: str) -> object:
        try:
            return date.fromisoformat(given) if _DAY.fullmatch(given) else given
        except ValueError:
            return given

    return Kind(accepts, check, read=read)


def depth() -> Kind:
    """How deep a function's recursion goes: its name, and how often it is on the stack."""
    accepts = "a depth such as f=12"

    def check(value: object, place: Place) -> tuple[str, int]:
        found = parse_depth(value) if isinstance(value, str) else None
        if found is None:
            raise place.refuse(value, accepts)
        return found

    return Kind(accepts, check)


def listed(item: Kind, accepts: str) -> Kind:
    """A list; a string alone stands for a list of one."""

    def check(value: object, place: Place) -> tuple[Any, ...]:
        if isinstance(value, str | os.PathLike):
            return (item.check(value, place),)
        if isinstance(value, bytes | Mapping) or not isinstance(value, Iterable):
            raise place.refuse(value, accepts)
        return tuple(item.check(one, replace(place, verb="holds")) for one in value)

    return Kind(accepts, check, read=item.read, shape="many", choices=item.choices)


def tables() -> Kind:
    """A list of tables; their keys are rows of their own."""
    accepts = "a list of tables"

    def check(value: object, place: Place) -> tuple[Mapping[str, object], ...]:
        if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
            one = isinstance(value, Mapping)
            hint = "a table of a list begins with two brackets: [[…]]" if one else None
            raise place.refuse(value, accepts, hint)
        return tuple(value)

    return Kind(accepts, check, shape="many")


def shown(value: object) -> str:
    """A value as TOML writes it, cut where it is long."""
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
        except ValueError:  # Python refuses to write out thousands of digits
            return "a number of thousands of digits"
    return found if len(found) <= _LONGEST_SHOWN else f"{found[:_LONGEST_SHOWN]}…"


def nearest(word: str, known: Sequence[str], least: float = 0.6) -> str | None:
    """The known word that is spelled most like this one, or None where none is."""
    from difflib import get_close_matches

    plain = word.lower().replace("_", "-")
    found = get_close_matches(plain, known, n=1, cutoff=least)
    found = found or [one for one in known if plain and plain in one.split("-")]
    return found[0] if found else None


def _path(value: object, accepts: str, place: Place) -> str:
    given = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(given, str) or not given or "\0" in given:
        raise place.refuse(value, accepts)
    return given


def _number(convert: Callable[[str], object]) -> Callable[[str], object]:
    """Text that is no number stays text, for the check to refuse in its own words."""

    def read(given: str) -> object:
        try:
            return convert(given)
        except ValueError:
            return given

    return read
