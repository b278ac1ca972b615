"""Reports as text: one module per format, each a function from a `Report` to a string."""

from __future__ import annotations

from lmemscope.exporters.formats import render

__all__ = ["render"]
