"""How often loops are taken to run whose counts no constant tells, and what lanes do in them."""

from __future__ import annotations

import pytest

from lmemscope.analysis.ptx.trips import UNKNOWN
from lmemscope.analysis.work import work_of
from lmemscope.model import PIPES, LoopCounts, LoopTurns, Work
from tests.support.builders import attributed, layers, program

FMA = "fma.rn.f32 %f, %f, %f, %f;"
NUMBER = "ld.param.u32 %n, [k_param_0];\n"


def work(body: str) -> Work:
    given = layers(program(body))
    found = work_of(given, attributed(given))
    assert found is not None
    return found


def turns(body: str) -> float:
    return work(body).pipes[PIPES.index("fp32")]


@pytest.mark.parametrize(
    ("begin", "shift", "limit", "expected"),
    [
        ("1", "shl.b32 %i, %i, 1", "64", 6),
        ("1", "shl.b32 %i, %i, 2", "64", 3),
        ("256", "shr.u32 %i, %i, 1", "1", 8),
        ("1", "shl.b32 %i, %i, 1", "%n", 5),
        ("%n", "shr.u32 %i, %i, 1", "0", 5),
    ],
)
def test_a_loop_whose_counter_is_doubled_runs_as_often_as_it_can_be(
    begin: str, shift: str, limit: str, expected: float
) -> None:
    """The logarithm of what is passed; of an unknown number, that of what is guessed."""
    compared = "lt" if shift.startswith("shl") else "gt"
    body = f"{NUMBER}mov.u32 %i, {begin};\n$L1:\n{FMA}\n{shift};\n"
    assert turns(f"{body}setp.{compared}.s32 %p, %i, {limit};\n@%p bra $L1;\nret;") == expected


def test_a_loop_from_a_number_to_one_near_it_runs_that_often() -> None:
    """``for (j = y - 1; j <= y + 1; ++j)`` runs three times, whatever y is."""
    body = f"{NUMBER}add.s32 %i, %n, -1;\nadd.s32 %m, %n, 1;\n$L1:\n{FMA}\nadd.s32 %i, %i, 1;\n"
    assert turns(body + "setp.le.s32 %p, %i, %m;\n@%p bra $L1;\nret;") == 3


def test_an_unknown_loop_in_another_is_shorter() -> None:
    inner = (
        f"mov.u32 %j, 0;\n$L2:\n{FMA}\nadd.s32 %j, %j, 1;\nsetp.lt.s32 %q, %j, %m;\n@%q bra $L2;\n"
    )
    loaded = "ld.param.u64 %d, [k_param_1];\nld.u32 %m, [%d];\n"
    around = f"{NUMBER}{loaded}mov.u32 %i, 0;\n$L1:\n{inner}add.s32 %i, %i, 1;\n"
    nested = turns(around + "setp.lt.s32 %p, %i, %n;\n@%p bra $L1;\nret;")
    alone = turns(loaded + inner + "ret;")
    assert alone == UNKNOWN
    assert UNKNOWN < nested < UNKNOWN * alone


THREAD = "mov.u32 %t, %tid.x;\n"
STORE = "st.global.f32 [%a], %f;\n"


def gathered(guard: str) -> float:
    """Sectors of a store at random places, behind a condition."""
    body = f"ld.param.u64 %b, [k_param_1];\n{NUMBER}{THREAD}{guard}"
    index = "mul.wide.u32 %o, %t, 4;\nadd.s64 %g, %b, %o;\nld.global.u32 %x, [%g];\n"
    place = "mul.wide.u32 %y, %x, 4;\nadd.s64 %a, %b, %y;\n"
    return work(f"{body}{index}{place}{STORE}$E:\nret;").streamed_sectors


def test_threads_beyond_the_end_leave_whole_warps() -> None:
    """``if (t >= n) return;`` parts one warp of the grid, and data part every one."""
    guard = "setp.ge.s32 %p, %t, %n;\n@%p bra $E;\n"
    data = "mul.wide.u32 %z, %t, 4;\nadd.s64 %w, %b, %z;\nld.global.u32 %v, [%w];\n"
    chosen = f"{data}setp.ge.s32 %p, %v, %n;\n@%p bra $E;\n"
    assert gathered(guard) == gathered("")
    assert gathered(chosen) == gathered("") - 32 / 2 + 4


def test_neighbours_share_sectors_of_a_row_that_data_chooses() -> None:
    """``a[data * n + t]`` is between a row, 4 sectors, and places anywhere, 32."""
    body = f"ld.param.u64 %b, [k_param_1];\n{NUMBER}{THREAD}"
    body += "mul.wide.u32 %o, %t, 4;\nadd.s64 %g, %b, %o;\nld.global.u32 %x, [%g];\n"
    row = "mad.lo.s32 %r, %x, %n, %t;\nmul.wide.u32 %y, %r, 4;\nadd.s64 %a, %b, %y;\n"
    anywhere = "mul.wide.u32 %y, %x, 4;\nadd.s64 %a, %b, %y;\n"
    rows, places = (
        work(f"{body}{address}{STORE}ret;").streamed_sectors for address in (row, anywhere)
    )
    assert places == 4 + 32
    assert 4 + 4 < rows < places / 2


def test_additions_run_on_either_pipe_and_comparisons_on_one() -> None:
    """ptxas makes ``IMAD`` of additions where the integer pipe is busy."""
    adds = work("add.s32 %a, %a, 1;\n" * 8 + "ret;")
    asks = work("max.s32 %a, %a, 1;\n" * 8 + "ret;")
    assert adds.instructions == asks.instructions
    assert asks.pipes[PIPES.index("integer")] == 8
    assert adds.pipes[PIPES.index("integer")] == 0


def test_a_parameter_at_an_index_of_the_thread_is_read_word_by_word() -> None:
    """The constant bank that holds parameters gives one word at a time."""
    body = f"{THREAD}and.b32 %x, %t, 15;\nmul.wide.u32 %o, %x, 4;\nmov.b64 %q, k_param_0;\n"
    varying = work(f"{body}add.s64 %a, %q, %o;\nld.param.f32 %f, [%a];\nret;")
    assert varying.cached_lines == 32
    assert work("ld.param.f32 %f, [k_param_0];\nret;").cached_lines == 0


def test_an_unrolled_loop_and_its_remainder_run_as_often_as_the_loop() -> None:
    """``for (i = 0; i < 15; ++i) for (j = 0; j < i; ++j)``, the inner one unrolled by four."""
    main = "and.b32 %m, %i, -4;\nand.b32 %l, %i, 3;\nmov.u32 %j, 0;\n"
    unrolled = (
        f"$L2:\n{4 * (FMA + chr(10))}add.s32 %j, %j, 4;\nsetp.lt.s32 %q, %j, %m;\n@%q bra $L2;\n"
    )
    rest = (
        f"mov.u32 %k, 0;\n$L3:\n{FMA}\nadd.s32 %k, %k, 1;\nsetp.lt.s32 %q, %k, %l;\n@%q bra $L3;\n"
    )
    end = "add.s32 %i, %i, 1;\nsetp.lt.s32 %p, %i, 15;\n@%p bra $L1;\nret;"
    assert turns(f"mov.u32 %i, 0;\n$L1:\n{main}{unrolled}{rest}{end}") == 15 * 7


def test_lanes_that_count_from_their_own_number_count_alike() -> None:
    """``for (i = x - 1; i <= x + 1; ++i) p[n++] = …`` leaves all lanes with one n."""
    body = (
        "mov.u32 %x, %tid.x;\nadd.s32 %i, %x, -1;\nmov.u32 %n, 0;\n$L1:\nadd.s32 %i, %i, 1;\n"
        "add.s32 %n, %n, 1;\nsetp.{relation} %p, %i, {end};\n@%p bra $L1;\n"
        "mul.wide.u32 %r, %n, 4;\nret;"
    )

    def level(relation: str, end: str) -> str:
        flow = layers(program(body.format(relation=relation, end=end))).flow
        assert flow is not None
        dataflow = flow.dataflow("k")
        assert dataflow is not None
        (at,) = (n for n, one in enumerate(dataflow.body.instructions) if one.operation == "mul")
        return dataflow.uniformity("%n", at)

    assert level("le.s32", "%x") == "uniform"
    assert level("le.u32", "%x") == "lane-varying"  # Where x is 0, it wraps.
    assert level("le.s32", "5") == "lane-varying"


def _searched(copies: int, line: int = 7) -> str:
    """A search of some elements at most, written out: each test of line 7 may end it."""
    tests = "".join(
        f".loc 1 {line} 0\nld.global.f32 %f, [%d];\nsetp.gt.f32 %p, %f, 0f00000000;\n"
        f"@%p bra $END;\n.loc 1 8 0\n{FMA}\n"
        for _ in range(copies)
    )
    return f"ld.param.u64 %d, [k_param_0];\n{tests}$END:\nret;"


@pytest.mark.parametrize("copies", [6, 11])
def test_a_loop_that_is_written_out_is_told_to_the_rewriting_that_has_it(copies: int) -> None:
    given = layers(program(_searched(copies)))
    source = ["", "", "", "", "", "", "for (; kept[j] > a; --j)", "", ""]
    found = work_of(given, attributed(given), lines_of=lambda file: source)
    assert found is not None
    assert found.loops == (LoopTurns(float(copies), 1, 0),)
    assert found.heads == ("for(;kept[j]>a;--j)",)
    loop = (
        f"ld.param.u64 %d, [k_param_0];\n$L1:\n{FMA}\nld.global.f32 %f, [%d];\n"
        ".loc 1 7 0\nsetp.gt.f32 %p, %f, 0f00000000;\n@%p bra $L1;\nret;"
    )
    rewritten = layers(program(loop))
    told = LoopCounts("k", (), found.loops, found.heads)
    changed = work_of(rewritten, attributed(rewritten), told, lines_of=lambda file: source)
    assert changed is not None
    assert changed.pipes[PIPES.index("fp32")] == copies


def test_a_few_branches_of_a_line_are_no_loop() -> None:
    given = layers(program(_searched(5)))
    found = work_of(given, attributed(given), lines_of=lambda file: ["while (a && b)"] * 9)
    assert found is not None
    assert found.loops == ()
