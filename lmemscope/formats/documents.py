"""Load lmemscope's own saved documents: find the file, check the schema, parse.

Whatever a file contains, the result is a document or an error that names the file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, get_args, get_type_hints

from msgspec import Struct

from lmemscope import __version__
from lmemscope.errors import FormatError, InputError, LmemscopeError, UsageError
from lmemscope.files import open_regular
from lmemscope.formats.codec import decode, printable
from lmemscope.formats.repeated_keys import refuse_repeated

D = TypeVar("D", bound=Struct)
R = TypeVar("R")

LARGEST = 1 << 30
"""Maximum size of a document in bytes."""

_CHUNK = 1 << 20


def schema_of(structure: type[Struct]) -> str:
    """The schema name in a document's structure, such as ``lmemscope.report/1``."""
    tag = structure.__struct_config__.tag
    (name,) = (tag,) if tag else get_args(get_type_hints(structure)["schema"])
    return str(name)


class Saved(Struct, Generic[D, R], frozen=True):
    """A kind of document that is saved to a file and loaded again.

    Attributes:
        structure: of the document; its field ``schema`` is a literal ``NAME/VERSION``.
        meaning: converts the document to what the program uses; raises `FormatError` for a document
            that contradicts itself.
        stage: of the errors.
        noun: what to call such a file, such as ``saved report``.
        missing: advice if the file does not exist; ``{path}`` is replaced.
        again: advice if the file cannot be used.
        wrong: the error type if it does not exist or is not such a document.
    """

    structure: type[D]
    meaning: Callable[[D], R]
    stage: str
    noun: str
    missing: str
    again: str
    wrong: type[LmemscopeError] = InputError

    def load(self, path: str) -> R:
        """Read a file.

        Raises:
            LmemscopeError: of type ``wrong``: the file is missing, damaged or not such a document.
            UsageError: it has the schema of another version of lmemscope.
        """
        try:
            return self.parse(read_file(path), path)
        except FileNotFoundError as error:
            hint = self.missing.format(path=path)
            raise self.wrong(self.stage, f"{path} does not exist", hint=hint) from error
        except OSError as error:
            message = f"{path} cannot be read: {error.strerror}"
            raise self.wrong(self.stage, message, hint="check the path") from error

    def parse(self, data: bytes, name: str) -> R:
        """Parse the content of a named file.

        Raises:
            LmemscopeError, UsageError: as `load`.
        """
        if len(data) > LARGEST:
            message = f"{name} is no {self.noun}: it has more than {LARGEST} bytes"
            raise self.wrong(self.stage, message, hint=self.again)
        try:
            document = decode(data, self.structure)
            refuse_repeated(data)
            return self.meaning(document)
        except FormatError as error:
            raise self._refusal(data, name, error) from error

    def _refusal(self, data: bytes, name: str, why: FormatError) -> LmemscopeError:
        try:
            head = decode(data, _Head)
        except FormatError as error:
            message = f"{name} is no {self.noun}: {error.message}"
            return self.wrong(self.stage, message, hint=self.again)
        own = schema_of(self.structure)
        if head.schema == own:
            hint = self.again
            if isinstance(head.version, str) and head.version != __version__:
                writer = printable(head.version)
                hint = f"lmemscope {writer} wrote it, this is {__version__}; {hint}"
            return self.wrong(self.stage, f"{name} is damaged: {why.message}", hint=hint)
        theirs, reads = printable(head.schema), f"this lmemscope reads {own}"
        kind, _, version = own.partition("/")
        other, _, number = head.schema.partition("/")
        if other != kind or not (number.isascii() and number.isdecimal()):
            message = f"{name} is no {self.noun}: it has schema {theirs}; {reads}"
            return self.wrong(self.stage, message, hint=self.again)
        # Length first: int() must not get a number of thousands of digits.
        is_newer = (len(number), number) > (len(version), version)
        age = "a newer" if is_newer else "an older"
        return UsageError(
            self.stage,
            f"{name} has schema {theirs}, of {age} lmemscope; {reads}",
            hint=f"upgrade lmemscope, or {self.again}" if is_newer else self.again,
        )


class _Head(Struct, frozen=True):
    """The fields that every document starts with."""

    schema: str
    version: Any = None


def read_file(path: str) -> bytes:
    """A file's bytes, at most one more than allowed for a file that never ends.

    Raises:
        OSError: it cannot be read.
    """
    chunks: list[bytes] = []
    size = 0
    with open_regular(path) as stream:
        while size <= LARGEST and (chunk := stream.read(_CHUNK)):
            chunks.append(chunk)
            size += len(chunk)
    return b"".join(chunks)
