r"""Local memory whose cause is not known.

What it is. Accesses or frame bytes that no evidence explains. They are shown, not guessed at.

How to recognise it. No line information, or an address that cannot be followed.

What it costs. Unknown.

How to remove it. Without line information: analyse the source instead of a cubin, or compile with
``-lineinfo``. Otherwise there is no advice.

When to leave it. Please report the kernel: an unexplained byte is a gap in lmemscope.
"""

from __future__ import annotations

from lmemscope.model import Advice, Confidence, Severity, count
from lmemscope.rules.base import Case, Rule, traffic


def severity(case: Case) -> Severity:
    """A warning always: somebody should look, for the cost is not known."""
    return "warning"


def confidence(case: Case) -> Confidence:
    """Possible at most: that nothing explains it can be our own gap."""
    return "possible"


def message(case: Case) -> str:
    """How much is not explained: traffic where there is any, else bytes of the frame."""
    if not case.accesses:
        verb = "is" if case.share.frame_bytes == 1 else "are"
        return f"{count(case.share.frame_bytes, 'byte')} of the frame {verb} not attributed"
    return f"{traffic(case)} could not be attributed"


def advice(case: Case) -> tuple[Advice, ...]:
    """More evidence where there can be more, which is all that can be said without a cause."""
    if case.facts.ptx is None or any(not access.chain for access in case.accesses):
        return (
            Advice("Compile from source with line information, so that accesses can be traced."),
        )
    return (
        Advice("No advice without a cause. Please report the kernel: lmemscope should explain it."),
    )


RULE = Rule("LM901", "unattributed", severity, confidence, message, advice, __name__)
