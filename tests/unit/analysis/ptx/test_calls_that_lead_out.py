"""Calls through pointers that may lead to other translation units."""

from __future__ import annotations

import pytest

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.formats.ptx import PtxModule

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
FUNCTION = ".func (.param .b32 r) f(.param .b64 x)\n{\n  ret;\n}\n"
KERNEL = """.visible .entry k(.param .b64 p)
{{
  .reg .b64 %rd<3>;
  ld.global.u64 %rd1, [fp];
  {{
  .param .b64 param0;
  st.param.b64 [param0+0], %rd1;
  .param .b32 retval0;
  prototype_0 : .callprototype (.param .b32 _) _ (.param .{argument} _);
  call (retval0), %rd1, (param0), prototype_0;
  }}
  ret;
}}
"""


@pytest.mark.parametrize(
    ("variable", "function", "argument", "leads_out"),
    [
        (".global .align 8 .u64 fp = f;", FUNCTION, "b64", False),
        (".global .align 8 .u64 fp;", "", "b64", True),
        (".global .align 8 .u64 fp = f;", FUNCTION, "b32", True),
        # It fits, and another translation unit may store another one.
        (".extern .global .align 8 .b64 fp;\n.global .align 8 .u64 g = f;", FUNCTION, "b64", True),
        (".extern .global .align 8 .b64 h;\n.global .align 8 .u64 fp = f;", FUNCTION, "b64", False),
    ],
)
def test_calls_that_may_lead_out(
    variable: str, function: str, argument: str, leads_out: bool
) -> None:
    text = f"{HEAD}{variable}\n{function}{KERNEL.format(argument=argument)}"
    assert ModuleFlow(PtxModule(text.encode())).calls("k").leads_out == leads_out
