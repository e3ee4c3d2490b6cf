"""Figures: the pictures of the paper, drawn from experiments."""

from paper.figures.base import Figure, save
from paper.figures.example import EXAMPLE
from paper.figures.faults import DISPARITY, DISPARITY_ALL
from paper.figures.lines import LINE_FIGURES
from paper.figures.matrices import MATRICES
from paper.figures.rules import RULES_ALL, RULES_DOTS

__all__ = ["FIGURES", "Figure", "save"]

FIGURES = {
    figure.name: figure
    for figure in (EXAMPLE, DISPARITY, DISPARITY_ALL, *LINE_FIGURES, RULES_DOTS, RULES_ALL, MATRICES)
}
