"""Analyse units on other machines: an executor that sends the files along.

The other machine has lmemscope and a toolkit, but not the user's files or paths. A unit is
therefore sent with the content of everything it includes. On the other machine the files are laid
out below a temporary directory in the same tree, and the unit is analysed there in a separate
process, with that directory prefixed to every path. The prefix is removed from the result, which is
the same as that of a local analysis, unless the toolkit differs.

Dask does the scheduling, and repeats tasks lost with a worker.
"""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from lmemscope import __version__
from lmemscope.errors import UsageError, WorkerCrashError
from lmemscope.model import CompileOptions, Unit
from lmemscope.sources import includes

if TYPE_CHECKING:
    from distributed import Client

_SCHEME = "dask://"
CONNECT_SECONDS = 10
"""Time limit in seconds for connecting to a scheduler."""


def open_executor(address: str, timeout: float | None) -> DaskExecutor:
    """Connect to the executor named by ``--executor``.

    Args:
        address: ``dask://host:port`` of a scheduler.
        timeout: time limit per unit in seconds, or None.

    Raises:
        UsageError: there is no such executor, it does not answer, or its workers cannot run units.
    """
    if not address.startswith(_SCHEME) or len(address) == len(_SCHEME):
        raise UsageError("executor", f"unknown executor {address!r}", hint="write dask://host:port")
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError(
            "executor",
            "Dask is not installed",
            hint="install it with: pip install 'lmemscope[dask]'",
        ) from error
    scheduler = address[len(_SCHEME) :]
    try:
        client = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UsageError(
            "executor",
            f"no Dask scheduler answers at {scheduler}",
            hint="start one with: dask scheduler; and on each machine: dask worker HOST:PORT",
        ) from error
    _check_workers(client, scheduler)
    return DaskExecutor(client, timeout)


class DaskExecutor(Executor):
    """Runs units on a Dask cluster through the `concurrent.futures` interface.

    Args:
        client: connected; closed by `shutdown`.
        timeout: time limit per task in seconds on its worker, or None.
    """

    def __init__(self, client: Client, timeout: float | None) -> None:
        self._client = client
        self._executor = client.get_executor(pure=False)
        self._timeout = timeout

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Schedule ``fn(*args)``; if the first argument is a `Unit`, its files are sent along."""
        if kwargs:
            raise TypeError("DaskExecutor.submit takes positional arguments only")
        luggage = pack(args[0]) if args and isinstance(args[0], Unit) else None
        inner = self._executor.submit(_perform, luggage, fn, args, self._timeout)
        outer: Future[Any] = Future()
        outer.set_running_or_notify_cancel()
        inner.add_done_callback(functools.partial(_pass_on, outer))
        return outer

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Disconnect after the submitted tasks, or at once with ``cancel_futures``."""
        self._executor.shutdown(wait=wait and not cancel_futures)
        self._client.close()


@dataclass(frozen=True, slots=True)
class Luggage:
    """The files that a unit needs on another machine.

    Attributes:
        directory: the local working directory, which relative paths start from.
        files: local absolute path and content of each file that the unit reads.
    """

    directory: str
    files: tuple[tuple[str, bytes], ...]


def pack(unit: Unit) -> Luggage:
    """Collect a unit's files; an unreadable file is left for the analysis to report."""
    files = []
    if unit.excerpt is not None:
        return Luggage(os.getcwd(), ())  # a log's unit carries its excerpt
    with contextlib.suppress(OSError):
        for path in includes.closure(unit.path, unit.options).files:
            with contextlib.suppress(OSError), open(path, "rb") as stream:
                files.append((path, stream.read()))
    return Luggage(os.getcwd(), tuple(files))


def perform(luggage: Luggage, fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Lay out the files, run ``fn`` on them, and map the paths in its result back."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="lmemscope-") as base:
        base = os.path.realpath(base)
        for path, content in luggage.files:
            target = base + path
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as stream:
                stream.write(content)
        os.makedirs(base + luggage.directory, exist_ok=True)
        os.chdir(base + luggage.directory)
        try:
            unit = _moved(args[0], base, {path for path, _ in luggage.files})
            return _without(base, fn(unit, *args[1:]))
        except Exception as error:
            for name, value in vars(error).items():
                setattr(error, name, _without(base, value))
            raise
        finally:
            os.chdir(here)


def _moved(unit: Unit, base: str, files: set[str]) -> Unit:
    def below(argument: str) -> str:
        for path in sorted(files, key=len, reverse=True):
            argument = argument.replace(path, base + path)
        return argument

    def directory(argument: str) -> str:
        flag, at, path = argument.partition("/")
        return f"{flag}{base}/{path}" if at and flag in ("-I", "-isystem=") else below(argument)

    options: CompileOptions = replace(
        unit.options,
        include_dirs=tuple(base + path for path in unit.options.include_dirs),
        nvrtc_args=tuple(directory(argument) for argument in unit.options.nvrtc_args),
        nvcc_args=tuple(directory(argument) for argument in unit.options.nvcc_args),
    )
    return replace(unit, path=base + unit.path, options=options)


def _without(base: str, value: Any) -> Any:
    """The value with a directory prefix removed from every string in it."""
    if isinstance(value, str):
        return value.replace(base, "") if base in value else value
    if isinstance(value, tuple):
        return tuple(_without(base, item) for item in value)
    if isinstance(value, dict):
        return {_without(base, key): _without(base, item) for key, item in value.items()}
    if isinstance(value, Struct):
        changed = {name: _without(base, getattr(value, name)) for name in value.__struct_fields__}
        return replace(value, **changed)
    return value


def _perform(
    luggage: Luggage | None, fn: Callable[..., Any], args: tuple[Any, ...], timeout: float | None
) -> Any:
    """Runs on a Dask worker: uses a separate process, so that a crash or hang spares the worker."""
    pool = _pool(timeout)
    if luggage is None:
        return pool.submit(fn, *args).result()
    return pool.submit(perform, luggage, fn, args).result()


_pools: dict[float | None, Any] = {}
_pools_lock = threading.Lock()


def _pool(timeout: float | None) -> Any:
    """One pool per Dask worker, with as many processes as threads call it."""
    from lmemscope.config.settings import available_cpus
    from lmemscope.running.pool import UNITS, WorkerPool

    with _pools_lock:
        if timeout not in _pools:
            _pools[timeout] = WorkerPool(available_cpus(), timeout=timeout, preload=UNITS)
        return _pools[timeout]


def _pass_on(outer: Future[Any], inner: Future[Any]) -> None:
    try:
        outer.set_result(inner.result())
    except CancelledError:
        outer.set_exception(WorkerCrashError("executor", "the cluster cancelled it"))
    except BaseException as error:  # noqa: BLE001 - handed on, not swallowed
        if type(error).__name__ == "KilledWorker":
            error = WorkerCrashError(
                "executor",
                "every Dask worker that took it died",
                hint="the workers' own logs say why; memory is a usual reason",
            )
        outer.set_exception(error)


def _check_workers(client: Client, scheduler: str) -> None:
    if not client.scheduler_info()["workers"]:
        client.close()
        raise UsageError(
            "executor",
            f"the Dask scheduler at {scheduler} has no workers",
            hint=f"start one with: dask worker {scheduler}",
        )
    try:
        versions = set(client.run(installed_version).values())
    except ImportError as error:
        client.close()
        raise UsageError(
            "executor",
            f"a Dask worker cannot import lmemscope: {error}",
            hint=f"install lmemscope {__version__} on every worker",
        ) from error
    if versions != {__version__}:
        client.close()
        raise UsageError(
            "executor",
            f"Dask workers have lmemscope {', '.join(sorted(versions))}, this is {__version__}",
            hint="install the same version everywhere",
        )


def installed_version() -> str:
    """This package's version, as reported by a worker."""
    return __version__
