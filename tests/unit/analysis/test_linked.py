"""Linked programs: what is read from an image and from nvlink, and what follows from it."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from lmemscope.analysis.linked import Described, ObjectFunctions, describe, with_link_time_figures
from lmemscope.analysis.linked_depth import bounded, deepest_paths
from lmemscope.analysis.linked_graph import linked_graph
from lmemscope.analysis.linked_units import with_linked_stacks, with_run_time_stacks
from lmemscope.app.execute import run
from lmemscope.app.session import Session
from lmemscope.config.settings import Settings, from_flags
from lmemscope.discover.link_steps import link_steps
from lmemscope.discover.links import plan_links, split_binaries
from lmemscope.errors import CompileError, FormatError, ToolMissingError
from lmemscope.exporters.formats import render
from lmemscope.exporters.json import parse_report, render_json
from lmemscope.exporters.link_text import link_texts
from lmemscope.formats.build_ninja import parse_build_ninja
from lmemscope.formats.depths import parse_depth, split_depths
from lmemscope.formats.linked_image import read_image
from lmemscope.formats.nvlink_log import parse_nvlink_log
from lmemscope.gate.compare import compare
from lmemscope.linking import failed, link_program, objects_of, refusal
from lmemscope.lowering.link import InputCode, LinkedArtifacts
from lmemscope.model import (
    CompileOptions,
    Failure,
    Gap,
    Limit,
    Link,
    LinkGroup,
    LinkInput,
    LinkRequest,
    Policy,
    Report,
    Unit,
)
from lmemscope.routes import linked_unit
from lmemscope.tools import nvjitlink
from lmemscope.tools.toolchain import Toolchain
from tests.support import builders
from tests.support.builders import gate_as
from tests.support.linked_images import UNKNOWN, Function, image

KERNEL = Function(entry=True, stack=560)
PLAIN = {"k": KERNEL, "helper": Function(152, 44), "leaf": Function(408, 37)}
CALLS = (("k", "helper"), ("helper", "leaf"))
RECURSIVE = {
    "k": Function(16, entry=True, stack=UNKNOWN),
    "rec": Function(72),
    "rec2": Function(56),
}
ROUND = (("k", "rec"), ("rec", "rec2"), ("rec2", "rec"))
TABLE = {
    "k": Function(16, entry=True, stack=104),
    "f1": Function(0),
    "f2": Function(88),
    "other": Function(4096),
}


def described(data: bytes, depths: dict[str, int] | None = None, log: str = "") -> Described:
    """An image whose kernels ``a.cu`` defines, and ``b.cu`` the rest."""
    read = read_image(data)
    names = {one.name: one.is_entry for one in read.functions.values()}
    objects = [
        ObjectFunctions("a.cu", {name: 24 for name, entry in names.items() if entry}),
        ObjectFunctions("b.cu", {name: 24 for name, entry in names.items() if not entry}),
    ]
    return describe(read, parse_nvlink_log(log).kernels, objects, depths or {})


def linked(data: bytes, depths: dict[str, int] | None = None, **changes: object) -> Link:
    found = described(data, depths)
    link = Link(
        name="app",
        arch="sm_90",
        origin="--link",
        inputs=(LinkInput("a.cu", "source"), LinkInput("b.cu", "source")),
        kernels=found.kernels,
        functions=found.functions,
        indirect=found.indirect,
    )
    return replace(link, **changes)  # type: ignore[arg-type]


def reported(*links: Link) -> Report:
    return replace(builders.report_of(), links=links)


# --- the image --------------------------------------------------------------------------------


def test_calls_and_frames_are_read_from_the_image() -> None:
    read = read_image(image(PLAIN, CALLS))
    names = {index: one.name for index, one in read.functions.items()}
    assert [(names[a], names[b]) for a, b in read.calls.direct] == list(CALLS)
    kernel = next(one for one in read.functions.values() if one.is_entry)
    assert (kernel.name, kernel.min_stack, kernel.registers) == ("k", 560, 24)
    assert {one.name: one.stack_frame for one in read.functions.values()} == {
        "k": 0,
        "helper": 152,
        "leaf": 408,
    }


def test_a_pointer_reaches_functions_of_its_signature_whose_address_is_taken() -> None:
    data = image(
        TABLE,
        through=[("k", "#ii")],
        taken=[("f1", "#ii"), ("f2", "#ii"), ("other", "#il")],
        tables={"table": ["f1", "f2"]},
    )
    found = described(data)
    (kernel,), (call,) = found.kernels, found.indirect
    assert kernel.indirect == (call.caller,)
    assert (call.kind, call.signature) == ("pointer", "#ii")
    assert [(one.name, one.held_in) for one in call.candidates] == [
        ("f1", ("table",)),
        ("f2", ("table",)),
    ]
    assert [(step.name, step.by) for step in kernel.path.steps] == [
        ("k", "kernel"),
        ("f2", "indirect"),
    ]
    assert kernel.path.bytes == kernel.linked_stack == 104


def test_a_virtual_call_is_told_by_the_tables_that_hold_its_overriders() -> None:
    data = image(
        TABLE,
        through=[("k", "#ili")],
        taken=[("f1", "#ili"), ("f2", "#ili")],
        tables={"_ZTV2D1": ["f1"], "_ZTV2D2": ["f2"]},
    )
    (call,) = described(data).indirect
    assert call.kind == "virtual"
    assert call.candidates[1].held_in == ("vtable for D2",)


def test_a_function_that_holds_an_address_in_its_code_is_named() -> None:
    data = image(
        {**TABLE, "set": Function(entry=True, stack=0)},
        through=[("k", "#ii")],
        taken=[("f2", "#ii")],
        holds=[("set", "f2")],
    )
    (call,) = described(data).indirect
    assert call.candidates[0].held_in == ("set",)


def test_a_pointer_that_nobody_fits_is_told_and_counts_nothing() -> None:
    data = image({"k": Function(16, entry=True, stack=16)}, through=[("k", "#ilil")])
    found = described(data)
    (kernel,), (call,) = found.kernels, found.indirect
    assert call.kind == "unknown"
    assert kernel.path.bytes == 16
    (text,) = link_texts(reported(linked(data)))
    assert any("#ilil" in said and "no function" in said for said in text.remarks)


def test_a_kernel_whose_address_is_taken_is_nobodys_callee() -> None:
    functions = {"k": Function(entry=True, stack=0), "child": Function(120, entry=True, stack=120)}
    data = image(functions, through=[("k", "#v")], taken=[("child", "#v")])
    by_name = {one.function.name: one for one in described(data).kernels}
    assert by_name["k"].path.bytes == 0


def test_a_call_graph_with_symbols_that_there_are_not_is_refused() -> None:
    data = bytearray(image(PLAIN, CALLS))
    at = data.index((1).to_bytes(4, "little") + (2).to_bytes(4, "little"))
    data[at : at + 4] = (9999).to_bytes(4, "little")
    with pytest.raises(FormatError):
        read_image(bytes(data))


# --- paths ------------------------------------------------------------------------------------


def test_the_deepest_path_goes_through_other_inputs() -> None:
    (kernel,) = described(image(PLAIN, CALLS)).kernels
    assert [(step.name, step.stack_frame, step.input) for step in kernel.path.steps] == [
        ("k", 0, "a.cu"),
        ("helper", 152, "b.cu"),
        ("leaf", 408, "b.cu"),
    ]
    assert kernel.path.bytes == kernel.linked_stack == 560
    assert kernel.elsewhere == ("helper", "leaf")
    assert kernel.disagreements == ()


def test_of_two_definitions_the_first_is_taken_and_static_ones_are_nobodys() -> None:
    functions = {"k": KERNEL, "weak": Function(8), "static": Function(16, local=True)}
    read = read_image(image(functions, [("k", "weak"), ("k", "static")]))
    objects = [ObjectFunctions(name, dict.fromkeys(functions, 24)) for name in ("a.cu", "b.cu")]
    found = {one.name: one.input for one in describe(read, {}, objects, {}).functions}
    assert found == {"k": "a.cu", "weak": "a.cu", "static": None}


def test_sources_that_differ_are_shown_side_by_side() -> None:
    log = (
        "nvlink info    : Function properties for 'k':\n"
        "nvlink info    : used 40 registers, used 0 barriers, 640 stack, 0 bytes smem, "
        "536 bytes cmem[0], 0 bytes lmem\n"
    )
    (kernel,) = described(image(PLAIN, CALLS), log=log).kernels
    assert {found.quantity: dict(found.values) for found in kernel.disagreements} == {
        "linked_stack": {"call graph": 560, "image": 560, "nvlink": 640},
        "registers": {"image": 24, "nvlink": 40},
    }


def test_a_recursion_is_named_by_its_cycle_and_the_known_part_counts_once() -> None:
    (kernel,) = described(image(RECURSIVE, ROUND)).kernels
    assert (kernel.linked_stack, kernel.stack_known, kernel.bound) == (None, False, None)
    assert kernel.least_stack == 16 + 72 + 56
    (recursion,) = kernel.unknown
    assert [(call.caller, call.stack_frame) for call in recursion.cycle] == [
        ("rec", 72),
        ("rec2", 56),
    ]


def test_a_cycle_through_a_pointer_says_so() -> None:
    functions = {"k": Function(entry=True, stack=UNKNOWN), "eval": Function(64)}
    data = image(functions, through=[("k", "#i"), ("eval", "#i")], taken=[("eval", "#i")])
    (recursion,) = described(data).kernels[0].unknown
    assert [(call.caller, call.kind) for call in recursion.cycle] == [("eval", "indirect")]


@pytest.mark.parametrize(
    ("depths", "bound"),
    [
        ({"rec": 4, "rec2": 4}, 16 + 4 * 72 + 4 * 56),
        ({"rec": 12}, 16 + 12 * (72 + 56)),
        ({"rec2": 1}, 16 + 72 + 56 + 72),
        ({"rec": 1, "rec2": 7}, 16 + 72 + 56),
        ({"rec": 1 << 19, "rec2": 1 << 19}, None),
    ],
)
def test_stated_depths_bound_a_recursion(depths: dict[str, int], bound: int | None) -> None:
    (kernel,) = described(image(RECURSIVE, ROUND), depths).kernels
    assert kernel.bound == kernel.stack == bound
    assert kernel.unknown[0].bounded is (bound is not None)


def test_a_way_around_that_no_depth_breaks_has_no_bound() -> None:
    round_ = (*ROUND, ("rec2", "rec2"))
    (kernel,) = described(image(RECURSIVE, round_), {"rec": 3}).kernels
    assert kernel.bound is None
    (text,) = link_texts(reported(linked(image(RECURSIVE, round_), {"rec": 3})))
    assert any("leaves a cycle unbounded" in said for said in text.remarks)


def test_a_copy_that_ptxas_makes_has_the_name_of_the_function() -> None:
    functions = {"k": Function(entry=True, stack=UNKNOWN), "_Z4stepi$1": Function(32)}
    calls = [("k", "_Z4stepi$1"), ("_Z4stepi$1", "_Z4stepi$1")]
    (kernel,) = described(image(functions, calls), {"step": 3}).kernels
    assert kernel.bound == 96
    assert kernel.path.steps[-1].demangled == "step(int)"


def test_what_needs_no_stack_is_not_on_the_deepest_path() -> None:
    functions = {"k": Function(8, entry=True, stack=8), "slow_division": Function(0)}
    (kernel,) = described(image(functions, [("k", "slow_division")])).kernels
    assert [step.name for step in kernel.path.steps] == ["k"]


def test_a_depth_of_no_function_is_told() -> None:
    assert described(image(PLAIN, CALLS), {"nobody": 3}).unused_depths == ("nobody",)


def test_the_deepest_path_of_a_recursion_is_a_real_one() -> None:
    """Out of the middle of a cycle; not the sum of all frames."""
    functions = {
        "k": Function(entry=True, stack=UNKNOWN),
        "a": Function(10),
        "b": Function(20),
        "c": Function(40),
        "deep": Function(1000),
    }
    calls = [("k", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("b", "deep")]
    graph = linked_graph(read_image(image(functions, calls)))
    kernel = next(index for index, one in graph.functions.items() if one.is_entry)
    names = [graph.functions[index].name for index in deepest_paths(graph)[kernel]]
    assert names == ["k", "a", "b", "deep"]
    middle = next(index for index, one in graph.functions.items() if one.name == "b")
    # Twice b on the stack: a b c a b, and deep below.
    assert bounded(graph, kernel, {middle: 2}) == 10 + 20 + 40 + 10 + 20 + 1000


def test_a_large_recursion_takes_no_longer_than_a_small_one() -> None:
    many = {f"f{number}": Function(8) for number in range(60)}
    functions = {"k": Function(entry=True, stack=UNKNOWN), **many, "deep": Function(1000)}
    calls = [("k", "f0"), *((a, b) for a in many for b in many if a != b), ("f50", "deep")]
    (kernel,) = described(image(functions, calls), {"f0": 3}).kernels
    assert kernel.path.steps[-1].name == "deep"
    assert kernel.least_stack == 8 + 8 + 1000
    assert kernel.bound is None


def test_depths_are_read_or_refused() -> None:
    assert parse_depth("Tree::walk=12") == ("Tree::walk", 12)
    assert parse_depth("walk<unsigned int, 3>=12") == ("walk<unsigned int, 3>", 12)
    assert split_depths("f=1 g=2, h<int, 3>=4,ns::k=5") == ["f=1", "g=2", "h<int, 3>=4", "ns::k=5"]
    assert split_depths("f=1 many") == ["f=1", "many"]
    for wrong in ("f", "f=0", "=3", "f=-1", "f=1000000000", "3=3"):
        assert parse_depth(wrong) is None


# --- nvlink's words ---------------------------------------------------------------------------


LOG = """\
nvlink warning : Stack size for entry function 'k' cannot be statically determined
nvlink info    : 64 bytes gmem
nvlink info    : Function properties for 'k':
nvlink info    : used 44 registers, used 0 barriers, 0 stack, 12 bytes smem, 536 bytes cmem[0], \
0 bytes lmem
nvlink error   : Undefined reference to '_Z7nowheref' in 'm1.cubin'
nvlink error   : Multiple definition of 'gv' in 'd2.cubin', first defined in 'd1.cubin'
nvlink warning : SM Arch ('sm_80') not found in 'a.o'
nvlink fatal   : Input file 'a.cubin' arch does not match target 'sm_80'
nvlink fatal   : merge_elf failed
nvlink warning : something new
"""


def test_a_log_is_taken_apart() -> None:
    log = parse_nvlink_log(LOG)
    figures = log.kernels["k"]
    assert (figures.registers, figures.stack, figures.shared, figures.local) == (44, 0, 12, 0)
    assert figures.stack_known is False
    assert [(one.kind, one.symbol, one.file, one.first) for one in log.problems] == [
        ("undefined", "_Z7nowheref", "m1.cubin", ""),
        ("duplicate", "gv", "d2.cubin", "d1.cubin"),
        ("no-arch", "sm_80", "a.o", ""),
        ("wrong-arch", "", "a.cubin", ""),
        ("other", "", "", ""),
    ]
    assert log.warnings == ("something new",)


def test_registers_of_code_for_another_architecture_are_not_those_before_linking() -> None:
    code = InputCode("a.o", (image(PLAIN, CALLS),))
    for other, before in ((False, 24), (True, None)):
        made = LinkedArtifacts(
            (), (replace(code, is_other=other),), None, "", "nvlink", (), "sm_90"
        )
        (found,) = objects_of(made)
        assert found.registers["k"] == before
        assert found.registers.keys() == PLAIN.keys()


def refused(log: str, *code: InputCode) -> Failure:
    made = LinkedArtifacts((), code, None, log, "nvlink …", (), "sm_90")
    return refusal(made, parse_nvlink_log(log))


@pytest.mark.parametrize(
    ("line", "says", "helps"),
    [
        ("Undefined reference to '_Z7nowheref' in 'm.cu'", "m.cu uses nowhere", "-rdc=true"),
        ("Undefined reference to '__cudaCDP2LaunchDeviceV2' in 'm.cu'", "m.cu", "libcudadevrt"),
        (
            "Multiple definition of 'gv' in 'b.cu', first defined in 'a.cu'",
            "gv is defined by b.cu and a.cu",
            "static or inline",
        ),
        ("Input file 'a.o' arch does not match target 'sm_80'", "a.o", "--arch"),
        ("Input file 'a.o' newer than toolkit (135 vs 130)", "a.o", "same toolkit"),
    ],
)
def test_what_keeps_a_program_from_being_linked_is_said_with_a_way_out(
    line: str, says: str, helps: str
) -> None:
    failure = refused(f"nvlink info    : 0 bytes gmem\nnvlink error   : {line}\n")
    assert says in failure.message
    assert helps in (failure.hint or "")
    assert "gmem" not in (failure.log or "")


def test_an_input_that_was_compiled_whole_is_named() -> None:
    failure = refused(
        "nvlink error   : Undefined reference to 'f' in 'a.cu'\n",
        InputCode("whole.cubin", (), is_whole=True),
    )
    assert "whole.cubin" in (failure.hint or "")


def test_an_input_without_the_architecture_is_named_as_what_would_have_defined_it() -> None:
    failure = refused(
        "nvlink warning : SM Arch ('sm_90') not found in 'b.o'\n"
        "nvlink error   : Undefined reference to 'f' in 'a.cu'\n"
    )
    assert "a.cu uses f" in failure.message
    assert failure.hint is not None
    assert failure.hint.startswith("b.o holds no code for sm_90")


def test_an_input_in_which_nothing_can_be_read_is_named() -> None:
    failure = refused(
        "nvlink fatal   : unexpected archive format\n",
        InputCode("good.o", (image(PLAIN, CALLS),)),
        InputCode("bad.a", ()),
    )
    assert failure.message == "nvlink: unexpected archive format"
    assert (failure.hint or "").startswith("no device code can be read in bad.a:")


def test_link_time_figures_stand_beside_the_others() -> None:
    before = described(image(PLAIN, CALLS)).kernels
    after = read_image(image({"k": Function(528, 32, entry=True, stack=528)}))
    (kernel,) = with_link_time_figures(before, after)
    assert kernel.lto is not None
    assert (kernel.lto.registers, kernel.lto.linked_stack) == (32, 528)
    assert kernel.linked_stack == 560


def test_an_input_that_does_not_compile_is_named_without_its_log(tmp_path: Path) -> None:
    (tmp_path / "odd.cubin").write_bytes(b"no cubin")
    unit = Unit("odd.cubin", str(tmp_path / "odd.cubin"), "auto", "sm_90")
    link = link_program(LinkRequest("app", "sm_90", (unit,)))
    assert link.failure is not None
    assert link.failure.message.startswith("no program without odd.cubin: ")
    assert link.failure.log is None


def test_what_lto_lacks_is_named_with_its_wheel(tmp_path: Path) -> None:
    with pytest.raises(ToolMissingError) as caught:
        nvjitlink.library(Toolchain(str(tmp_path)))
    assert "nvidia-nvjitlink" in (caught.value.hint or "")


# --- what a build says ------------------------------------------------------------------------


NINJA = """\
build CMakeFiles/helpers.dir/b.cu.o: CUDA_COMPILER__helpers_ /src/b.cu || order
  FLAGS = -O3
build libhelpers.a: CUDA_STATIC_LIBRARY_LINKER__helpers_ CMakeFiles/helpers.dir/b.cu.o
build CMakeFiles/app.dir/a.cu.o: CUDA_COMPILER__app_ $
    /src/with$ space/a.cu || order
build CMakeFiles/app.dir/cmake_device_link.o: CUDA_EXECUTABLE_DEVICE_LINKER__app_ $
    CMakeFiles/app.dir/a.cu.o | libhelpers.a || libhelpers.a
  LINK_LIBRARIES = libhelpers.a other.o -lcudadevrt
build app: CUDA_EXECUTABLE_LINKER__app_ CMakeFiles/app.dir/a.cu.o
"""


def test_the_links_of_build_ninja(tmp_path: Path) -> None:
    (tmp_path / "build.ninja").write_text(NINJA)
    (step,), notes = link_steps(str(tmp_path))
    assert notes == ()
    assert step.name == "app"
    assert step.sources == (("/src/with space/a.cu", "app"), ("/src/b.cu", "helpers"))
    assert step.missing == (str(tmp_path / "other.o"),)
    (tmp_path / "other.o").write_bytes(b"\x7fELF")
    (step,), _ = link_steps(str(tmp_path))
    assert (step.binaries, step.missing) == ((str(tmp_path / "other.o"),), ())
    assert [edge.rule for edge in parse_build_ninja("build x\nrule r\n")] == []


def test_the_links_of_a_reply_of_cmake(tmp_path: Path) -> None:
    reply = tmp_path / ".cmake/api/v1/reply"
    reply.mkdir(parents=True)
    group = {"language": "CUDA", "sourceIndexes": [0]}
    targets = {
        "app": {"type": "EXECUTABLE", "dependencies": [{"id": "helpers"}]},
        "helpers": {"type": "STATIC_LIBRARY"},
    }
    for name, more in targets.items():
        sources = [{"path": f"{name}.cu"}, {"path": "host.cpp"}]
        target = {"id": name, "name": name, "sources": sources, "compileGroups": [group], **more}
        (reply / f"target-{name}.json").write_text(json.dumps(target))
    model = {
        "paths": {"source": "/src", "build": str(tmp_path)},
        "configurations": [{"targets": [{"jsonFile": f"target-{one}.json"} for one in targets]}],
    }
    (reply / "codemodel.json").write_text(json.dumps(model))
    index = {"objects": [{"kind": "codemodel", "jsonFile": "codemodel.json"}]}
    (reply / "index-1.json").write_text(json.dumps(index))
    (step,), _ = link_steps(str(tmp_path))
    assert (step.name, step.sources) == (
        "app",
        (("/src/app.cu", "app"), ("/src/helpers.cu", "helpers")),
    )
    (reply / "index-1.json").write_text("{")
    steps, notes = link_steps(str(tmp_path))
    assert steps == ()
    assert "cannot be read" in notes[0]


# --- what is linked ---------------------------------------------------------------------------


def test_a_group_is_linked_when_one_of_its_inputs_is_there(tmp_path: Path) -> None:
    for name in ("a.cu", "b.cu", "c.cu"):
        (tmp_path / name).write_text("")
    (tmp_path / "lib.a").write_bytes(b"!<arch>\n")
    (tmp_path / "text.o").write_text("no object")
    units = [Unit("a.cu", str(tmp_path / "a.cu"), "auto", arch) for arch in ("sm_80", "sm_90")]
    groups = (
        LinkGroup("app", ("a.cu", "[b].cu", "lib.a", "gone*.cu"), (("f", 3),)),
        LinkGroup("other", ("c.cu",)),
    )
    settings = Settings(root=str(tmp_path), link=groups)
    made: list[str] = []

    def make(found: object) -> list[Unit]:
        made.extend(one.file for one in found)  # type: ignore[attr-defined]
        return [Unit("b.cu", str(tmp_path / "b.cu"), "auto", arch) for arch in ("sm_80", "sm_90")]

    plan = plan_links(units, units, [], [], settings, make)
    assert [(one.name, one.arch, [unit.input for unit in one.units]) for one in plan.requests] == [
        ("app", "sm_80", ["a.cu", "b.cu"]),
        ("app", "sm_90", ["a.cu", "b.cu"]),
    ]
    assert [len(one.binaries) for one in plan.requests] == [1, 1]
    assert plan.requests[0].depths == (("f", 3),)
    assert plan.notes == (Gap("link", "group app: gone*.cu names no file", "evidence"),)
    assert all("-rdc=true" in unit.options.nvcc_args for unit in plan.units)
    lib, text = str(tmp_path / "lib.a"), str(tmp_path / "text.o")
    assert split_binaries([lib, text]) == ([lib], [text])


def test_a_group_of_no_file_at_all_is_told() -> None:
    unit = Unit("a.cu", "/a.cu", "auto", "sm_90")
    groups = (LinkGroup("gone", ("gone*.cu",)), LinkGroup("empty", ()))
    plan = plan_links([unit], [unit], [], [], Settings(root="/nowhere", link=groups), list)
    assert plan.requests == ()
    assert plan.notes == (
        Gap("link", "group gone: gone*.cu names no file", "evidence"),
        Gap("link", "group empty: it names no inputs", "evidence"),
    )


@pytest.mark.parametrize(
    ("inputs", "told"), [(("gone*.cu",), "gone*.cu names no file"), ((), "it names no inputs")]
)
def test_the_gate_does_not_pass_over_a_group_of_no_file(
    inputs: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    settings = Settings(root=str(tmp_path), link=(LinkGroup("app", inputs),))
    with ThreadPoolExecutor(1) as executor:
        report = run([str(tmp_path)], Session(settings, executor))
    verdict, _, missing = gate(replace(report, units=unit_report().units))
    assert verdict == "undecided"
    assert f"[link] group app: {told}" in missing


def test_groups_come_from_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = '[[link]]\nname = "app"\ninputs = ["a.cu", "*.a"]\ndepth = ["f=12", "ns::g=3"]\n'
    (tmp_path / "lmemscope.toml").write_text(table)
    settings = from_flags({}).settings
    group = LinkGroup("app", ("a.cu", "*.a"), (("f", 12), ("ns::g", 3)))
    assert settings.link == (group,)
    # Files are named anywhere, and searched for below the configuration alone.
    outside = replace(group, inputs=("a.cu", "../*.cu"))
    (tmp_path / "a.cu").write_text("")
    unit = Unit("a.cu", str(tmp_path / "a.cu"), "auto", "sm_90")
    plan = plan_links([unit], [unit], [], [], Settings(root=str(tmp_path), link=(outside,)), list)
    assert plan.notes == (Gap("link", "group app: ../*.cu names no file", "evidence"),)


def test_only_code_is_linked_and_unchanged_inputs_too() -> None:
    changed = Unit("a.cu", "/a.cu", "auto", "sm_90")
    others = [Unit("b.cu", "/b.cu", "auto", "sm_90"), Unit("k.py", "/k.py", "auto", "sm_90")]
    plan = plan_links([changed], [changed, *others], [], [], Settings(linked=True), list)
    (request,) = plan.requests
    assert [unit.input for unit in request.units] == ["a.cu", "b.cu"]
    assert plan.notes == ("k.py is no part of a linked program",)
    assert [unit.input for unit in plan.units] == ["a.cu"]


def test_options_of_separate_compilation_are_given_once() -> None:
    unit = Unit("a.cu", "/a.cu", "auto", "sm_90", CompileOptions(nvcc_args=("-rdc=true",)))
    once = linked_unit(unit)
    assert once.options.nvcc_args == ("-rdc=true",)
    assert linked_unit(once) == once
    cubin = Unit("a.cubin", "/a.cubin", "auto", "")
    assert linked_unit(cubin) == cubin


# --- reports and the gate ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["table", "markdown", "html"])
def test_formats_show_stack_path_and_what_makes_it_unknown(name: str) -> None:
    report = reported(
        linked(image(PLAIN, CALLS)),
        linked(image(RECURSIVE, ROUND), name="second"),
        failed(LinkRequest("third", "sm_90", ()), CompileError("link", "no image", hint="do so")),
    )
    text = render(report, name)
    for said in ("560", "leaf 408", "at least 144", "rec2 56 B", "no image", "do so"):
        assert said in text, said
    assert render(builders.report_of(), name).count("Linked") == 0


def test_json_holds_links_and_gives_them_back() -> None:
    report = reported(linked(image(RECURSIVE, ROUND), {"rec": 3}))
    assert parse_report(render_json(report)).links == report.links


def unit_report(**changes: object) -> Report:
    """A unit whose kernel `k` is linked."""
    report = builders.report_of(builders.facts("k", **changes))
    (unit,) = report.units
    return replace(report, units=(replace(unit, input="a.cu", arch="sm_90"),))


def test_a_kernel_of_a_unit_has_the_deepest_stack_of_its_programs() -> None:
    report = unit_report(
        ptxas=builders.facts().ptxas or builders.PtxasFacts(24, 0, 0, 0, None, 0, 0)
    )
    shallow = {"k": Function(entry=True, stack=8)}
    links = [linked(image(PLAIN, CALLS)), linked(image(shallow))]
    (unit,) = with_linked_stacks(report.units, links)
    assert unit.kernels[0].facts.ptxas is not None
    assert unit.kernels[0].facts.ptxas.linked_stack == 560


def gate(report: Report, *limits: Limit) -> tuple[str, list[str], list[str]]:
    result = compare(report, Policy(limits), None)
    return (
        result.verdict,
        [f"{one.kernel}: {one.found}" for one in result.failures],
        [one.text for one in result.missing],
    )


def test_the_gate_checks_the_linked_stack() -> None:
    report = replace(unit_report(), links=(linked(image(PLAIN, CALLS)),))
    assert gate(report, Limit(max_stack=560))[0] == "passed"
    verdict, failures, _ = gate(report, Limit(max_stack=559))
    assert (verdict, failures) == ("failed", ["k: stack 560"])


def test_the_gate_names_what_makes_a_stack_unknown_and_takes_a_stated_bound() -> None:
    data = image(RECURSIVE, ROUND)
    report = replace(unit_report(), links=(linked(data),))
    _, failures, _ = gate(report, Limit(max_stack=4096))
    assert failures == ["k: stack unknown (recursion rec → rec2 → rec)"]
    bound = replace(report, links=(linked(data, {"rec": 2}),))
    assert gate(bound, Limit(max_stack=4096))[0] == "passed"


def test_the_gate_checks_kernels_of_archives_too() -> None:
    report = replace(builders.report_of(builders.facts()), links=(linked(image(PLAIN, CALLS)),))
    assert gate(report, Limit(kernel="k", max_stack=1))[1] == ["k: stack 560"]
    alone = replace(report, units=())
    limits = (Limit(max_stack=1),)
    assert gate(alone, *limits)[::2] == ("failed", [])
    assert 'message="expected max-stack 1 for *, found stack 560"' in gate_as(
        "junit", compare(alone, Policy(limits), None), alone
    )


def test_a_program_that_cannot_be_linked_is_missing_evidence() -> None:
    broken = failed(LinkRequest("app", "sm_90", ()), CompileError("link", "no image"))
    verdict, _, missing = gate(replace(unit_report(), links=(broken,)))
    assert (verdict, missing) == ("undecided", ["[link] app: no image"])


def test_a_link_is_the_evidence_that_an_external_call_lacks() -> None:
    calls = builders.CallFacts(("helper",), (), False, external=("helper",))
    report = unit_report(calls=calls)
    assert gate(report)[0] == "undecided"
    assert gate(replace(report, links=(linked(image(PLAIN, CALLS)),)))[0] == "passed"


def test_alloca_makes_more_of_a_stack_than_nvlink_counts() -> None:
    report = unit_report(causes=(builders.CauseShare.of("alloca", None, 0, builders.NOTHING),))
    (link,) = with_run_time_stacks([linked(image(PLAIN, CALLS))], report.units)
    assert link.kernels[0].run_time_stack == ("k",)
    assert link.kernels[0].stack is None
    (text,) = link_texts(reported(link))
    assert text.kernels[0].cells[3] == "560 and more"
