"""Advice on a pointer that is chosen at run time between objects: choose values instead."""

from __future__ import annotations

from lmemscope.model import Advice
from lmemscope.rules.base import Case


def chosen_advice(case: Case) -> tuple[Advice, ...]:
    """To choose between values; of arrays, which cannot be assigned, between elements."""
    if "chosen-address" in case.shown and _is_array(case):
        among = _chosen_among(case)
        return (
            Advice(
                f"Select elements instead of pointers: read {among} under the condition at each "
                f"access (`c ? a[i] : b[i]`){_written_back(case)}. A non-constant index still "
                "keeps the array in local memory."
            ),
        )
    if "chosen-place" in case.shown and _is_array(case):
        return (
            Advice(
                "If the pointer has few places, select between the elements there instead (`c ? "
                f"a[0] : a[2]`){_written_back(case)}. One that moves through the array (`*p++`) "
                "keeps it in local memory, as an index does."
            ),
        )
    if "chosen-place" in case.shown or ("chosen-address" in case.shown and case.alternatives):
        return (
            Advice(
                "Copy the selected value instead of pointing to it (`if (…) chosen = a; else "
                f"chosen = b;`){_written_back(case)}: values can be in registers."
            ),
        )
    if "chosen-address" in case.shown:
        return (
            Advice(
                "Select between values instead of addresses: read the other memory into a "
                f"variable under the condition, and {case.name} otherwise{_written_back(case)}."
            ),
        )
    return ()


def _is_array(case: Case) -> bool:
    """Whether it is an array, which cannot be assigned as a whole."""
    return case.object is not None and (case.object.type or "").endswith("]")


def _chosen_among(case: Case) -> str:
    """The array and what a pointer may lead to instead of it, as a sentence names them."""
    others = [f"`{one.name}`" if one.name else "another object" for one in case.alternatives]
    return f"{case.name} or {' or '.join(dict.fromkeys(others)) or 'the other memory'}"


def _written_back(case: Case) -> str:
    """What a copy takes besides, where the program stores through the pointer that is chosen."""
    among = (one for one in case.accesses if len(one.touched) > 1 and not one.joined)
    chosen = (*case.generic, *among)
    if not any(one.is_store for one in chosen):
        return ""
    return ", and write it back the same way if it has changed"
