"""Pictures for papers and notebooks, from plain tables."""

from allalike.errors import UnsupportedError

try:
    import matplotlib  # noqa: F401
except ModuleNotFoundError as error:
    raise UnsupportedError(f"Pictures need {error.name}. Install it with: pip install 'allalike[plots]'.") from None

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
