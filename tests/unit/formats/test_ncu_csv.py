"""Nsight Compute's pages, as recorded and as other versions and locales write them."""

from __future__ import annotations

import csv
import io

import pytest

from lmemscope.errors import FormatError
from lmemscope.formats import ncu_csv
from lmemscope.model import ProfiledLaunch
from tests.support.profiles import EARLIER, PROGRAMS, page, profile

LOCAL = [f"l1tex__t_sectors_pipe_lsu_mem_local_op_{op}.sum" for op in ("ld", "st")]
RAW = (
    '"ID","Process ID","Process Name","Kernel Name","Block Size","Grid Size","Device","CC",'
    '"dram__bytes.sum","gpu__time_duration.sum","launch__name"\n'
    '"","","","","","","","","{bytes_unit}","{time_unit}",""\n'
    '"0","7","app","k(int *)","(64, 2, 1)","(3, 1, 1)","0","9.0","{bytes}","{time}","text"\n'
)


def one(**values: str) -> ProfiledLaunch:
    defaults = {"bytes_unit": "byte", "time_unit": "ns", "bytes": "1", "time": "1"}
    (found,) = ncu_csv.launches(RAW.format(**{**defaults, **values}))
    return found


def rows_of(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def text_of(rows: list[list[str]]) -> str:
    made = io.StringIO()
    csv.writer(made, quoting=csv.QUOTE_ALL).writerows(rows)
    return made.getvalue()


def with_columns(text: str, names: dict[str, str | None]) -> str:
    """A source page with columns renamed, or dropped."""
    rows, head = [], list[str]()
    for row in rows_of(text):
        if "Address" in row:
            head = row
        if len(row) == len(head):
            pairs = [(names.get(name, name), cell) for name, cell in zip(head, row, strict=True)]
            kept = [(name, cell) for name, cell in pairs if name is not None]
            rows.append([name if row is head else cell for name, cell in kept])
        else:
            rows.append(row)
    return text_of(rows)


@pytest.mark.parametrize("program", [name for name in PROGRAMS if name != "printing"])
def test_instructions_add_up_to_the_counters_of_their_kernel(program: str) -> None:
    """Two pages of ncu's, counted in different passes, say the same of local memory."""
    found = profile(program)
    assert len(found.sources) == len(found.launches)
    moved = 0.0
    for launch, source in zip(found.launches, found.sources, strict=True):
        own = sum(i.figures.get(ncu_csv.LOCAL_SECTORS, 0) for i in source.instructions)
        assert own == sum(launch.metrics[name] for name in LOCAL), launch.kernel
        moved += own
    assert moved > 0


def test_the_details_page_holds_the_same_counters_as_the_raw_page() -> None:
    detailed = ncu_csv.launches(page("histogram", "details"))
    raw = profile("histogram").launches
    assert [one.kernel for one in detailed] == [one.kernel for one in raw]
    for name in (*LOCAL, "launch__registers_per_thread", "smsp__warps_launched.sum"):
        assert [x.metrics[name] for x in detailed] == [x.metrics[name] for x in raw], name


def test_an_earlier_version_prints_the_same_counters_of_a_profile() -> None:
    now, before = profile("kernels"), profile("kernels", EARLIER)
    assert before.launches == now.launches
    for one, other in zip(before.sources, now.sources, strict=True):
        figures = [[(i.address, i.figures) for i in each.instructions] for each in (one, other)]
        assert figures[0] == figures[1], one.kernel


def test_rows_of_the_details_page_may_end_before_the_columns_of_rules() -> None:
    text = page("kernels", "details", EARLIER)
    head, first, *_ = rows_of(text)
    assert len(first) < len(head)
    detailed, raw = ncu_csv.launches(text), profile("kernels", EARLIER).launches
    assert [one.kernel for one in detailed] == [one.kernel for one in raw]
    for name in (*LOCAL, "smsp__warps_launched.sum"):
        assert [x.metrics[name] for x in detailed] == [x.metrics[name] for x in raw], name


def test_a_launch_has_its_place_and_its_size() -> None:
    launch = one()
    assert (launch.kernel, launch.process, launch.device, launch.capability) == (
        *("k(int *)", "7", "0", "9.0"),
    )
    assert launch.metrics["launch__block_dim_y"] == 2
    assert launch.metrics["launch__grid_dim_x"] == 3
    assert "launch__name" not in launch.metrics


@pytest.mark.parametrize(
    ("values", "bytes_", "seconds"),
    [
        ({"bytes": "1,234,567", "time": "1,500"}, 1234567, 1.5e-6),
        (
            {"bytes": "1.5", "bytes_unit": "Mbyte", "time": "2.5", "time_unit": "msecond"},
            1.5e6,
            2.5e-3,
        ),
        ({"bytes": "3", "bytes_unit": "Kbyte", "time": "7", "time_unit": "usecond"}, 3e3, 7e-6),
        ({"bytes": "1.234.567", "time": "2.500,5"}, 1234567, 2500.5e-9),
        ({"bytes": "1e+06", "time": "-1"}, 1e6, -1e-9),
    ],
)
def test_numbers_are_read_in_base_units_whatever_the_locale(
    values: dict[str, str], bytes_: float, seconds: float
) -> None:
    metrics = one(**values).metrics
    assert metrics["dram__bytes.sum"] == pytest.approx(bytes_)
    assert metrics["gpu__time_duration.sum"] == pytest.approx(seconds)


@pytest.mark.parametrize("cell", ["", "-", "n/a", "nan", "1 2", "9" * 70, "0x10"])
def test_a_cell_without_a_number_is_not_known(cell: str) -> None:
    assert "dram__bytes.sum" not in one(bytes=cell).metrics


def test_what_is_printed_around_a_page_is_no_part_of_it() -> None:
    around = "==PROF== Connected to process 7\nhello, world\n" + RAW.format(
        bytes_unit="byte", time_unit="ns", bytes="5", time="1"
    )
    (launch,) = ncu_csv.launches(around + "==PROF== Disconnected\nbye\n")
    assert launch.metrics["dram__bytes.sum"] == 5


def test_columns_of_earlier_versions_are_found_by_their_names() -> None:
    """2022 calls samples cycles, and has a column twice; without local accesses one is missing."""
    older = with_columns(
        page("running_mean", "sass"),
        {
            "# Samples": None,
            "Warp Stall Sampling (All Samples)": "Warp Stall Sampling (All Cycles)",
            "Divergent Branches": "Instructions Executed",
        },
    )
    now, then = ncu_csv.sources(page("running_mean", "sass")), ncu_csv.sources(older)
    renamed = "Warp Stall Sampling (All Cycles)"
    assert len(now) == len(then)
    for first, second in zip(now, then, strict=True):
        for one_, other in zip(first.instructions, second.instructions, strict=True):
            assert (one_.address, one_.text) == (other.address, other.text)
            assert one_.figures[ncu_csv.EXECUTED] == other.figures[ncu_csv.EXECUTED]
            assert one_.figures["# Samples"] == other.figures[renamed]


def test_pages_of_earlier_versions_say_the_capability_in_metrics() -> None:
    """They have no columns for the sizes of a launch and for its device."""
    gone = ("Block Size", "Grid Size", "Device", "CC")
    head, *body = rows_of(page("spill", "raw"))
    kept = [n for n, name in enumerate(head) if name not in gone]
    older = text_of([[row[n] for n in kept] for row in (head, *body)])
    for launch, now in zip(
        ncu_csv.launches(older), ncu_csv.launches(page("spill", "raw")), strict=True
    ):
        assert (launch.capability, launch.device) == ("9.0", None)
        assert launch.metrics["launch__block_size"] == now.metrics["launch__block_size"]
    (short,) = ncu_csv.launches('"ID","Kernel Name","m"\n"0","k","1"\n')
    assert short.capability is None


def test_launches_have_as_many_blocks_as_the_version_prints() -> None:
    """Once, or several times in a row; a kernel without source may have none."""
    raw, blocks = page("sectors", "raw"), ncu_csv.sources(page("sectors", "sass"))
    assert len(blocks) > len(ncu_csv.launches(raw)), "some are printed twice"
    found = profile("sectors")
    for launch, source in zip(found.launches, found.sources, strict=True):
        uses_local_memory = any(launch.metrics[name] for name in LOCAL)
        assert bool(source.instructions) == uses_local_memory, launch.kernel
        assert launch.kernel == source.kernel or not uses_local_memory


def test_only_the_metrics_that_are_wanted_are_kept() -> None:
    (launch, _) = ncu_csv.launches(page("spill", "raw"), LOCAL)
    of_head = {name for name in launch.metrics if name.startswith(("launch__", "device__"))}
    assert launch.metrics.keys() - of_head == set(LOCAL)
    assert len(of_head) < 10


def test_a_page_of_other_launches_is_left_out() -> None:
    _, fits = ncu_csv.profile([page("histogram", "raw")], [page("spill", "sass")])
    assert not fits


def test_instructions_alone_are_no_profile() -> None:
    with pytest.raises(FormatError, match="no page with the counters"):
        ncu_csv.profile([], [page("spill", "sass")])


@pytest.mark.parametrize(
    "text",
    ["", "\0\0\0", "a,b\n1,2\n", '"ID"\n"0"\n', '"unended', "==PROF== only\n", "Kernel Name,k\n"],
)
def test_what_is_no_page_is_refused(text: str) -> None:
    with pytest.raises(FormatError):
        ncu_csv.launches(text)
    with pytest.raises(FormatError):
        ncu_csv.sources(text)


@pytest.mark.parametrize("cut", [100, 5_000, 20_000])
def test_a_page_that_ends_early_gives_what_it_holds(cut: int) -> None:
    text = page("running_mean", "raw")[:cut]
    try:
        found = ncu_csv.launches(text)
    except FormatError:
        return
    assert len(found) <= 2


def test_a_head_with_a_column_twice_is_refused() -> None:
    with pytest.raises(FormatError, match="twice"):
        ncu_csv.launches('"ID","Kernel Name","Kernel Name"\n"0","a","b"\n')
