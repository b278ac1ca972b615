"""What all tests share: the program, one store of compilers' outputs, and the toolchain's absence.

A test that is not marked ``toolchain`` runs where no part of the CUDA toolchain can be found, in
its own process and in those it starts, and where nothing has been compiled before: what needs a
tool fails there, whatever is installed.

The store begins empty with each run and serves the marked tests of that run, whichever process
they are in. A test about the store itself, about the route a file took, or about what compilers
make anew asks for ``own_store``.
"""

from __future__ import annotations

import fcntl
import gc
import itertools
import os
import pickle
import re
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, TypeVar
from uuid import uuid4

import pytest
from syrupy.assertion import SnapshotAssertion

from docs import rule_figures
from lmemscope.errors import ToolMissingError
from lmemscope.lowering.lower import lower
from lmemscope.model import Artifacts, Unit
from lmemscope.tools import child, ptxas, toolchain
from tests.support.builders import changed
from tests.support.program import (
    DATA,
    NO_TOOLCHAIN,
    ROOT,
    Finished,
    run_program,
)
from tests.support.snapshots import Words

MOST_WORKERS = 8
T = TypeVar("T")


def pytest_configure() -> None:
    """The program that tests start is this checkout's, and every signal reaches it.

    A shell without job control starts what it leaves in the background with SIGINT ignored, and
    nohup with SIGHUP: processes inherit that, and a program that is told to end would not.
    """
    os.environ["PYTHONPATH"] = str(ROOT)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for garbage seldom, and not among the tests and their modules, which stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000)
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """``-n auto``: the CPUs that this process may use; a scan has workers of its own besides."""
    return min(len(os.sched_getaffinity(0)), MOST_WORKERS)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool, bool]:
    """Around a test and its fixtures: without the mark, no toolchain."""
    if _marked(item):
        _hidden_tools.end()
        return (yield)
    _hidden_tools.begin()
    return (yield)


def pytest_unconfigure() -> None:
    """Leave this process as it was."""
    _hidden_tools.end()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """What a tool made once would hide that an unmarked test needs the tool."""
    if not _marked(item) and "once" in getattr(item, "fixturenames", ()):
        pytest.fail("this test uses what a tool made: mark it toolchain", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say why a tool was missing."""
    report = yield
    if report.failed and not _marked(item):
        said = "This test is not marked toolchain, so it found none: see tests/conftest.py."
        report.sections.append(("toolchain", said))
    return report


def _marked(item: pytest.Item) -> bool:
    return item.get_closest_marker("toolchain") is not None


class _HiddenTools:
    """No NVRTC, no tool and no header of CUDA's, here and in Python processes started here.

    It stays from one test to the next without the mark: beginning it takes as long as such a test.
    """

    def __init__(self) -> None:
        self._patch: pytest.MonkeyPatch | None = None

    def begin(self) -> None:
        if self._patch is not None:
            return
        self._patch = patch = pytest.MonkeyPatch()
        patch.setattr(toolchain.Toolchain, "find", _refused)
        patch.setattr(toolchain.Toolchain, "find_headers", lambda self, name: None)
        patch.setattr(toolchain.Toolchain, "header_dirs", lambda self: ())
        patch.setitem(sys.modules, "cupy_backends.cuda.libs", None)
        # Workers of a pool take over the path of the process that starts them.
        patch.syspath_prepend(NO_TOOLCHAIN)
        patch.setenv("PYTHONPATH", os.pathsep.join(map(str, (NO_TOOLCHAIN, ROOT))))

    def end(self) -> None:
        if self._patch is not None:
            self._patch.undo()
            self._patch = None


_hidden_tools = _HiddenTools()


def _refused(where: toolchain.Toolchain, name: str) -> NoReturn:
    del where
    raise ToolMissingError("toolchain", f"{name} is hidden from tests not marked toolchain")


@pytest.fixture(scope="session")
def run_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of this run of pytest, the same in all of its processes."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def shared_store(run_directory: Path) -> str:
    """Where compilers' outputs are kept for the tests of this run."""
    return str(run_directory / "store")


@pytest.fixture(scope="session", autouse=True)
def _bytecode_is_kept(run_directory: Path) -> None:
    """Python's, also where it is told to leave none beside the sources.

    Without any, each of some hundred programs compiles the package anew: a fifth of its time.
    """
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
        os.environ["PYTHONPYCACHEPREFIX"] = str(run_directory / "bytecode")


@pytest.fixture(scope="session", autouse=True)
def _compilations_are_copies() -> Iterator[None]:
    """A compilation is a copy of this process, as in a worker, and not a Python of its own.

    xdist's thread waits for its next message meanwhile, and holds nothing that a copy needs.
    """
    threads = threading.active_count()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(child, "is_single_threaded", lambda: threading.active_count() <= threads)
        yield


@pytest.fixture(scope="session")
def _numbers() -> Iterator[int]:
    return itertools.count()


@pytest.fixture
def tmp_path(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    _numbers: Iterator[int],
) -> Path:
    """An empty directory for one test, with few others beside it.

    `fix` mirrors what is beside a source and above it for each trial. In pytest's own place that
    would be the directories of some thousand tests.
    """
    number = next(_numbers)
    name = re.sub(r"\W", "_", request.node.name)[:30]
    own = tmp_path_factory.getbasetemp() / f"{number // 64}" / f"{name}{number}"
    own.mkdir(parents=True, mode=0o700)
    return own


@pytest.fixture(autouse=True)
def _store(request: pytest.FixtureRequest, shared_store: str, run_directory: Path) -> None:
    """For a test that has no tool, no store either that tools have filled."""
    nothing = run_directory / "nothing" / uuid4().hex
    os.environ["LMEMSCOPE_CACHE_DIR"] = shared_store if _marked(request.node) else str(nothing)


@pytest.fixture
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty store for one test."""
    directory = str(tmp_path / "own-store")
    monkeypatch.setenv("LMEMSCOPE_CACHE_DIR", directory)
    return directory


@dataclass(frozen=True)
class Once:
    """What is worth making once in a run of pytest: the first process to ask makes it."""

    directory: Path
    known: dict[str, Any] = field(default_factory=dict)

    def __call__(self, name: str, make: Callable[[], T]) -> T:
        """The value of that name, made here or read from the process that made it."""
        if name not in self.known:
            place = self.directory / f"{name}.pickle"
            with open(f"{place}.lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not place.exists():
                    whole = place.with_suffix(".part")
                    whole.write_bytes(pickle.dumps(make()))
                    whole.replace(place)
            self.known[name] = pickle.loads(place.read_bytes())
        value: T = self.known[name]
        return value


@pytest.fixture(scope="session")
def once(run_directory: Path) -> Once:
    """Shares values between the tests of a run, whichever process they are in."""
    directory = run_directory / "once"
    directory.mkdir(exist_ok=True)
    return Once(directory)


@pytest.fixture
def snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """Words that a test compares; they are in tests/snapshots."""
    return snapshot.use_extension(Words)


@pytest.fixture(scope="session")
def shipped(once: Once) -> Finished:
    """One scan of the shipped kernels, as JSON."""
    scan = ("scan", "kernels", "--arch", "sm_90", "--format", "json")
    return once("shipped", lambda: run_program(*scan))


@pytest.fixture(scope="session")
def samples(once: Once) -> Finished:
    """One scan of the samples, as JSON with accesses."""
    scan = ("scan", "tests/corpus/samples", "--arch", "sm_90", "--accesses")
    return once("samples", lambda: run_program(*scan, "--format", "json"))


@pytest.fixture(scope="session")
def fixed(once: Once) -> Finished:
    """What `fix` tries on the shipped kernels of the rules' pages, as JSON."""
    return once("fixed", lambda: run_program(*rule_figures.FIX))


@pytest.fixture(scope="session")
def many_forms(once: Once, shared_store: str) -> Callable[[str], Artifacts]:
    """What is made of tests/support/data/many_forms.cu for an architecture.

    A family shares one PTX: the compilation to it takes ten times as long as what ptxas does.
    """
    source = DATA / "many_forms.cu"
    families = {"sm_86": "sm_80", "sm_89": "sm_80", "sm_100": "sm_90", "sm_103": "sm_90"}
    families["sm_121"] = "sm_120"

    def compiled(arch: str) -> Artifacts:
        unit = Unit(source.name, str(source), "auto", arch)
        if arch not in families:
            return lower(unit, shared_store)
        made = of(families[arch])
        flags = ptxas.options_for(arch, unit.options)
        done = ptxas.assemble(made.ptx or b"", source.name, flags)
        return changed(made, unit=unit, cubin=done.cubin, ptxas_log=done.log)

    def of(arch: str) -> Artifacts:
        return once(f"many-forms-{arch}", lambda: compiled(arch))

    return of
