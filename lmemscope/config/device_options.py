"""The options that say on which GPU, and with which limits, a program would run."""

from __future__ import annotations

from typing import Any

from lmemscope.config import kinds
from lmemscope.config.kinds import Kind
from lmemscope.config.option import Option
from lmemscope.model import DEFAULT_PENDING_LAUNCHES, DEFAULT_STACK_LIMIT


def _of_device(key: str, kind: Kind, help_: str, metavar: str, default: Any = None) -> Option:
    return Option(
        key, kind, help_, (f"--{key}",), metavar, default=default, group="facts", api=False
    )


DEVICE = (
    _of_device(
        "device",
        kinds.text("the name of a GPU, or present"),
        "Say what the driver would reserve for local memory on this GPU, or on the one present.",
        "NAME",
    ),
    _of_device(
        "sm-count",
        kinds.whole(1, "multiprocessors"),
        "Multiprocessors of a GPU that lmemscope does not know, or another number.",
        "N",
    ),
    _of_device(
        "threads-per-sm",
        kinds.whole(32, "threads"),
        "Resident threads per multiprocessor of that GPU.",
        "N",
    ),
    _of_device(
        "stack-limit",
        kinds.whole(0, "bytes"),
        "cudaLimitStackSize of the program.",
        "BYTES",
        DEFAULT_STACK_LIMIT,
    ),
    _of_device(
        "pending-launches",
        kinds.whole(1, "launches"),
        "cudaLimitDevRuntimePendingLaunchCount of the program.",
        "N",
        DEFAULT_PENDING_LAUNCHES,
    ),
)
"""Rows of the table of options."""
