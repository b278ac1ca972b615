"""How several workers divide what one file holds, without a word between them."""

from __future__ import annotations

from lmemscope.model import Share


class Balance:
    """Gives the next part of a file to the worker that has the least to do so far.

    Each worker counts all parts, in the same order, and comes to the same answer.

    Args:
        share: the worker, and how many there are.
    """

    def __init__(self, share: Share) -> None:
        self.share = share
        self._costs = [0] * share.of

    def is_own(self, cost: int) -> bool:
        """Whether the next part is this worker's.

        Args:
            cost: what it takes to read, as bytes of machine code when unpacked.
        """
        worker = self._costs.index(min(self._costs))
        self._costs[worker] += cost
        return worker == self.share.number
