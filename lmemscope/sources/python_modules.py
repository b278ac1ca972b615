"""Find the user's own modules that a Python file imports, as Python would.

An import is looked up beside the importing file, and in its parent directories up to the top of the
repository, each with its ``src``. Installed packages are not searched.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator

from lmemscope.files import cached_while_unchanged, read_input

_SPLICE = re.compile(rb"\\\r?\n")
_COMMENT = re.compile(rb"#[^\n]*")
_IMPORT = re.compile(
    rb"(?:^|[;:])[ \t]*(?:from[ \t]+(\.*[ \t]*[\w.]*)[ \t]+import\b[ \t]*"
    rb"(?:\(([^()]*)\)|([^#\n;()]*))"
    rb"|import[ \t]+([^#\n;()]*))",
    re.MULTILINE,
)
_BY_NAME = re.compile(rb"\b(?:import_module|__import__|run_module)[ \t]*\([ \t]*[\"']([\w.]+)[\"']")
_HIGHEST = 12
"""Maximum number of parent directories in which a module is looked up."""
_MOST = 400
"""Maximum number of files followed from one."""


def local_modules(path: str) -> tuple[str, ...]:
    """Files imported by a Python file, directly and indirectly, in order of discovery."""
    found: dict[str, None] = {path: None}
    pending = [path]
    while pending and len(found) < _MOST:
        file = pending.pop()
        new = [one for one in _imported_by(file) if one not in found]
        found.update(dict.fromkeys(new))
        pending += new
    del found[path]
    return tuple(found)


def find_module(module: str, names: tuple[str, ...], level: int, importer: str) -> Iterator[str]:
    """Files that an import runs: the module, the packages around it, and its submodules.

    Args:
        module: dotted, without leading dots.
        names: imported from it.
        level: number of leading dots.
        importer: absolute path of the importing file.
    """
    parts = [part for part in module.split(".") if part]
    for base in _bases(importer, level):
        files = list(_below(base, parts, names))
        if files:
            yield from files
            return


def module_file(module: str, level: int, importer: str) -> str | None:
    """The file of a user's module or package; None if there is none.

    Args:
        module: dotted, without leading dots.
        level: number of leading dots.
        importer: absolute path of the importing file.
    """
    parts = [part for part in module.split(".") if part]
    for base in _bases(importer, level):
        place: str = os.path.join(base, *parts)
        files: list[str] = [os.path.join(place, "__init__.py")]
        for file in [*files, f"{place}.py"] if parts else files:
            if os.path.isfile(file):
                return file
    return None


def project_of(path: str) -> str:
    """The top directory of a Python file's project, without symbolic links.

    That is its repository. Without one, it is the working directory if the file is below it, else
    the directory around its packages.
    """
    own = os.path.realpath(os.path.dirname(path))
    directory = own
    for _ in range(_HIGHEST):
        if os.path.exists(os.path.join(directory, ".git")):
            return directory
        directory = os.path.dirname(directory)
    working = os.path.realpath(os.curdir)
    if os.path.commonpath((own, working)) == working != os.path.sep:
        return working
    while os.path.isfile(os.path.join(own, "__init__.py")):
        own = os.path.dirname(own)
    return own


def _below(base: str, parts: list[str], names: tuple[str, ...]) -> Iterator[str]:
    directory = base
    for number, part in enumerate(parts):
        file, package = os.path.join(directory, f"{part}.py"), os.path.join(directory, part)
        initial = os.path.join(package, "__init__.py")
        is_last = number + 1 == len(parts)
        if os.path.isfile(initial):
            yield initial
        elif os.path.isfile(file):
            yield file
            return
        elif not os.path.isdir(package) or (is_last and not names):
            return
        directory = package
    for name in names:
        for file in (f"{name}.py", os.path.join(name, "__init__.py")):
            if os.path.isfile(os.path.join(directory, file)):
                yield os.path.join(directory, file)


@functools.lru_cache(maxsize=4096)
def _bases(importer: str, level: int) -> tuple[str, ...]:
    directory = os.path.dirname(importer)
    if level:
        for _ in range(level - 1):
            directory = os.path.dirname(directory)
        return (directory,)
    bases = []
    for _ in range(_HIGHEST):
        bases += [directory, os.path.join(directory, "src")]
        above = os.path.dirname(directory)
        if above == directory or os.path.exists(os.path.join(directory, ".git")):
            break
        directory = above
    return tuple(bases)


def _imported_by(path: str) -> tuple[str, ...]:
    """The files that a file imports directly."""
    try:
        return _read(path)
    except OSError:
        return ()


@cached_while_unchanged(4096)
def _read(path: str) -> tuple[str, ...]:
    data = _SPLICE.sub(b" ", read_input(path))
    found: dict[tuple[str, tuple[str, ...], int], None] = {}
    for origin, bracketed, plain, modules in _IMPORT.findall(data):
        if modules:
            found.update({(name, (), 0): None for name in _names(modules)})
            continue
        dotted = origin.decode().replace(" ", "").replace("\t", "")
        module = dotted.lstrip(".")
        found[module, tuple(_names(bracketed or plain)), len(dotted) - len(module)] = None
    found.update({(name.decode(), (), 0): None for name in _BY_NAME.findall(data)})
    files = (file for one in found for file in find_module(*one, path))
    return tuple(dict.fromkeys(files))


def _names(text: bytes) -> Iterator[str]:
    """Of ``a, b as c``: ``a`` and ``b``."""
    for part in _COMMENT.sub(b"", text).split(b","):
        words = part.split()
        if words and re.fullmatch(rb"[\w.]+", words[0]):
            yield words[0].decode("utf-8", "replace")
