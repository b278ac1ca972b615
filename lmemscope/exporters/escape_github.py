"""Make GitHub Actions workflow commands; foreign text cannot leave its field."""

from __future__ import annotations

from typing import LiteralString

from lmemscope.exporters.escape import visible


def command(name: LiteralString, text: str, **properties: str | int | None) -> str:
    """``::name property=value::text`` as a whole line; a property that is None is omitted.

    Args:
        name: of the command, such as ``error``.
        text: of the annotation; line ends are kept, as ``%0A``.
        properties: such as ``file`` and ``line``, in order.
    """
    given = ",".join(
        f"{key}={_property(str(value))}" for key, value in properties.items() if value is not None
    )
    return f"::{name} {given}::{_data(visible(text, lines=True))}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(visible(text)).replace(":", "%3A").replace(",", "%2C")
