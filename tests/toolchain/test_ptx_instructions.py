"""The instructions that tests read are PTX: ptxas takes every one of them."""

from __future__ import annotations

import re

import pytest

from lmemscope.errors import CompileError
from lmemscope.tools.ptxas import assemble
from tests.support.ptx_instructions import ALL

HEADER = """.version 9.1
.target {arch}
.address_size 64
.func (.param .b32 result) f (.param .b32 given) {{ ret; }}
.func g (.param .b32 given) {{ ret; }}
.func (.reg .b32 %o) h (.reg .b32 %a, .reg .b32 %b) {{ ret; }}
.func e () {{ ret; }}
"""
KERNEL = (
    ".entry k{number} (.param .u64 k_param_0) .maxntid 128 {{ "
    ".reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .b128 %rq<9>; "
    ".reg .f32 %f<9>; .reg .f64 %d<9>; .reg .pred %p<9>; .reg .v4 .b32 %v<3>; "
    ".param .b32 param0; .param .b32 retval0; "
    "$L_1: $L_table: .branchtargets $L_1; "
    "prototype_0: .callprototype (.param .b32 _) _ (.param .b32 _); "
    "{text}; ret; }}\n"
)
REFUSED = re.compile(r"line (\d+); (?:error|fatal)\s*: (.*)")


def refused(arch: str, texts: list[str]) -> dict[str, str]:
    """The instructions that ptxas does not take for an architecture, and what it says."""
    header = HEADER.format(arch=arch)
    kernels = (KERNEL.format(number=at, text=text) for at, text in enumerate(texts))
    log: str | None = None
    try:
        assemble((header + "".join(kernels)).encode(), "all.ptx", (f"-arch={arch}", "-O0"))
    except CompileError as error:
        log = str(error.log)
    first = header.count("\n") + 1
    found = {texts[int(line) - first]: said for line, said in REFUSED.findall(log or "")}
    assert bool(found) == (log is not None), log
    return found


@pytest.mark.toolchain
def test_ptxas_takes_every_instruction() -> None:
    texts = [text for text, _, _ in ALL]
    # Some were taken out behind Hopper, and some are only in what came then.
    elsewhere = refused("sm_90a", texts)
    assert len(elsewhere) < len(texts) / 2
    assert refused("sm_103a", list(elsewhere)) == {}
