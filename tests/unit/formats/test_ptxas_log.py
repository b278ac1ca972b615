from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.formats.ptxas_log import parse_ptxas_log
from tests.support.program import DATA

RECORDED = sorted(path.name for path in (DATA / "ptxas_log").iterdir() if path.is_dir())


def recorded(version: str, case: str) -> str:
    return (DATA / "ptxas_log" / version / f"{case}.log").read_text()


def release(version: str) -> tuple[int, int]:
    major, minor, _ = version.split(".")
    return int(major), int(minor)


def test_many_toolkits_are_recorded() -> None:
    assert len(RECORDED) >= 6
    assert release(RECORDED[0]) <= (11, 8)
    assert release(RECORDED[-1]) >= (13, 5)


@pytest.mark.parametrize("version", RECORDED)
def test_no_line_of_any_version_is_unknown(version: str) -> None:
    for path in sorted((DATA / "ptxas_log" / version).glob("*.log")):
        assert parse_ptxas_log(path.read_text()).unknown_lines == (), path


@pytest.mark.parametrize("version", RECORDED)
def test_figures_are_complete(version: str) -> None:
    log = parse_ptxas_log(recorded(version, "plain"))
    assert log.arch == "sm_80"
    spilling = log.entry("spilling")
    assert spilling is not None
    assert spilling.registers == 32
    assert spilling.stack_frame == 552
    assert spilling.spill_stores is not None
    assert spilling.spill_loads is not None
    assert spilling.spill_loads > spilling.spill_stores > 1000
    sharing = log.entry("sharing")
    assert sharing is not None
    assert (sharing.shared, sharing.stack_frame) == (1024, 0)
    # What a version does not print is not known; it is not 0.
    assert (sharing.barriers is None) == (release(version) < (12, 6))
    assert (spilling.cumulative_stack is None) == (release(version) < (12, 4))


@pytest.mark.parametrize("version", RECORDED)
def test_callees_are_kept_with_their_kernel(version: str) -> None:
    log = parse_ptxas_log(recorded(version, "plain"))
    (heavy,) = log.callees("calling")
    assert heavy.name == "_Z5heavyPKdi"
    assert heavy.kind == "function"
    assert heavy.spill_stores is not None
    assert heavy.spill_stores > 1000
    assert heavy.registers is None
    calling = log.entry("calling")
    assert calling is not None
    assert calling.spill_stores is not None
    assert calling.spill_stores < heavy.spill_stores


@pytest.mark.parametrize("version", RECORDED)
def test_the_unknown_stack_of_recursion_is_taken_where_it_is_said(version: str) -> None:
    log = parse_ptxas_log(recorded(version, "plain"))
    says_so = release(version) <= (12, 5) or release(version) >= (13, 5)
    assert log.stack_unknown == ({"recursive"} if says_so else frozenset())


@pytest.mark.parametrize("version", RECORDED)
def test_caps_are_read(version: str) -> None:
    log = parse_ptxas_log(recorded(version, "below-lower-bound"))
    assert log.cap_adjusted == (8, 24)
    capped = parse_ptxas_log(recorded(version, "capped"))
    says_so = release(version) >= (12, 4)
    assert ("indexed" in capped.capped_by_option) == says_so
    assert capped.capped_by_option.get("indexed", 40) == 40


@pytest.mark.parametrize("version", RECORDED)
def test_errors_are_messages_with_their_place(version: str) -> None:
    (message,) = parse_ptxas_log(recorded(version, "syntax-error")).messages
    assert "line 219" in message
    assert "retrun" in message


@pytest.mark.parametrize("version", [v for v in RECORDED if release(v) >= (13, 0)])
def test_nvlink_reports_alike(version: str) -> None:
    log = parse_ptxas_log(recorded(version, "linked"))
    calling = log.entry("calling")
    assert calling is not None
    assert (calling.registers, calling.linked_stack, calling.local) == (32, 904, 0)
    assert calling.stack_frame is None, "nvlink's stack is that of the deepest call path"
    assert log.stack_unknown == {"recursive"}
    relocatable = parse_ptxas_log(recorded(version, "relocatable"))
    heavy = relocatable.entry("_Z5heavyPKdi")
    assert heavy is not None
    assert heavy.entry is None


def test_nvrtcs_variant_of_the_stack_line() -> None:
    log = parse_ptxas_log(
        "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
        "ptxas info    : Function properties for k\n"
        "ptxas         .     128 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
        "ptxas info    : Used 40 registers, used 0 barriers, 128 bytes cumulative stack size\n\0"
    )
    entry = log.entry("k")
    assert entry is not None
    assert (entry.stack_frame, entry.spill_stores, entry.spill_loads) == (128, 4, 8)
    assert entry.cumulative_stack == 128


def test_shapes_of_very_old_toolkits() -> None:
    log = parse_ptxas_log(
        "ptxas info    : Compiling entry function '_Z1k' for 'sm_13'\n"
        "ptxas info    : Used 31 registers, 132+4 bytes lmem, 40+4 bytes smem, 8 bytes cmem[1]\n"
    )
    entry = log.entry("_Z1k")
    assert entry is not None
    assert (entry.registers, entry.local, entry.shared) == (31, 136, 44)
    assert entry.stack_frame is None


def test_the_dummy_entry_and_clones() -> None:
    log = parse_ptxas_log(
        "ptxas info    : Overriding maximum register limit 256 for '__cuda_dummy_entry__' with  32 "
        "of maxrregcount option\n"
        "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
        "ptxas info    : Function properties for k\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 8 registers\n"
        "ptxas info    : Compile time = 1.0 ms\n"
        "ptxas info    : Function properties for leaf$1\n"
        "    16 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
    )
    assert log.capped_by_option == {}
    assert [f.name for f in log.callees("k")] == ["leaf$1"]


def test_an_unknown_line_is_kept_and_costs_nothing_else() -> None:
    log = parse_ptxas_log(
        "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
        "ptxas info    : Function properties for k\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Juggled 7 clubs\n"
        "ptxas info    : Used 8 registers\n"
    )
    assert log.unknown_lines == ("ptxas info    : Juggled 7 clubs",)
    entry = log.entry("k")
    assert entry is not None
    assert entry.registers == 8


def test_an_unknown_part_of_a_known_line_is_kept_too() -> None:
    """Every other figure of the line is read; a part that is known to be of no use is none."""
    lines = (
        "ptxas info    : Function properties for k\n"
        "ptxas info    : Used 8 registers, used 1 barriers, 360 bytes cmem[0], 2 textures\n"
    )
    assert parse_ptxas_log(lines).unknown_lines == ()
    log = parse_ptxas_log(lines.replace("2 textures", "3 shiny units"))
    assert len(log.unknown_lines) == 1
    assert log.unknown_lines[0].endswith("3 shiny units")
    assert (log.functions[0].registers, log.functions[0].barriers) == (8, 1)


def test_compiler_diagnostics_are_messages_not_unknown_lines() -> None:
    log = parse_ptxas_log('a.cu(3): warning #177-D: variable "x" was declared but never used\n')
    assert log.unknown_lines == ()
    assert len(log.messages) == 1


def test_fixtures_and_script_belong_together() -> None:
    script = Path(DATA / "ptxas_log" / "record.py").read_text()
    for version in RECORDED:
        assert f'"{version}"' in script
