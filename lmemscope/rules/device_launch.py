r"""A launch from the device needs a frame.

What it is. ``kernel<<<…>>>`` inside a kernel fills a parameter buffer and passes dimensions through
memory.

How to recognise it. PTX: calls of ``cudaGetParameterBufferV2``, ``cudaLaunchDeviceV2``.

What it costs. A few stores per launch, which is nothing beside the launch. A pointer to local
memory must not be passed to the child: parent and child share neither local nor shared memory.

How to remove it. Launch from the host, or let the parent's threads do the child's work.

When to leave it. Wherever a device-side launch is right.
"""

from __future__ import annotations

from lmemscope.model import Advice, Severity
from lmemscope.rules.base import Case, Rule, certain


def severity(case: Case) -> Severity:
    """A note always: a few stores are nothing beside the launch itself."""
    return "note"


def message(case: Case) -> str:
    """How much of the frame the launch takes."""
    size = case.share.frame_bytes
    if not size:
        return "it launches from the device, without a frame of its own for that"
    return f"{size} bytes of the frame serve a launch from the device"


def advice(case: Case) -> tuple[Advice, ...]:
    """To leave it, with the one mistake to avoid: the child cannot read the parent's stack."""
    return (Advice("Fine as it is. Never pass the address of a local variable to the child."),)


RULE = Rule("LM405", "device-launch", severity, certain, message, advice, __name__)
