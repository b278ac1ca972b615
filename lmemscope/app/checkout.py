"""Check out an earlier revision into a temporary directory and compile it as its build did.

Paths to files that git tracks are mapped to the revision's copy, whether they are relative,
absolute, or in a build database (which names files in the working tree, and is rarely tracked
itself). Files that git does not track, such as generated headers and response files, belong to the
build and are used in place.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from lmemscope.errors import InputError, UsageError
from lmemscope.files import text_beside
from lmemscope.model import CUDA, INPUT_KINDS, Moved, kind_of

if TYPE_CHECKING:
    from lmemscope.config.settings import Settings
    from lmemscope.discover.build_change import BuildChange
    from lmemscope.model import Report
    from lmemscope.tools.git import Repository

_LARGEST = 16 << 30
_LARGEST_HEADER = 16 << 20
_GENERATED = 1000
"""Maximum number of generated headers to copy from the project's own directories."""
_HEADERS = (
    *(ending for kind in INPUT_KINDS if kind.is_header for ending in kind.endings),
    *(".h", ".hh", ".hpp", ".hxx", ".inc", ".inl", ".def"),
)
_LEAD = re.compile(r"(-I|-isystem=?|-include=?|--?(?!D)[\w-]+=)?(.*)", re.DOTALL)
_RESPONSE = re.compile(r"(?:@|--?(?:options-file|optf)=)(.+)", re.DOTALL)
_ALIKE = 0.5
"""Two files are treated as one that was moved and edited if they share at least this fraction of
their words."""
_RESPONSE_NEXT = frozenset({"--options-file", "-optf", "--optf", "-options-file"})


@dataclass(frozen=True, slots=True)
class Checkout:
    """A checkout of another revision of the repository.

    Attributes:
        live: top directory of the repository, with links resolved.
        tree: top directory of the checkout, with links resolved.
        here: the directory to compare in, within the repository.
        tracked: files tracked by git and their directories, relative to the repository.
    """

    live: str
    tree: str
    here: str
    tracked: frozenset[str]

    @property
    def directory(self) -> str:
        """The checkout's counterpart of the directory to compare in."""
        return self.path(self.here)

    def is_live(self, path: str) -> bool:
        """Whether an absolute path lies in the repository's working tree."""
        return path == self.live or path.startswith(self.live + os.sep)

    def path(self, path: str) -> str:
        """Map an absolute path into the checkout; paths outside the repository are unchanged.

        If today's path is a link, the revision's own file of that name is used if there is one.
        """
        named = os.path.normpath(path)
        there = os.path.join(self.tree, os.path.relpath(named, self.live))
        # Parent directories may be links too, and may lead elsewhere in the revision.
        if self.is_live(named) and os.path.lexists(there) and self._is_inside(there):
            return there
        own = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        there = os.path.normpath(os.path.join(self.tree, os.path.relpath(own, self.live)))
        if self.is_live(own) and os.path.lexists(there):
            return there
        real = os.path.realpath(path)
        if not self.is_live(real):
            return path
        return os.path.normpath(os.path.join(self.tree, os.path.relpath(real, self.live)))

    def _is_inside(self, path: str) -> bool:
        real = os.path.realpath(path)
        return real == self.tree or real.startswith(self.tree + os.sep)

    def built(self, path: str) -> str:
        """Like `path`, but untracked files of the build keep their location."""
        there = self.path(path)
        is_tracked = os.path.relpath(os.path.realpath(path), self.live) in self.tracked
        return there if is_tracked or os.path.lexists(there) else path

    def relative(self, path: str) -> str:
        """An input's name, valid in both revisions: relative if it is in the repository."""
        if not os.path.isabs(path) or self.path(path) == path:
            return path
        return os.path.relpath(self.path(path), self.directory)

    def argument(self, text: str) -> str:
        """A compiler argument with its paths mapped: ``X``, ``-IX`` or ``--flag=X``."""
        lead, separator, path = text.rpartition("=")
        if text.startswith("-I"):
            lead, separator, path = "-I", "", text[2:]
        return f"{lead}{separator}{self.path(path)}" if os.path.isabs(path) else text

    def mapped(self, settings: Settings) -> Settings:
        """The settings with directories and files mapped into the checkout.

        Each checkout has its own temporary path. Reports are stored under working-tree paths
        instead, so that unchanged units are found in the cache.
        """
        options = settings.options
        return replace(
            settings,
            cache=None,
            moved=Moved(self.tree, self.live, settings.cache),
            root=self.path(settings.root),
            options=replace(
                options,
                include_dirs=tuple(map(self.path, options.include_dirs)),
                nvrtc_args=tuple(map(self.argument, options.nvrtc_args)),
                nvcc_args=tuple(map(self.argument, options.nvcc_args)),
                ptxas_args=tuple(map(self.argument, options.ptxas_args)),
            ),
        )

    def refuse_live_files(self, report: Report) -> None:
        """Check that only files of the revision were analysed.

        Raises:
            UsageError: a unit is a file of the working tree.
        """
        for unit in report.units:
            path = os.path.realpath(unit.file)
            inside = path.startswith(self.tree + os.sep)
            if not inside and os.path.relpath(path, self.live) in self.tracked:
                raise UsageError(
                    "git",
                    f"{unit.input} is a file of the working tree, not of the revision",
                    hint="--no-build-database ignores the database that names it",
                )


@dataclass(slots=True)
class NewOptions:
    """Compiler arguments in today's build that the revision's build, as far as known, did not have.

    Attributes:
        change: the changes to the build files.
        words: the arguments removed, keyed by the absolute path of the source compiled, or by the
            environment variable that held them.
        sources: absolute paths of all sources that the build compiles.
        elsewhere: new arguments of commands for sources that the revision lacks.
        directories: absolute paths of the directories that the build's commands run in.
    """

    change: BuildChange
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)
    sources: set[str] = field(default_factory=set)
    elsewhere: set[str] = field(default_factory=set)
    directories: set[str] = field(default_factory=set)

    def compiles(self, path: str) -> bool:
        """Whether the build compiles a file."""
        return os.path.abspath(path) in self.sources

    def without(self, words: Iterable[str], source: str) -> list[str]:
        """The arguments for compiling a source, without the new ones."""
        self.sources.add(source)
        return self._old(words, source)

    @contextmanager
    def environment(self) -> Iterator[None]:
        """Context manager: remove new arguments from the environment variables that nvcc reads."""
        from lmemscope.sources.arguments import ENVIRONMENT_ARGUMENTS, words_of

        were = {name: os.environ[name] for name in ENVIRONMENT_ARGUMENTS if name in os.environ}
        try:
            for name, value in were.items():
                kept = self._old(words_of(value), name)
                if name in self.words:
                    os.environ[name] = shlex.join(kept)
            yield
        finally:
            os.environ.update(were)

    def _old(self, words: Iterable[str], where: str) -> list[str]:
        """The arguments without the new ones, which are recorded."""
        from lmemscope.discover.build_words import NO_CODE
        from lmemscope.discover.option_tables import VALUED

        kept: list[str] = []
        new: list[str] = []
        left = iter(words)
        for word in left:
            name = word.lstrip("-")
            group = [word, *([next(left, "")] if word != name and name in VALUED else [])]
            said = "".join(group) if len(name) == 1 else "=".join(group)
            is_new = name.partition("=")[0] not in NO_CODE and self.change.is_new(said)
            (new if is_new else kept).extend(group)
        if new:
            self.words[where] = (*self.words.get(where, ()), *new)
        return kept


class BuildCopy:
    """Copies of the working tree's build databases, rewritten for a checkout.

    Args:
        checkout: the checkout of the revision.
        new: removes arguments that the revision's build did not have; None keeps all.
        gone: absolute paths of files that the revision has but the working tree lacks.
    """

    def __init__(
        self, checkout: Checkout, new: NewOptions | None = None, gone: Iterable[str] = ()
    ) -> None:
        self._checkout, self._new = checkout, new
        self._gone = {path for path in gone if kind_of(path) is CUDA}

    def write(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Write into the checkout the build databases that mention the inputs; skip broken ones.

        Args:
            paths: inputs, relative to the working directory, which is still in the repository.

        Returns:
            The paths; a build outside the repository is replaced by its copy.
        """
        from lmemscope.discover.locate import DATABASE, Search, database_in, is_build, is_database

        search = Search()
        named = list(paths)
        for place, path in enumerate(paths):
            own = os.path.abspath(path)
            database = own if is_database(own) else database_in(own) or search.database_for(own)
            if database is None or not os.path.isfile(database):
                continue
            outside = is_build(own) and not self._checkout.is_live(os.path.realpath(own))
            copy = os.path.join(f".build-{place}", DATABASE) if outside else DATABASE
            if self._copy(database, copy) and outside:
                named[place] = os.path.join(self._checkout.tree, copy)
        return tuple(named)

    def _copy(self, database: str, name: str) -> bool:
        from lmemscope.discover.build_database import commands_of

        checkout = self._checkout
        copy = checkout.path(database)
        if copy == database:  # the build is outside the repository
            copy = os.path.join(checkout.tree, name)
        inside = os.path.realpath(os.path.dirname(copy)) + os.sep
        if os.path.islink(copy) or not inside.startswith(checkout.tree + os.sep):
            return False  # A link in the revision leads outside the checkout: write nothing there.
        own = copy if os.path.isfile(copy) else database
        try:
            records = commands_of(own)
            kept = [self._record(one, os.path.dirname(database)) for one in records]
        except (OSError, ValueError, TypeError, KeyError, RecursionError, InputError):
            return False  # Without its build, each side reports the problem itself.
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        with open(copy, "w", encoding="utf-8", errors="surrogateescape") as stream:
            json.dump([one for one in kept if one is not None], stream)
        return True

    def _record(self, record: Mapping[str, Any], beside: str) -> dict[str, Any] | None:
        """An entry with its paths mapped; None if the revision lacks the source."""
        from lmemscope.discover.build_command import taken_apart
        from lmemscope.discover.build_database import RELATIVE
        from lmemscope.discover.build_flags import read_flags
        from lmemscope.formats.shell_words import shell_words

        directory = os.path.normpath(os.path.join(beside, record["directory"]))
        source = os.path.normpath(os.path.join(directory, record["file"]))
        words = record.get("arguments")
        words = [
            *self._expanded(shell_words(record["command"]) if words is None else words, directory)
        ]
        built = self._checkout.built(source)
        if not os.path.exists(built):
            was = self._was(source)
            if was is None:
                self._note(words)
                return None
            words = [was if self._is(word, directory, source) else word for word in words]
            source, built = was, self._checkout.path(was)
        if self._new is not None:
            words = self._new.without(words, source)
            self._new.directories.add(directory)
        made = {
            "directory": directory,
            "file": built,
            "arguments": [self._word(word, directory) for word in words],
            # All paths in the copy are absolute.
            RELATIVE: read_flags(taken_apart(words).arguments, directory).is_relative,
        }
        return made | {key: record[key] for key in ("output",) if key in record}

    @staticmethod
    def _is(word: str, directory: str, source: str) -> bool:
        return os.path.normpath(os.path.join(directory, word)) == source

    def _note(self, words: Iterable[str]) -> None:
        """Record which arguments are new in a command for a source that the revision lacks."""
        if self._new is not None:
            own = NewOptions(self._new.change)
            own.without(words, "")
            self._new.elsewhere.update(*own.words.values())

    def _was(self, source: str) -> str | None:
        """Absolute path at which the revision has a source that was moved since; each is used once.

        It is the most similar of the deleted files, if they share at least half of their words.
        """
        text = Counter((text_beside(source) or b"").split())
        likeness = {}
        for path in sorted(self._gone):
            old = Counter((text_beside(self._checkout.path(path)) or b"").split())
            both, either = (text & old).total(), (text | old).total()
            likeness[path] = both / either if either else 0.0
        best = max(likeness, key=likeness.__getitem__, default=None)
        if best is None or likeness[best] < _ALIKE:
            return None
        self._gone.remove(best)
        return best

    def _expanded(self, words: Sequence[str], directory: str) -> Iterator[str]:
        """The arguments of a command, with response files expanded: these name paths too."""
        from lmemscope.sources.response_files import Words

        def insert(name: str) -> None:
            # A response file that git tracks is read from the revision.
            left.insert(self._checkout.built(os.path.join(directory, name)))

        left = Words(words[1:], directory)
        yield from words[:1]
        for word in left:
            named = _RESPONSE.fullmatch(word)
            if named is not None:
                insert(named[1])
            elif word in _RESPONSE_NEXT:
                insert(next(left, ""))
            else:
                yield word

    def _word(self, word: str, directory: str) -> str:
        live = self._checkout.live
        if live in word:
            inside = rf"{re.escape(live)}(?:/[^\s,;:\"'=]*)?(?![\w.-])"
            return re.sub(inside, lambda found: self._checkout.built(found[0]), word)
        lead, value = _LEAD.fullmatch(word).groups(default="")  # type: ignore[union-attr]
        path = os.path.normpath(os.path.join(directory, value))
        if not value or value.startswith("-") or os.path.isabs(value) or not os.path.exists(path):
            return word
        return f"{lead}{self._checkout.built(path)}"


@contextmanager
def written_out(revision: str) -> Iterator[Checkout]:
    """Write a revision's files into a temporary directory, each exactly as it is stored.

    Raises:
        UsageError: this is not a repository, or the revision is unknown or ambiguous.
    """
    from lmemscope.discover.revision import refuse_namesakes
    from lmemscope.tools.git import Repository

    here = os.getcwd()
    repository, said = Repository.around(here)
    commit = repository.commit(revision) if repository is not None else None
    if repository is None or commit is None:
        why = said if repository is None else f"{repository.top} has no commit of that name"
        raise UsageError("git", f"cannot read {revision}: {why}", hint="check the name")
    refuse_namesakes(revision, repository)
    with tempfile.TemporaryDirectory(prefix="lmemscope-") as base:
        tree = os.path.join(os.path.realpath(base), "tree")
        try:
            _write_out(repository, commit, tree)
            _bring_generated(repository, tree)
        except (OSError, ValueError) as error:
            raise UsageError("git", f"cannot write {revision} out: {error}") from error
        yield Checkout(repository.top, tree, here, _tracked(repository.indexed()))


def _write_out(repository: Repository, commit: str, tree: str) -> None:
    """Write the revision's files into the checkout, links last so that no path leads outside it.

    Submodules are written at the commit that the revision records; if one is not checked out or
    lacks that commit, its directory stays empty.
    """
    from lmemscope.discover.revision import submodule
    from lmemscope.tools.git import LINK, MODULE

    entries = repository.entries(commit)
    if sum(entry.size or 0 for entry in entries) > _LARGEST:
        raise UsageError("git", f"the revision is larger than {_LARGEST >> 30} GiB")
    os.makedirs(tree, exist_ok=True)
    for entry in entries:
        own = entry.path if entry.mode == MODULE else os.path.dirname(entry.path)
        os.makedirs(os.path.join(tree, own), exist_ok=True)
    for entry, content in repository.contents([e for e in entries if e.mode not in (LINK, MODULE)]):
        with open(os.path.join(tree, entry.path), "xb") as stream:
            stream.write(content)
    for entry in (e for e in entries if e.mode == MODULE):
        module = submodule(os.path.join(repository.top, entry.path))
        if module is not None and module.commit(entry.object) is not None:
            _write_out(module, entry.object, os.path.join(tree, entry.path))
    for entry, content in repository.contents([e for e in entries if e.mode == LINK]):
        os.symlink(content, os.fsencode(os.path.join(tree, entry.path)))


def _bring_generated(repository: Repository, tree: str) -> None:
    """Copy headers that git ignores from where they are now to the same place in the checkout.

    A build writes them into project directories that have headers of their own. Those in a
    top-level directory, such as a build directory, are found in place and not copied. Nothing is
    written where a link of the revision leads elsewhere.
    """
    for name in itertools.islice(_generated(repository, tree), _GENERATED):
        target = os.path.join(tree, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(os.path.join(repository.top, name), target)


def _generated(repository: Repository, tree: str) -> Iterator[str]:
    """Ignored headers, relative to the top, in or below directories that exist in the revision."""
    for name in repository.ignored():
        above = os.path.dirname(name.rstrip("/"))
        beside = os.path.join(tree, above) if above else tree
        if not os.path.isdir(beside) or os.path.realpath(beside) != beside:
            continue
        for one in _files_of(repository.top, name):
            source = os.path.join(repository.top, one)
            is_plain = os.path.isfile(source) and not os.path.islink(source)
            if not is_plain or os.path.lexists(os.path.join(tree, one)):
                continue
            if one.endswith(_HEADERS) and os.path.getsize(source) <= _LARGEST_HEADER:
                yield one


def _files_of(top: str, name: str) -> Iterator[str]:
    """The files of one entry that git lists: a file, or a directory's files unless at the top."""
    if not name.endswith("/"):
        yield name
    elif "/" in name.rstrip("/"):
        for at, _, files in os.walk(os.path.join(top, name)):
            yield from (os.path.relpath(os.path.join(at, file), top) for file in files)


def _tracked(names: Iterable[str]) -> frozenset[str]:
    """The files and all of their parent directories."""
    found = {"."}
    for name in names:
        while name and name not in found:
            found.add(name)
            name = os.path.dirname(name)
    return frozenset(found)
