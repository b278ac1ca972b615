"""Launch bounds that a rewrite adds override a limit of registers, and leave no more than it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lmemscope.model import CubinFacts, PtxasFacts
from lmemscope.rewrites import proposals
from lmemscope.rewrites.base import Target
from lmemscope.rules.register_cap import blocks_leaving, registers_for
from lmemscope.sources.edits import patched
from tests.support.builders import changed
from tests.support.rewriting import kernel, target

BODY = ("float a[8];", "a[n] = 1.f;", "out[0] = a[n];")


def limited(text: str, registers: int | None, *archs: str) -> Target:
    """The array of a kernel that the compiler was given a limit of registers for."""
    cubin = CubinFacts(registers or 32, 96, 96, registers)
    shown = PtxasFacts(registers or 32, 96, 0, 0, None, None, None)
    made = target(text, "a", "float[8]", block=None, ptxas=shown, cubin=cubin)
    (hit,) = made.hits
    return replace(made, hits=tuple(changed(hit, arch=one) for one in archs or ("sm_90",)))


def shared(asked: Target, text: str) -> tuple[str, str] | None:
    """The kernel's head with `shared-memory`, and what is promised; None where it is declined."""
    one = next((one for one in proposals(asked)[0] if one.rewrite == "shared-memory"), None)
    if one is None:
        return None
    made = patched(text.encode(), one.edits).decode()
    return made.partition("__global__ ")[2].partition("k(")[0], one.caveat or ""


@pytest.mark.parametrize(
    ("registers", "archs", "head"),
    [
        (None, (), "void __launch_bounds__(256, 1) "),
        (255, (), "void __launch_bounds__(256, 1) "),
        (32, (), "void __launch_bounds__(256, 7) "),
        (42, (), "void __launch_bounds__(256, 6) "),
        (96, (), "void __launch_bounds__(128, 5) "),  # No bounds of 256 threads leave 96.
        (40, ("sm_89", "sm_90"), "void __launch_bounds__(256, 6) "),
    ],
)
def test_bounds_leave_no_more_registers_than_the_limit(
    registers: int | None, archs: tuple[str, ...], head: str
) -> None:
    text = kernel(*BODY)
    made = shared(limited(text, registers, *archs), text)
    assert made is not None
    assert made[0] == head
    is_limited = registers is not None and registers < 255
    assert (f"the limit of {registers} registers" in made[1]) == is_limited


@pytest.mark.parametrize(
    ("registers", "arch", "head"),
    [(24, "sm_90", "void "), (32, "sm_75", "void "), (40, "sm_90", "void __maxnreg__(40) ")],
)
def test_without_such_bounds_it_is_declined_and_says_why(
    registers: int, arch: str, head: str
) -> None:
    text = kernel(*BODY).replace("void k", f"{head}k")
    asked = limited(text, registers, arch)
    assert shared(asked, text) is None
    (why,) = (one.reason for one in proposals(asked)[1] if "shared-memory" in one.rewrites)
    assert "--block" in why
    assert ("__maxnreg__" if "maxnreg" in head else f"limit of {registers} registers") in why


def test_the_option_to_say_the_block_needs_no_bounds() -> None:
    text = kernel(*BODY)
    made = shared(replace(limited(text, 24), asked_block=64), text)
    assert made is not None
    assert made[0] == "void "


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_89", "sm_90", "sm_120"])
def test_the_minimum_of_blocks_fits_a_multiprocessor(arch: str) -> None:
    threads = {"sm_75": 1024, "sm_80": 2048, "sm_90": 2048}.get(arch, 1536)
    for limit in range(24, 255):
        for block in (64, 128, 256, 1024):
            blocks = blocks_leaving(limit, block, arch)
            if blocks is not None:
                assert limit - 8 < registers_for(block, blocks) <= limit
                assert blocks * block <= threads
