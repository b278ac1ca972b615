"""Range reductions of sine and cosine, as NVVM writes them."""

from __future__ import annotations

from lmemscope.analysis.ptx.library import TWO_OVER_PI

WORDS = [
    int.from_bytes(TWO_OVER_PI[at : at + 4], "little", signed=True) for at in range(120, 144, 4)
]


def unrolled(words: list[int], base: str = "%rd1") -> str:
    """Products with words, their carries passed on, as NVVM writes them; read by an index."""
    lines = ["ld.param.u32 %r9, [k_param_1];", "mov.u64 %rd20, 0;"]
    for number, word in enumerate(words):
        lines += [
            f"mov.u32 %r2{number}, {word};",
            f"mad.wide.u32 %rd3{number}, %r2{number}, %r9, %rd20;",
            f"shr.u64 %rd20, %rd3{number}, 32;",
            f"st.local.u32 [{base}+{4 * number}], %rd3{number};",
        ]
    lines.append(f"st.local.u32 [{base}+{4 * len(words)}], %rd20;")
    return "\n".join(lines)
