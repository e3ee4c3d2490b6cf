"""Figure: which experiments a picture needs, and how it is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike._core.system.files import atomic_file
from allalike.datasets import DATASETS, source_of
from allalike.datasets.downloads import find_folder, how_to_get
from allalike.errors import DataError, UnsupportedError
from paper.figures.style import SETTINGS

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from matplotlib.figure import Figure as Canvas

    from paper.experiments.runner import Results
    from paper.experiments.settings import Setting

__all__ = ["Figure", "here", "matplotlib", "save"]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A picture: what it shows, and how it is drawn.

    Parameters
    ----------
    name
        The name, which is that of its files too.
    title
        What it shows, in a few words.
    caption
        How to read it.
    settings
        The function that returns the experiments it needs, among those whose data are here.
    draw
        The function that draws their results on an empty canvas. What has no results is left out.
    sources
        The crowds and data sets in it.
    repetitions
        How often to repeat the experiments.

    >>> from paper.figures import FIGURES
    >>> figure = FIGURES["figure-variants"]
    >>> len(figure.settings()), figure.repetitions, figure.missing()
    (8, 1000, [])
    """

    name: str
    title: str
    caption: str
    settings: Callable[[], list[Setting]]
    draw: Callable[[Results, Canvas], None]
    sources: tuple[str, ...] = ()
    repetitions: int = 300

    def missing(self) -> list[str]:
        """List the data sets in it that are not here."""
        return [source for source in self.sources if not here(source)]


def save(figure: Figure, results: Results, folder: str | os.PathLike[str]) -> list[Path]:
    """Draw a figure, write it as PNG and SVG, and return the paths. Equal results give equal files.

    Parameters
    ----------
    figure
        What to draw.
    results
        The results of its settings; there may be others.
    folder
        Where the files go.

    >>> import tempfile
    >>> from paper.experiments import Results
    >>> from paper.figures import FIGURES
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in save(FIGURES["figure-matrices"], Results({}), folder)]
    ['figure-matrices.png', 'figure-matrices.svg']
    """
    missing = figure.missing()
    if missing and len(missing) == len(figure.sources):
        how = how_to_get(source_of(missing[0]))
        raise DataError(f"{figure.name} shows {', '.join(missing)}, and none of these data are here. {how}")
    pyplotless = matplotlib()
    with pyplotless.rc_context({**SETTINGS, "svg.hashsalt": figure.name}):
        canvas = pyplotless.figure.Figure(layout="constrained")
        figure.draw(results, canvas)
        return [_write(canvas, Path(folder) / f"{figure.name}.{kind}", kind) for kind in ("png", "svg")]


def here(source: str) -> bool:
    """Tell whether the data behind a name are here; generated crowds always are.

    >>> here("binary SYN.N")
    True
    """
    return source not in DATASETS or find_folder(source_of(source)) is not None


def matplotlib() -> Any:
    """Return the package that draws, or say how to get it.

    >>> matplotlib().figure.Figure.__name__
    'Figure'
    """
    try:
        import matplotlib.figure
    except ImportError:
        raise UnsupportedError("Figures need matplotlib. Install it with: pip install matplotlib") from None
    return matplotlib


def _write(canvas: Canvas, path: Path, kind: str) -> Path:
    # Neither the day nor the version belongs into a file that is compared with others.
    about = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}[kind]
    with atomic_file(path) as beside:
        canvas.savefig(beside, format=kind, metadata=about)
    return path
