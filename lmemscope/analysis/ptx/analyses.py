"""The analyses of a PTX function's values that all others ask."""

from __future__ import annotations

from lmemscope.analysis.ptx.affine import Affine
from lmemscope.analysis.ptx.conditions import Conditions
from lmemscope.analysis.ptx.control import Control
from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.origins import Origins
from lmemscope.analysis.ptx.values import Values


class Analyses:
    """Analyses of one function.

    Args:
        code: its definitions.

    Attributes:
        code: the same.
        values: what its registers hold where they are read.
        control: which branches decide what runs.
        conditions: its predicates as trees.
        affine: its addresses and indices as linear forms.
        origins: what these are computed of in the end.
    """

    def __init__(self, code: Definitions) -> None:
        self.code, self.values, self.control = code, Values(code), Control(code.flow)
        self.conditions = Conditions(code, self.values)
        self.affine = Affine(code, self.values, self.control, self.conditions)
        self.origins = Origins(code, self.values, self.control, self.affine)
