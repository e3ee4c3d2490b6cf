"""What a method, a rule, a kind of label, an engine or a reader of your own is made of; docs/EXTENDING.md shows how."""

from allalike._core.blocks.block import Array, Block, Floats, Kernel, sum_by
from allalike._core.blocks.ties import DRAWN, TOLERANCE, Ties
from allalike._core.options import Options, number, option, whole

__all__ = [
    "DRAWN",
    "TOLERANCE",
    "Array",
    "Block",
    "Floats",
    "Kernel",
    "Options",
    "Ties",
    "number",
    "option",
    "sum_by",
    "whole",
]
