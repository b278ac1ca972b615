"""Divide the parts of one file among several workers without communication."""

from __future__ import annotations

from lmemscope.model import Share


class Balance:
    """Assigns each part of a file to the worker with the least work so far.

    Each worker counts all parts in the same order, and reaches the same result.

    Args:
        share: the worker's number, and the number of workers.
    """

    def __init__(self, share: Share) -> None:
        self.share = share
        self._costs = [0] * share.of

    def is_own(self, cost: int) -> bool:
        """Whether the next part belongs to this worker.

        Args:
            cost: of reading it, as bytes of unpacked machine code.
        """
        worker = self._costs.index(min(self._costs))
        self._costs[worker] += cost
        return worker == self.share.number
