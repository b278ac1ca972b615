"""A revision of the repository, written out beside it, and compiled as its build says.

What git tracks is each revision's own, however a path is written: relative, absolute, or in a build
database, which names the files of the working tree and is itself seldom tracked. What git does not
track (generated headers, response files) is the build's, and is taken where it lies.
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
"""Headers that a build makes in the project's own directories, at most."""
_HEADERS = (
    *(ending for kind in INPUT_KINDS if kind.is_header for ending in kind.endings),
    *(".h", ".hh", ".hpp", ".hxx", ".inc", ".inl", ".def"),
)
_LEAD = re.compile(r"(-I|-isystem=?|-include=?|--?(?!D)[\w-]+=)?(.*)", re.DOTALL)
_RESPONSE = re.compile(r"(?:@|--?(?:options-file|optf)=)(.+)", re.DOTALL)
_ALIKE = 0.5
"""Share of words that a file which was moved and edited has in common with what it was."""
_RESPONSE_NEXT = frozenset({"--options-file", "-optf", "--optf", "-options-file"})


@dataclass(frozen=True, slots=True)
class Checkout:
    """Another revision of the repository.

    Attributes:
        live, tree: top directories of the repository and of its checkout, without links.
        here: the directory to compare in, in the repository.
        tracked: files that git tracks in the repository, and their directories, relative to it.
    """

    live: str
    tree: str
    here: str
    tracked: frozenset[str]

    @property
    def directory(self) -> str:
        """The same directory in the checkout."""
        return self.path(self.here)

    def is_live(self, path: str) -> bool:
        """Whether an absolute path lies in the repository."""
        return path == self.live or path.startswith(self.live + os.sep)

    def path(self, path: str) -> str:
        """An absolute path in the checkout; one outside of the repository stays.

        What is a link today is what the revision has in its place, if it has something there.
        """
        named = os.path.normpath(path)
        there = os.path.join(self.tree, os.path.relpath(named, self.live))
        # The directories on the way may be links too, and lead elsewhere in the revision.
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
        """As `path`, but what only the build knows of stays where it lies."""
        there = self.path(path)
        is_tracked = os.path.relpath(os.path.realpath(path), self.live) in self.tracked
        return there if is_tracked or os.path.lexists(there) else path

    def relative(self, path: str) -> str:
        """An input as both revisions call it: relative, if it is in the repository."""
        if not os.path.isabs(path) or self.path(path) == path:
            return path
        return os.path.relpath(self.path(path), self.directory)

    def argument(self, text: str) -> str:
        """An argument of a compiler with the paths that it holds: ``X``, ``-IX``, ``--flag=X``."""
        lead, separator, path = text.rpartition("=")
        if text.startswith("-I"):
            lead, separator, path = "-I", "", text[2:]
        return f"{lead}{separator}{self.path(path)}" if os.path.isabs(path) else text

    def mapped(self, settings: Settings) -> Settings:
        """The settings with directories and files of the checkout.

        Each checkout has a path of its own: reports are kept as if it were the working tree, and
        units that have not changed are found there.
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
        """Make sure that what was analysed is the revision's.

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
                    hint="--no-build-database leaves the database aside that names it",
                )


@dataclass(slots=True)
class NewOptions:
    """Words of today's commands that a revision's build did not have, for all that is known.

    Attributes:
        change: of the files that say how the project is built.
        words: that were left out, by the source that they compile, absolute, or by the variable of
            the environment that has them.
        sources: all that the build compiles, absolute.
        elsewhere: new words of commands for sources that the revision has not.
        directories: that its commands run in, absolute.
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
        """The words of the command for a source less those that are new."""
        self.sources.add(source)
        return self._old(words, source)

    @contextmanager
    def environment(self) -> Iterator[None]:
        """Take new words out of the variables by which nvcc gets arguments, for a while."""
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
        """Words less those that are new, which are noted."""
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
    """Build databases of the working tree, written anew for a checkout.

    Args:
        checkout: of the revision.
        new: to leave the words out that the revision's build did not have; None to keep all.
        gone: files that the revision has and the working tree has not, absolute.
    """

    def __init__(
        self, checkout: Checkout, new: NewOptions | None = None, gone: Iterable[str] = ()
    ) -> None:
        self._checkout, self._new = checkout, new
        self._gone = {path for path in gone if kind_of(path) is CUDA}

    def write(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Give the checkout the databases that speak of inputs; one that is broken is left out.

        Args:
            paths: inputs, relative to the working directory, which is still the repository's.

        Returns:
            The paths, but for builds outside of the repository that of their copies.
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
        if copy == database:  # of a build outside of the repository
            copy = os.path.join(checkout.tree, name)
        inside = os.path.realpath(os.path.dirname(copy)) + os.sep
        if os.path.islink(copy) or not inside.startswith(checkout.tree + os.sep):
            return False  # The revision's links lead elsewhere: nothing is written there.
        own = copy if os.path.isfile(copy) else database
        try:
            records = commands_of(own)
            kept = [self._record(one, os.path.dirname(database)) for one in records]
        except (OSError, ValueError, TypeError, KeyError, RecursionError, InputError):
            return False  # Without its build each side says by itself what is wrong.
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        with open(copy, "w", encoding="utf-8", errors="surrogateescape") as stream:
            json.dump([one for one in kept if one is not None], stream)
        return True

    def _record(self, record: Mapping[str, Any], beside: str) -> dict[str, Any] | None:
        """An entry with the checkout's paths; None for a file that the revision has not."""
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
            # Of the copy all paths are absolute.
            RELATIVE: read_flags(taken_apart(words).arguments, directory).is_relative,
        }
        return made | {key: record[key] for key in ("output",) if key in record}

    @staticmethod
    def _is(word: str, directory: str, source: str) -> bool:
        return os.path.normpath(os.path.join(directory, word)) == source

    def _note(self, words: Iterable[str]) -> None:
        """Take down which words are new of a command for what the revision has not."""
        if self._new is not None:
            own = NewOptions(self._new.change)
            own.without(words, "")
            self._new.elsewhere.update(*own.words.values())

    def _was(self, source: str) -> str | None:
        """Where the revision has a source that has moved since, absolute; taken once.

        That is the file that is gone and most like it, if they share half of their words.
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
        """The words of a command with those of its response files, which name paths too."""
        from lmemscope.sources.response_files import Words

        def insert(name: str) -> None:
            # One that git tracks is the revision's own.
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
    """Write a revision's files into a temporary directory, each as it is stored.

    Raises:
        UsageError: there is no repository here, or it knows no such revision, or several.
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
    """Files first: as long as there is no link, a name leads nowhere else.

    A submodule's files are those of the commit that the revision names; where it is not checked
    out, or lacks that commit, its directory is empty.
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
    """Put headers that git ignores beside the revision's files, where they lie today.

    A build writes them into directories of the project that have headers of their own. What lies in
    a directory at the top, as a build's, is found where it is. The revision's links lead elsewhere:
    nothing is written there.
    """
    for name in itertools.islice(_generated(repository, tree), _GENERATED):
        target = os.path.join(tree, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(os.path.join(repository.top, name), target)


def _generated(repository: Repository, tree: str) -> Iterator[str]:
    """Ignored headers, relative to the top, in directories that the revision has, and below."""
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
    """What git lists: a file, or all files of a directory that is not at the top."""
    if not name.endswith("/"):
        yield name
    elif "/" in name.rstrip("/"):
        for at, _, files in os.walk(os.path.join(top, name)):
            yield from (os.path.relpath(os.path.join(at, file), top) for file in files)


def _tracked(names: Iterable[str]) -> frozenset[str]:
    """Files, and all directories above them."""
    found = {"."}
    for name in names:
        while name and name not in found:
            found.add(name)
            name = os.path.dirname(name)
    return frozenset(found)
