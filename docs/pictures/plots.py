"""The picture of the page on reports: workers with limits beside a map of them, two of whom copy.

`make pictures` draws it, from a fixed seed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import allalike

__all__ = ["draw"]

FOLDER = Path(__file__).parent
_SKILLS = {"ada": 0.9, "bob": 0.87, "cem": 0.85, "dora": 0.83, "eve": 0.8, "finn": 0.78, "gil": 0.75, "hana": 0.7}
_SKILLS |= {"ivo": 0.6, "kim": 0.5, "lea": 0.4}


def draw() -> Path:
    """Draw the picture."""
    from matplotlib.figure import Figure

    rng = np.random.default_rng(5)
    truth = rng.integers(4, size=150)
    said = {
        name: np.where(rng.random(150) < skill, truth, (truth + rng.integers(1, 4, 150)) % 4)
        for name, skill in _SKILLS.items()
    }
    said["mo"] = np.where(rng.random(150) < 0.95, said["lea"], truth)
    rows = [(name, task, "abcd"[label]) for name, labels in said.items() for task, label in enumerate(labels)]
    result = allalike.discover(rows)
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    result.plot.workers(ax=left)
    result.plot.map(ax=right)
    path = FOLDER / "plots.png"
    figure.savefig(path, dpi=110, metadata={"Software": None})
    return path


if __name__ == "__main__":
    draw()
