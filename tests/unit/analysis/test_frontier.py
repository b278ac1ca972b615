"""Which points of a frontier are marked, from figures alone."""

from __future__ import annotations

from msgspec.structs import replace

from lmemscope.analysis.frontier import has_exploded, marked
from lmemscope.model import TunePoint


def point(
    cap: int | None,
    spills: int = 0,
    occupancy: float | None = 0.5,
    cost: float | None = 100.0,
    *,
    fits: bool = True,
    smem: bool = False,
) -> TunePoint:
    return TunePoint(
        cap=cap,
        smem_spilling=smem,
        registers=cap or 90,
        spill_stores=spills // 2,
        spill_loads=spills - spills // 2,
        stack_frame=spills,
        shared=0,
        code_bytes=1600,
        occupancy=occupancy,
        block=256,
        limited_by=("registers",),
        cost=cost,
        fits=fits,
    )


def caps(points: tuple[TunePoint, ...], mark: str) -> list[int | None]:
    return [one.cap for one in points if getattr(one, mark)]


def test_the_knee_is_the_cheapest_and_of_equals_that_with_most_registers() -> None:
    points, _ = marked([point(None, cost=120), point(80, cost=101), point(72, 8, 0.6, cost=100)])
    assert caps(points, "is_knee") == [80]
    points, _ = marked([point(None, cost=100), point(80, cost=99)])
    assert caps(points, "is_knee") == [None]


def test_spills_are_taken_for_warps_only_where_the_model_is_sure() -> None:
    doubtful = [point(None, 0, 0.25, 140), point(80, 40, 0.5, 100)]
    points, why = marked(doubtful)
    assert caps(points, "is_knee") == [None]
    assert why == (
        "spilling at 80 is modelled 1.4 times as fast, which is within the model's error"
    )
    points, _ = marked([replace(doubtful[0], cost=151.0), doubtful[1]])
    assert caps(points, "is_knee") == [80]
    # A block that does not fit without a cap leaves no choice.
    points, _ = marked([point(None, 0, 0.0, None), point(80, 40, 0.5, 100)])
    assert caps(points, "is_knee") == [80]


def test_pareto_points_have_fewest_spills_or_most_warps() -> None:
    points, _ = marked(
        [
            point(None, 0, 0.3),
            point(88, 8, 0.3),  # more spills for no warp
            point(80, 8, 0.4),
            point(72, 40, 0.4),
            point(64, 40, 0.5),
            point(56, 40, 0.5),  # equal: the first stands for both
        ]
    )
    assert caps(points, "is_pareto") == [None, 80, 64]


def test_what_spills_to_shared_memory_is_compared_and_never_chosen() -> None:
    points, _ = marked([point(None), point(80, 40, 0.6), point(80, 8, 0.6, cost=10, smem=True)])
    assert [one.smem_spilling for one in points if one.is_pareto] == [False, True]
    assert caps(points, "is_knee") == [None]


def test_without_a_cost_there_is_no_knee() -> None:
    points, why = marked([point(None, cost=None), point(80, 8, 0.6, cost=None)])
    assert caps(points, "is_knee") == []
    assert caps(points, "is_pareto") == [None, 80]
    assert "no cost" in why


def test_a_block_that_never_fits_is_said() -> None:
    _, why = marked([point(None, 0, 0.0, None), point(80, 0, 0.0, None)])
    assert why == "no block of this size fits a multiprocessor"


def test_the_reason_names_the_cache_where_the_frames_leave_it() -> None:
    points = [point(None, 0, 0.3, 150), point(80, 8, 0.6, 100), point(72, 64, 0.7, 300, fits=False)]
    _, why = marked(points)
    assert why == (
        "occupancy 30% → 60% for 8 more bytes of spills; at 72 the frames of the resident threads "
        "exceed the L1 cache: 3 times the cost"
    )


def test_spills_explode_when_they_are_half_of_the_code() -> None:
    """100 instructions: up to 50 words."""
    assert not has_exploded(point(80, 200))
    assert has_exploded(point(80, 204))


def test_costs_that_differ_are_not_said_to_be_equal() -> None:
    _, why = marked([point(None, 0, 0.5, 100), point(80, 40, 0.5, 104)])
    assert why == "at 80 spills of 40 bytes make 1.04 times the cost"


def test_a_sweep_of_launch_bounds_is_explained_in_blocks() -> None:
    few, more = (
        replace(point(cap, spills, cost=cost), min_blocks=blocks)
        for cap, blocks, spills, cost in ((128, 1, 0, 100), (64, 2, 40, 140))
    )
    _, why = marked([point(None, cost=100), few, more])
    assert why == "at 2 blocks spills of 40 bytes make 1.4 times the cost"


def test_a_lone_point_is_not_compared_with_anything() -> None:
    points, why = marked([point(None)])
    assert caps(points, "is_knee") == [None]
    assert "modelled" not in why
