"""Figures and paths as tables show them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lmemscope.exporters.layout import costs, short_path
from lmemscope.model import CauseShare, KernelFacts, SiteClass
from tests.support.builders import judged


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("a/b.cu", "a/b.cu"),
        (f"{'long/' * 20}b.cu", "…/long/long/b.cu"),
        (f"dist/{'long-name-' * 6}.whl[pkg/lib/libk.so]", "…/pkg/lib/libk.so"),
    ],
)
def test_a_long_path_keeps_its_end(path: str, shown: str) -> None:
    assert short_path(path, 20) == shown


@pytest.mark.parametrize(
    ("known", "shown"), [((7.0, 90.0), "7–90"), ((7.0, None), "7"), ((None, None), "?")]
)
def test_a_cost_is_that_of_the_architectures_that_are_modelled(
    known: tuple[float | None, ...], shown: str
) -> None:
    def facts(cost: float | None) -> KernelFacts:
        share = CauseShare.of("dynamic-index", None, 80, SiteClass(1, 1, 4, 4), cost=cost)
        return replace(judged("a").facts, causes=(share,))

    assert costs([facts(cost) for cost in known]) == shown
