"""Which PTX has local memory for what is printed alone: no variable's name is wanted there."""

from __future__ import annotations

import pytest

from lmemscope.formats.ptx_printf import only_prints

_FUNCTION = """
.visible .entry {name}(.param .u64 p)
{{
	.local .align 8 .b8 	__local_depot0[16];
	.reg .b64 	%SP;
	.reg .b64 	%SPL;
	mov.u64 	%SPL, __local_depot0;
	cvta.local.u64 	%SP, %SPL;
	.loc	1 3 5
	add.u64 	%rd5, %SP, 0;
	add.u64 	%rd6, %SPL, 0;
	st.local.v2.u32 	[%rd6], {{%r2, %r1}};
	{more}
	{{ // callseq 0, 0
	.param .b64 param0;
	st.param.b64 	[param0], %rd8;
	.param .b64 param1;
	st.param.b64 	[param1], %rd5;
	.param .b32 retval0;
	call.uni (retval0),
	{callee},
	(
	param0,
	param1
	);
	}} // callseq 0
	ret;

}}
"""


def _ptx(*, name: str = "k", more: str = "", callee: str = "vprintf") -> bytes:
    return _FUNCTION.format(name=name, more=more, callee=callee).encode()


@pytest.mark.parametrize("name", ["k", "localSort"])
def test_a_buffer_that_is_written_and_printed(name: str) -> None:
    assert only_prints(_ptx(name=name))
    assert only_prints(_ptx() + _ptx(name="other"))


@pytest.mark.parametrize(
    "more",
    [
        "ld.local.u32 	%r9, [%rd6];",
        "ld.u32 	%r9, [%rd5];",
        "st.u32 	[%rd5+8], %r9;",
        "st.local.u64 	[%rd6+8], %rd5;",
        "st.global.u64 	[%rd1], %rd5;",
        "mov.u64 	%rd9, %rd6;",
        "add.s64 	%rd9, %rd6, %rd3;",
        "mov.u64 	%rd9, __local_depot1+8;",
    ],
)
def test_what_may_be_a_variable(more: str) -> None:
    assert not only_prints(_ptx(more=more))
    # One function is enough.
    assert not only_prints(_ptx() + _ptx(name="other", more=more))


def test_another_function_is_given_it() -> None:
    assert not only_prints(_ptx(callee="fill") + b"// vprintf")


def test_nothing_is_printed() -> None:
    assert not only_prints(b".visible .entry k()\n{\n\tret;\n\n}\n")
