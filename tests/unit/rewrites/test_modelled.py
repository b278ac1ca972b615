"""What the cost model says of rewrites before anything is compiled, and what is advised by it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from lmemscope.advising.proposed import offer_of
from lmemscope.advising.targets import Files
from lmemscope.analysis.work import Work
from lmemscope.model import Advice, KernelReport, ObjectWork
from lmemscope.rewrites import likely
from lmemscope.rewrites.base import Replacement, Target
from lmemscope.rewrites.modelled import gain
from lmemscope.rules import advice_for
from lmemscope.rules.launched import Block
from lmemscope.rules.verdict import judge
from tests.support.builders import changed
from tests.support.rewriting import LOADED, indexed

PIPES = 7
IN_REGISTERS = Replacement()


@dataclass(frozen=True)
class Accesses:
    """A warp's accesses of an array: how many, and the lines of each."""

    loads: float
    stores: float
    lines: float = 1.0

    def work(self, issued: float) -> Work:
        """With so many other integer instructions."""
        every, stored = self.loads + self.stores, self.stores * self.lines
        lines = every * self.lines
        own = ObjectWork(0, self.loads, self.stores, lines, 4 * lines, stored, 4 * stored, 0)
        return Work(
            pipes=(0.0, issued, 0.0, 0.0, 0.0, every, 0.0),
            stalls=(0.0, 0.0, 0.0, 0.0, self.loads, 0.0),
            local_lines=own.lines,
            local_sectors=own.sectors,
            stored_lines=own.stored_lines,
            stored_sectors=own.stored_sectors,
            frame=32,
            objects=(own,),
        )


def modelled(accesses: Accesses, elements: int = 8, issued: float = 100.0) -> Target:
    asked = indexed("out[0] = a[p[n]];", source=LOADED, elements=elements)
    (hit,) = asked.hits
    report = KernelReport.of(hit.facts, judge(hit.facts), work=accesses.work(issued))
    return replace(asked, hits=(changed(hit, facts=report, arch="sm_90"),))


def speeds(asked: Target) -> dict[str, float | None]:
    return {one.rewrite.name: one.speed for one in likely(asked)[0]}


def test_what_costs_nothing_in_its_place_gains_what_memory_costs() -> None:
    scattered, together = Accesses(64, 64, lines=8), Accesses(64, 64)
    both = [gain(modelled(one), IN_REGISTERS) for one in (scattered, together)]
    assert both[0] is not None
    assert both[1] is not None
    assert both[0] > both[1] > 1


def test_of_a_kernel_that_does_much_else_it_matters_little() -> None:
    found = gain(modelled(Accesses(4, 4), issued=100_000.0), IN_REGISTERS)
    assert found is not None
    assert 1 <= found < 1.01


def test_without_a_kernels_work_nothing_is_said() -> None:
    asked = indexed("out[0] = a[p[n]];", source=LOADED)
    assert gain(asked, IN_REGISTERS) is None
    assert set(speeds(asked).values()) == {None}


@pytest.mark.parametrize(
    ("elements", "accesses", "is_faster"),
    [
        (8, Accesses(64, 64, lines=8), True),
        (2, Accesses(64, 64), True),
        (32, Accesses(64, 0), False),
        (32, Accesses(64, 64, lines=24), True),
    ],
)
def test_comparing_costs_more_for_each_element(
    elements: int, accesses: Accesses, is_faster: bool
) -> None:
    speed = speeds(modelled(accesses, elements))["select"]
    assert speed is not None
    assert (speed > 1) == is_faster


def test_the_fastest_comes_first() -> None:
    found = likely(modelled(Accesses(256, 256, lines=16), elements=32))[0]
    assert found[0].rewrite.name == "shared-memory"
    assert found[0].order < found[1].order


def test_where_all_are_slower_it_is_left() -> None:
    asked = modelled(Accesses(64, 0), elements=32, issued=4000.0)
    asked = replace(asked, hits=tuple(changed(one, case=changed(one.case)) for one in asked.hits))
    made, _ = likely(asked)
    slower = [one for one in made if one.is_slower]
    assert "select" in [one.rewrite.name for one in slower]
    offer = offer_of(tuple(slower), (), Files(), asked.path)
    assert offer.advice == ()
    (hit,) = asked.hits
    (advice,) = advice_for(hit.case, hit.finding, offer)
    assert advice.is_none
    assert advice.text.startswith("Leave `a` in local memory: by the model")
    assert "`select` (× 0." in advice.text
    # What is tried beside may win together with what loses alone.
    tried = changed(offer, trials=(Advice("`lmemscope fix` also compiles `unroll`."),))
    first, *_ = advice_for(hit.case, hit.finding, tried)
    assert "Leave" not in first.text
    assert "`select` (× 0." in first.text


def test_what_is_about_as_fast_is_said_to_be() -> None:
    asked = modelled(Accesses(16, 16), elements=4, issued=20_000.0)
    made, declined = likely(asked)
    offer = offer_of(made, declined, Files(), asked.path)
    assert all("About as fast, by the model" in one.text for one in offer.advice)


def test_a_block_that_may_not_fit_is_no_way() -> None:
    asked = replace(modelled(Accesses(64, 64, lines=8)), asked_block=1024)
    assert gain(asked, Replacement(registers=64)) == 0.0


def test_dynamic_shared_memory_of_launches_is_there_with_the_rewrite_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    launched = Block(128, "its launch", is_exact=True, source="launch", dynamic_shared=100_000)
    monkeypatch.setattr(Target, "block", launched)
    # Two blocks fit a multiprocessor, whatever becomes of so few accesses.
    found = gain(modelled(Accesses(0.01, 0.01)), IN_REGISTERS)
    assert found is not None
    assert 1 <= found < 1.01
