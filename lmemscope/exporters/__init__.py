"""Output formats: one module per format, each a function from a document to text."""

from __future__ import annotations

from lmemscope.exporters.formats import render

__all__ = ["render"]
