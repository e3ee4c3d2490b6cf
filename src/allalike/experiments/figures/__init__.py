"""Figures: the pictures of the paper, drawn from experiments."""

from allalike.experiments.figures.base import Figure, save
from allalike.experiments.figures.example import EXAMPLE
from allalike.experiments.figures.faults import DISPARITY, DISPARITY_ALL
from allalike.experiments.figures.lines import LINE_FIGURES
from allalike.experiments.figures.matrices import MATRICES
from allalike.experiments.figures.rules import RULES_ALL, RULES_DOTS

__all__ = ["FIGURES", "Figure", "save"]

FIGURES = {
    figure.name: figure
    for figure in (EXAMPLE, DISPARITY, DISPARITY_ALL, *LINE_FIGURES, RULES_DOTS, RULES_ALL, MATRICES)
}
