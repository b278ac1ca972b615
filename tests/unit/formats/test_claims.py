from __future__ import annotations

from pathlib import Path

from lmemscope.formats.claims import Claims
from lmemscope.model import ALL_IMAGES, Share


def _taken(claims: Claims, parts: range) -> list[int]:
    return [part for part in parts if claims.is_own()]


def test_one_worker_takes_all() -> None:
    with Claims(ALL_IMAGES) as claims:
        assert _taken(claims, range(5)) == [0, 1, 2, 3, 4]


def test_each_part_is_taken_once_by_the_worker_that_comes_first(tmp_path: Path) -> None:
    path = str(tmp_path / "claims")
    with Claims(Share(0, path)) as slow, Claims(Share(1, path)) as fast:
        first = _taken(slow, range(1))
        assert _taken(fast, range(6)) == [1, 2, 3, 4, 5]
        assert (first, _taken(slow, range(1, 8))) == ([0], [6, 7])
        assert _taken(fast, range(6, 9)) == [8]


def test_what_a_killed_worker_took_is_taken_again(tmp_path: Path) -> None:
    path = str(tmp_path / "claims")
    with Claims(Share(1, path)) as other:
        with Claims(Share(0, path)) as killed:
            assert _taken(killed, range(2)) == [0, 1]
            assert _taken(other, range(3)) == [2]
            assert _taken(killed, range(2, 4)) == [3]
        with Claims(Share(0, path)) as again:
            assert _taken(again, range(6)) == [0, 1, 3, 4, 5]
        assert _taken(other, range(3, 7)) == [6]
