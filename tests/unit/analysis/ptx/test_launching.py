"""Device-side launches in PTX, and what of the parent's own memory they are given."""

from __future__ import annotations

import textwrap

import pytest

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.handed import Pointed, Pointers
from lmemscope.analysis.ptx.launching import LaunchSite, launch_sites
from lmemscope.formats.ptx import PtxModule

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
DEPOT = """.local .align 8 .b8 __local_depot0[64];
mov.u64 %SPL, __local_depot0;
cvta.local.u64 %SP, %SPL;
"""


def launch(
    child: str = "child",
    grid: str = "4",
    block: str = "64",
    stream: str = "0",
    stores: str = "",
    buffer: str = "%rb",
) -> str:
    """A launch as nvcc 13.5 writes it."""
    return f"""mov.u64 %rk, {child};
{{
.param .b64 param0;
st.param.b64 [param0+0], %rk;
.param .align 4 .b8 param1[12];
st.param.b32 [param1+0], {grid};
st.param.b32 [param1+4], 1;
st.param.b32 [param1+8], 1;
.param .align 4 .b8 param2[12];
st.param.v2.b32 [param2+0], {{{block}, 1}};
st.param.b32 [param2+8], 1;
.param .b32 param3;
st.param.b32 [param3+0], 128;
.param .b64 retval0;
call.uni (retval0), __cudaCDP2GetParameterBufferV2, (param0, param1, param2, param3);
ld.param.b64 {buffer}, [retval0+0];
}}
{stores}
{{
.param .b64 param0;
st.param.b64 [param0+0], {buffer};
.param .b64 param1;
st.param.b64 [param1+0], {stream};
.param .b32 retval0;
call.uni (retval0), __cudaCDP2LaunchDeviceV2, (param0, param1);
ld.param.b32 %r9, [retval0+0];
}}
"""


def module(**functions: str) -> ModuleFlow:
    """Functions by name; ``helper`` and what begins so is no kernel, and has one parameter.

    A body that stores a result makes it one that returns an address.
    """
    texts = []
    for name, body in functions.items():
        kind = ".func" if name.startswith("helper") else ".visible .entry"
        if "[func_retval0" in body:
            kind += " (.param .b64 func_retval0)"
        text = textwrap.indent(f"{body}ret;", "  ")
        texts.append(f"{kind} {name}(.param .b64 {name}_param_0)\n{{\n{text}\n}}\n")
    return ModuleFlow(PtxModule((HEAD + "\n".join(texts)).encode()))


def only(body: str, **functions: str) -> LaunchSite:
    (site,) = launch_sites(module(parent=body, **functions), "parent")
    return site


def pointed(flow: ModuleFlow, kernel: str = "parent") -> list[Pointed]:
    pointers = Pointers(flow, kernel)
    return sorted(
        found
        for site in launch_sites(flow, kernel)
        for argument in site.arguments
        if argument.is_pointer
        for found in pointers.of(site.function, argument.index, argument.value)
    )


def passing(register: str, callee: str = "helper") -> str:
    return f"""{{
.param .b64 param0;
st.param.b64 [param0+0], {register};
call.uni {callee}, (param0);
}}
"""


def test_a_launch_has_its_child_and_its_constants() -> None:
    site = only(launch())
    assert (site.children, site.is_complete) == (("child",), True)
    assert (site.grid, site.block) == ((4, 1, 1), (64, 1, 1))
    assert (site.shared, site.stream) == (128, "default")


@pytest.mark.parametrize(
    ("given", "stream"),
    [("0", "default"), ("3", "tail"), ("4", "fire-and-forget"), ("%rs", "named")],
)
def test_the_kind_of_stream_is_told_by_its_constant(given: str, stream: str) -> None:
    assert only(f"ld.local.u64 %rs, [%x];\n{launch(stream=given)}").stream == stream


def test_what_is_computed_is_no_constant() -> None:
    body = "mov.u32 %r1, 32;\nmov.u32 %r2, %ctaid.x;\nadd.s32 %r3, %r2, 1;\n"
    site = only(body + launch(grid="%r3", block="%r1"))
    assert (site.grid, site.block) == ((None, 1, 1), (32, 1, 1))


@pytest.mark.parametrize(
    ("variable", "block"),
    [
        # What the initialiser leaves out is 0.
        ("parent$3", (256, 1, 1)),
        # The program's own may have been written to, by the host too.
        ("sizes", (None, None, None)),
        ("sizes$3", (None, None, None)),
    ],
)
def test_a_literal_that_the_compiler_keeps_in_memory_is_a_constant(
    variable: str, block: tuple[int | None, ...]
) -> None:
    kept = f".global .align 4 .b8 {variable}[12] = {{0, 1, 0, 0, 1, 0, 0, 0, 1}};\n"
    loads = f"ld.global.v2.u32 {{%r1, %r2}}, [{variable}];\nld.global.u32 %r3, [{variable}+8];\n"
    made = (
        launch(block="%r1")
        .replace("%r1, 1}", "%r1, %r2}")
        .replace("[param2+8], 1", "[param2+8], %r3")
    )
    text = f".visible .entry parent()\n{{\n{loads}{made}ret;\n}}\n"
    (site,) = launch_sites(ModuleFlow(PtxModule((HEAD + kept + text).encode())), "parent")
    assert site.block == block


def test_a_kernel_that_is_chosen_may_be_either() -> None:
    body = "mov.u64 %ra, one;\nmov.u64 %rc, two;\nselp.b64 %rd, %ra, %rc, %p1;\n"
    site = only(body + launch("%rd"))
    assert (site.children, site.is_complete) == (("one", "two"), True)


def test_a_kernel_that_a_parent_is_given_is_not_known() -> None:
    site = only(f"ld.param.u64 %rd, [parent_param_0];\n{launch('%rd')}")
    assert (site.children, site.is_complete) == ((), False)


def test_what_a_function_launches_depends_on_its_callers() -> None:
    flow = module(
        parent="mov.u64 %ra, child;\n" + passing("%ra"),
        helper="ld.param.u64 %rd, [helper_param_0];\n" + launch("%rd"),
    )
    (site,) = launch_sites(flow, "parent")
    assert (site.function, site.children, site.is_complete) == ("helper", ("child",), True)


def test_the_older_form_is_read_too() -> None:
    site = only("""{
st.param.b64 [param0+0], 8;
st.param.b64 [param1+0], 16;
call.uni (retval0), __cudaCDP2GetParameterBuffer, (param0, param1);
ld.param.b64 %rb, [retval0+0];
}
st.u64 [%rb+8], %rd1;
mov.u64 %rk, child;
{
st.param.b64 [param0+0], %rk;
st.param.b64 [param1+0], %rb;
st.param.b32 [param2+0], 2;
st.param.b32 [param2+4], 3;
st.param.b32 [param2+8], 1;
st.param.b32 [param3+0], 32;
st.param.b32 [param3+4], 1;
st.param.b32 [param3+8], 1;
st.param.b32 [param4+0], 0;
st.param.b64 [param5+0], 0;
call.uni (retval0), __cudaCDP2LaunchDevice, (param0, param1, param2, param3, param4, param5);
}
""")
    assert (site.children, site.grid, site.block) == (("child",), (2, 3, 1), (32, 1, 1))
    assert [(one.offset, one.value) for one in site.arguments] == [(8, "%rd1")]


def test_an_argument_has_its_place_however_its_address_is_made() -> None:
    stores = "add.s64 %rc, %rb, 8;\nst.v2.u64 [%rc+8], {%rd1, %rd2};\nst.u32 [%rb], %r1;"
    found = [
        (one.offset, one.value, one.is_pointer) for one in only(launch(stores=stores)).arguments
    ]
    assert found == [(16, "%rd1", True), (24, "%rd2", True), (0, "%r1", False)]


def test_two_launches_keep_their_arguments_apart() -> None:
    first = launch(stores="st.u64 [%rb], %rd1;")
    second = launch("other", stores="st.u64 [%rx], %rd2;", buffer="%rx")
    found = list(launch_sites(module(parent=first + second), "parent"))
    assert [[one.value for one in site.arguments] for site in found] == [["%rd1"], ["%rd2"]]


def test_the_address_of_a_local_variable_is_found() -> None:
    body = f"{DEPOT}add.u64 %rd4, %SP, 16;\n{launch(stores='st.u64 [%rb], %rd4;')}"
    assert pointed(module(parent=body)) == [Pointed("local", "parent", 16)]


def test_an_element_of_a_local_array_is_found() -> None:
    body = f"{DEPOT}add.u64 %rd4, %SP, 0;\nmul.wide.s32 %rd5, %r1, 4;\nadd.s64 %rd6, %rd4, %rd5;\n"
    assert pointed(module(parent=body + launch(stores="st.u64 [%rb], %rd6;")))


@pytest.mark.parametrize(
    "made",
    [
        "ld.param.u64 %rd4, [parent_param_0];",
        # A value that is kept in local memory is no address of it.
        "add.u64 %rd5, %SPL, 0;\nst.local.u64 [%rd5], %rd9;\nld.local.u64 %rd4, [%rd5];",
        # Nor is the distance of two addresses.
        "add.u64 %rd5, %SP, 0;\nadd.u64 %rd6, %SP, 32;\nsub.s64 %rd4, %rd6, %rd5;",
    ],
)
def test_what_is_no_local_address_is_none(made: str) -> None:
    assert pointed(module(parent=DEPOT + made + launch(stores="st.u64 [%rb], %rd4;"))) == []


def test_half_an_address_is_no_argument_that_points() -> None:
    body = f"{DEPOT}add.u64 %rd4, %SP, 0;\ncvt.u32.u64 %r1, %rd4;\n"
    assert pointed(module(parent=body + launch(stores="st.u32 [%rb], %r1;"))) == []


def test_an_address_in_a_structure_on_the_stack_is_found_at_its_place() -> None:
    kept = "add.u64 %rd4, %SP, 0;\nadd.u64 %rd5, %SPL, 32;\nst.local.u64 [%rd5+8], %rd4;\n"
    for place, expected in ((8, [Pointed("local", "parent", 0)]), (0, [])):
        body = f"{DEPOT}{kept}ld.local.u64 %rd6, [%rd5+{place}];\n"
        assert pointed(module(parent=body + launch(stores="st.u64 [%rb], %rd6;"))) == expected


def test_an_address_is_followed_through_a_call() -> None:
    flow = module(
        parent=f"{DEPOT}add.u64 %rd4, %SP, 16;\n{passing('%rd4')}",
        other="ld.param.u64 %rd4, [other_param_0];\n" + passing("%rd4"),
        helper="ld.param.u64 %rd1, [helper_param_0];\n" + launch(stores="st.u64 [%rb], %rd1;"),
    )
    assert pointed(flow) == [Pointed("local", "parent", 16, ("helper",))]
    assert pointed(flow, "other") == []


def test_an_address_is_followed_through_a_structure_that_is_passed_by_address() -> None:
    body = "add.u64 %rd4, %SP, 0;\nadd.u64 %rd5, %SP, 32;\nst.u64 [%rd5+8], %rd4;\n"
    flow = module(
        parent=DEPOT + body + passing("%rd5"),
        helper="ld.param.u64 %rd1, [helper_param_0];\nld.u64 %rd2, [%rd1+8];\n"
        + launch(stores="st.u64 [%rb], %rd2;"),
    )
    assert pointed(flow) == [Pointed("local", "parent", 0, ("helper",))]


def returning(register: str, result: str, name: str) -> str:
    """A call, in a scope of its own as nvcc writes it, of a function that returns an address."""
    return f"""{{
.param .b64 param0;
st.param.b64 [param0+0], {register};
.param .b64 retval0;
call.uni (retval0), {name}, (param0);
ld.param.b64 {result}, [retval0+0];
}}
"""


SAME = "ld.param.u64 %rd1, [{0}_param_0];\nst.param.b64 [func_retval0+0], %rd1;\n"
"""A function that returns what it is given."""


def test_an_address_that_a_function_returns_is_found_for_the_call_that_gave_it() -> None:
    local = f"{DEPOT}add.u64 %rd4, %SP, 16;\nld.param.u64 %rd5, [parent_param_0];\n"
    both = returning("%rd4", "%rd6", "helper") + returning("%rd5", "%rd7", "helper")
    for stored, expected in (
        ("%rd6", [Pointed("local", "parent", 16, ("helper",))]),
        ("%rd7", []),
    ):
        body = local + both + launch(stores=f"st.u64 [%rb], {stored};")
        flow = module(parent=body, helper=SAME.format("helper"))
        assert pointed(flow) == expected


def test_an_address_is_found_through_functions_that_return_what_others_do() -> None:
    outer = (
        "ld.param.u64 %rd1, [helper1_param_0];\n"
        + returning("%rd1", "%rd2", "helper2")
        + "st.param.b64 [func_retval0+0], %rd2;\n"
    )
    body = f"{DEPOT}add.u64 %rd4, %SP, 16;\n{returning('%rd4', '%rd6', 'helper1')}"
    flow = module(
        parent=body + launch(stores="st.u64 [%rb], %rd6;"),
        helper1=outer,
        helper2=SAME.format("helper2"),
    )
    assert pointed(flow) == [Pointed("local", "parent", 16, ("helper1", "helper2"))]


@pytest.mark.parametrize(("given", "is_local"), [("%rd4", True), ("%rd9", False)])
def test_an_address_in_a_structure_whose_address_is_returned_is_found(
    given: str, is_local: bool
) -> None:
    kept = f"add.u64 %rd4, %SP, 0;\nadd.u64 %rd5, %SP, 32;\nst.u64 [%rd5+8], {given};\n"
    body = kept + returning("%rd5", "%rd6", "helper") + "ld.u64 %rd7, [%rd6+8];\n"
    flow = module(
        parent=DEPOT + body + launch(stores="st.u64 [%rb], %rd7;"), helper=SAME.format("helper")
    )
    assert bool(pointed(flow)) == is_local


def test_what_a_function_makes_of_an_address_is_no_address() -> None:
    loads = "ld.param.u64 %rd1, [helper_param_0];\nld.u64 %rd2, [%rd1];\n"
    body = f"{DEPOT}add.u64 %rd4, %SP, 16;\n{returning('%rd4', '%rd6', 'helper')}"
    flow = module(
        parent=body + launch(stores="st.u64 [%rb], %rd6;"),
        helper=loads + "st.param.b64 [func_retval0+0], %rd2;\n",
    )
    assert pointed(flow) == []


def test_functions_that_return_what_they_return_end() -> None:
    def again(name: str, other: str) -> str:
        first, second = returning("%rd1", "%rd2", other), returning("%rd2", "%rd3", other)
        chosen = "selp.b64 %rd4, %rd3, %rd1, %p1;\nst.param.b64 [func_retval0+0], %rd4;\n"
        return f"ld.param.u64 %rd1, [{name}_param_0];\n{first}{second}{chosen}"

    body = f"{DEPOT}add.u64 %rd4, %SP, 0;\n{returning('%rd4', '%rd6', 'helper1')}"
    flow = module(
        parent=body + launch(stores="st.u64 [%rb], %rd6;"),
        helper1=again("helper1", "helper2"),
        helper2=again("helper2", "helper1"),
    )
    assert {one.offset for one in pointed(flow)} == {0}


def test_an_address_of_shared_memory_is_found() -> None:
    body = "mov.u64 %rd1, tile;\ncvta.shared.u64 %rd2, %rd1;\n"
    flow = module(parent=body + launch(stores="st.u64 [%rb], %rd2;"))
    assert pointed(flow) == [Pointed("shared", "parent", 0)]


def test_functions_that_call_each_other_end() -> None:
    passed = "ld.param.u64 %rd1, [{}_param_0];\n"
    flow = module(
        parent=f"{DEPOT}add.u64 %rd4, %SP, 0;\n{passing('%rd4', 'helper1')}",
        helper1=passed.format("helper1") + passing("%rd1", "helper2"),
        helper2=passed.format("helper2")
        + passing("%rd1", "helper1")
        + launch(stores="st.u64 [%rb], %rd1;"),
    )
    assert [one.function for one in pointed(flow)] == ["parent"]


def test_values_that_are_made_of_each_other_again_and_again_take_no_time() -> None:
    steps = "".join(f"add.s64 %rd{n + 1}, %rd{n}, %rd{n};\n" for n in range(10, 100))
    apart = "".join(f"sub.s64 %rd{n + 1}, %rd{n}, %rd{n};\n" for n in range(100, 200))
    body = f"{DEPOT}add.u64 %rd10, %SP, 0;\n{steps}{apart}"
    assert pointed(module(parent=body + launch(stores="st.u64 [%rb], %rd100;")))
    assert pointed(module(parent=body + launch(stores="st.u64 [%rb], %rd200;"))) == []


def test_an_address_that_a_loop_moves_on_is_still_one() -> None:
    loop = "$L: mov.u64 %rd5, %rd4;\nadd.s64 %rd4, %rd5, 4;\n@%p1 bra $L;\n"
    body = f"{DEPOT}add.u64 %rd4, %SP, 0;\n{loop}"
    assert pointed(module(parent=body + launch(stores="st.u64 [%rb], %rd5;")))
