"""Base classes and helpers for new methods, rules, label types, engines and readers (see docs/contributing)."""

from allalike._core.blocks.block import DRAWN, TOLERANCE, Array, Block, Floats, Kernel, Ties, sum_by
from allalike._core.columns.column import Column
from allalike._core.columns.values import Values
from allalike._core.options import Options, number, option, whole

__all__ = [
    "DRAWN",
    "TOLERANCE",
    "Array",
    "Block",
    "Column",
    "Floats",
    "Kernel",
    "Options",
    "Ties",
    "Values",
    "number",
    "option",
    "sum_by",
    "whole",
]
