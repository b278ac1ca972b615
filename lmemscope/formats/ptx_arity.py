"""How many operands PTX instructions have at least (PTX ISA 9, section 9.7).

Only of those whose operands are looked at by their positions: once a function is read, whoever
looks need not count.
"""

from __future__ import annotations

_FEWEST = {
    1: ("bra",),
    2: (
        *("abs", "alloca", "brev", "brx", "clz", "cnot", "cvt", "cvta", "ld", "ldu", "mov", "neg"),
        *("not", "popc", "st"),
    ),
    3: (
        *("add", "addc", "and", "div", "max", "min", "mul", "mul24", "or", "rem", "set"),
        *("setp", "shl", "shr", "sub", "subc", "xor"),
    ),
    4: ("bfe", "fma", "mad", "mad24", "madc", "prmt", "sad", "selp", "shf", "slct"),
    5: ("bfi", "lop3"),
}
_BY_OPERATION = {operation: fewest for fewest, named in _FEWEST.items() for operation in named}


def fewest_operands(operation: str) -> int:
    """How many an instruction has at least; 0 where nobody needs to know.

    Args:
        operation: the opcode's first part, such as ``ld``.
    """
    return _BY_OPERATION.get(operation, 0)
