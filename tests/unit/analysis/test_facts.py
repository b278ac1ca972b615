"""The layers side by side on hand-made PTX, machine code and reports."""

from __future__ import annotations

import pytest

from lmemscope.analysis.facts import gather_facts, unknown_spills
from lmemscope.analysis.ptx.components import strong_components
from lmemscope.model import Disagreement, KernelFacts, PtxasFacts, SassSites, SiteClass, SiteSplit
from tests.support.builders import depot, facts, layers, ldl, program, ptxas_report, stl

BODY = f"{depot(64)}\nadd.u64 %rd1, %SPL, 0;\nld.local.u32 %r2, [%rd1];\nadd.u32 %r3, %r2, 1;\nret;"
SPILL = (stl("add.u32", marked=True), ldl("add.u32", marked=True, width=8))


def gathered(*code: object, **changes: object) -> KernelFacts:
    (fact,) = gather_facts(layers(program(BODY), *code, **changes))  # type: ignore[arg-type]
    return fact


def test_each_layer_says_its_own() -> None:
    fact = gathered(ldl("ld.local"), frame=64, log=ptxas_report(frame=64))
    assert fact.ptx is not None
    assert (fact.ptx.local_bytes, fact.ptx.local_objects, fact.ptx.ld_local) == (64, 1, 1)
    assert fact.cubin is not None
    assert fact.ptxas is not None
    assert fact.cubin.stack_frame == fact.ptxas.stack_frame == fact.stack_frame == 64
    assert fact.sass == SassSites(1, 0, 4, 0)


def test_the_classes_of_callees_are_added_to_the_kernels() -> None:
    fact = gathered(*SPILL, callees={"leaf": [ldl("ld.local"), ldl(None)]})
    assert fact.own_sites == SiteSplit(SiteClass(1, 1, 8, 4), SiteClass(), SiteClass())
    assert fact.sites == SiteSplit(
        SiteClass(1, 1, 8, 4), SiteClass(1, 0, 4, 0), SiteClass(1, 0, 4, 0)
    )
    (leaf,) = fact.callees
    assert (leaf.name, leaf.sass) == ("leaf", SassSites(2, 0, 8, 0))


@pytest.mark.parametrize(
    ("stores", "loads", "expected"),
    [
        (4, 8, ()),
        (4, 4, (Disagreement("spill_loads", {"ptxas": 4, "sass": 8}),)),
        (0, 8, (Disagreement("spill_stores", {"ptxas": 0, "sass": 4}),)),
    ],
)
def test_spills_are_compared_with_ptxas(
    stores: int, loads: int, expected: tuple[Disagreement, ...]
) -> None:
    assert gathered(*SPILL, log=ptxas_report(stores, loads)).disagreements == expected


def test_sites_of_unknown_origin_leave_spills_uncompared() -> None:
    assert gathered(*SPILL, ldl(None), log=ptxas_report(0, 0)).disagreements == ()


def test_what_a_kernel_that_marks_its_spills_does_not_mark_is_its_own() -> None:
    code = (*SPILL, ldl(None, width=16))
    known, unknown = (gathered(*code, is_marked=is_marked) for is_marked in (True, False))
    assert known.own_sites == SiteSplit(
        SiteClass(1, 1, 8, 4), SiteClass(1, 0, 16, 0), SiteClass(0, 0, 0, 0)
    )
    assert (known.spill_stores, known.spill_loads) == (4, 8)
    assert unknown.own_sites is not None
    assert unknown.own_sites.unknown.count == 1
    assert (unknown.spill_stores, unknown.spill_loads) == (None, None)


def test_a_function_may_save_its_callers_registers_without_a_mark() -> None:
    marked = [ldl(None, marked=True)]
    for callee, spills in ((marked, 12), ([*marked, stl(None)], None)):
        fact = gathered(*SPILL, callees={"leaf": callee}, is_marked=True)
        assert (fact.spill_loads, fact.all_spill_loads) == (8, spills)
        gap = unknown_spills(layers(None, *SPILL, callees={"leaf": callee}), [fact])
        assert [one.kind for one in gap] == ([] if spills else ["evidence"])
    alone = gathered(stl(None), kind="function", is_marked=True)
    assert alone.spill_stores is None


def test_what_one_source_does_not_say_is_no_disagreement() -> None:
    assert gathered(*SPILL).disagreements == ()
    (found,) = gathered(frame=32, log=ptxas_report(frame=64)).disagreements
    assert found == Disagreement("stack_frame", {"ptxas": 64, "cubin": 32})


@pytest.mark.parametrize(
    ("own", "below", "cubin", "reason"),
    [
        (16, 48, 64, "called-frames"),
        (16, 40, 64, None),
        (64, 32, 32, None),
        (0, 0, 64, None),
    ],
)
def test_a_cubin_that_counts_the_frames_of_what_is_called_has_a_reason_to_differ(
    own: int, below: int, cubin: int, reason: str | None
) -> None:
    called = ptxas_report(frame=below, function="leaf").split("\n", 1)[1]
    fact = gathered(frame=cubin, log=ptxas_report(frame=own) + called)
    (found,) = fact.disagreements
    assert (found.quantity, found.reason) == ("stack_frame", reason)
    assert bool(found.why) == (reason is not None)


def test_lines_are_grouped_by_place_and_kind_with_most_bytes_first() -> None:
    lines = gathered(
        ldl("ld.local", source=5),
        ldl("ld.local", source=5, width=8),
        ldl("add.u32", source=5, marked=True),
        ldl("ld.local", source=9, width=16),
    ).lines
    assert [(use.location.line, use.kind, use.sites.bytes) for use in lines] == [
        (9, "local-object", 16),
        (5, "local-object", 12),
        (5, "spill", 4),
    ]


@pytest.mark.parametrize(
    ("stores", "loads", "total"), [(4, 8, 12), (0, 0, 0), (None, 8, None), (4, None, None)]
)
def test_the_sum_of_spills_needs_both(
    stores: int | None, loads: int | None, total: int | None
) -> None:
    assert facts(ptxas=PtxasFacts(32, 0, stores, loads, 0, None, 0)).spill_bytes == total


def test_a_frame_or_a_site_is_local_memory() -> None:
    assert not gathered().uses_local_memory
    assert gathered(frame=16).uses_local_memory
    assert gathered(ldl("add.u32", marked=True)).uses_local_memory


def test_strong_components_come_after_what_they_depend_on() -> None:
    graph = {"a": ["b"], "b": ["c", "gone"], "c": ["d"], "d": ["b", "e"], "e": [], "f": ["f"]}
    found = list(strong_components(graph, lambda node: graph[node], known={"gone"}))
    assert sorted(map(sorted, found)) == [["a"], ["b", "c", "d"], ["e"], ["f"]]
    position = {name: at for at, group in enumerate(found) for name in group}
    assert position["e"] < position["b"] < position["a"]


@pytest.mark.parametrize(
    ("calls", "said", "known"),
    [
        ("k2", "", False),
        ("k2", ", 64 bytes cumulative stack size", True),
        ("", "", True),
    ],
    ids=["recursive", "depth-printed", "only-handed-on"],
)
def test_a_stack_depth_that_cuda_12_leaves_out_is_not_zero(
    calls: str, said: str, known: bool
) -> None:
    """NVRTC 12.9 warns of no recursion, and its cubin has 0 for the depth."""
    log = (
        "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
        "ptxas info    : Function properties for k\n"
        "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        f"ptxas info    : Used 26 registers, used 0 barriers{said}\n"
        "ptxas info    : Function properties for k2\n"
        "ptxas         .     40 bytes stack frame, 36 bytes spill stores, 36 bytes spill loads\n"
    )
    into = f"call.uni {calls};\n" if calls else ""
    ptx = program(f"{into}ret;", k2="call.uni k2;\nret;")
    (fact,) = gather_facts(layers(ptx, log=log, callees={"k2": [ldl(None)]}))
    assert fact.stack_known is known
    assert (fact.cumulative_stack is None) is not known
