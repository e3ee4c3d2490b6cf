"""Pictures for papers and notebooks, from plain tables."""

from allalike._core.late import need

need("matplotlib", "Pictures need matplotlib", "plots")

from allalike.plots.comparison import draw_comparison
from allalike.plots.confidence import draw_confidence, draw_widths
from allalike.plots.faults import draw_errors, draw_faults
from allalike.plots.matrix import draw_matrix
from allalike.plots.places import draw_map
from allalike.plots.workers import draw_workers

__all__ = [
    "draw_comparison",
    "draw_confidence",
    "draw_errors",
    "draw_faults",
    "draw_map",
    "draw_matrix",
    "draw_widths",
    "draw_workers",
]
