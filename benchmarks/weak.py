"""What becomes of label matrices: the vote, DS and auto here, Snorkel's LabelModel, and HyperLM.

pip install snorkel hyperlm     # best in an environment of its own, for they need PyTorch
python benchmarks/weak.py       # writes the table into docs/guide/SNORKEL.md

The crowds are those of ``ALLALIKE_CROWDS``, by default ``../shared/crowds``. A rival that is not installed has no
column.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import allalike

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Matrix = npt.NDArray[np.int64]

__all__ = ["NAMES", "read_matrix"]

CROWDS = Path(os.environ.get("ALLALIKE_CROWDS", Path(__file__).parents[2] / "shared" / "crowds"))
PAGE = Path(__file__).parents[1] / "docs" / "guide" / "SNORKEL.md"
NAMES = ("youtube", "sms", "imdb", "basketball", "semeval", "trec", "chemprot", "spouse")
_TABLE = re.compile(r"(<!-- figures: benchmarks/weak.py -->\n\n).*?(?=\n\n|\n\Z)", flags=re.DOTALL)


def read_matrix(name: str) -> tuple[Matrix, Matrix]:
    """Return a label matrix, one row per task, and the known truths."""
    with np.load(CROWDS / f"{'weak' if name == 'spouse' else 'wrench'}_{name}.npz") as crowd:
        matrix = np.full((crowd["T"].max() + 1, crowd["W"].max() + 1), -1)
        matrix[crowd["T"], crowd["W"]] = crowd["L"]
        return matrix, crowd["g"][: len(matrix)]


def _find_here(method: str) -> Callable[[Matrix], Matrix]:
    def find(matrix: Matrix) -> Matrix:
        truth = allalike.discover(matrix, method=method).truth
        found = np.full(len(matrix), -1)
        found[truth["task"]] = truth["label"]
        return found

    return find


def _find_by_snorkel(matrix: Matrix) -> Matrix:
    from snorkel.labeling.model import LabelModel

    model = LabelModel(cardinality=int(matrix.max()) + 1, verbose=False)
    model.fit(matrix, n_epochs=500, seed=123, progress_bar=False)
    found: Matrix = model.predict(matrix, tie_break_policy="random")
    return found


def _find_by_hyperlm(matrix: Matrix) -> Matrix:
    from hyperlm.hyper_label_model import HyperLabelModel

    os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"  # its parameters are a pickle of an older PyTorch
    with contextlib.redirect_stdout(io.StringIO()):
        return np.asarray(HyperLabelModel().infer(matrix))


FINDERS: dict[str, tuple[Callable[[Matrix], Matrix], str]] = {
    "a vote": (_find_here("UA"), "allalike"),
    "DS": (_find_here("DS"), "allalike"),
    "`auto`": (_find_here("auto"), "allalike"),
    "Snorkel's LabelModel": (_find_by_snorkel, "snorkel"),
    "HyperLM": (_find_by_hyperlm, "hyperlm"),
}


def measure() -> list[dict[str, Any]]:
    """Return how often each finds the truth, in percent, and how many seconds all of it took."""
    finders = {name: find for name, (find, package) in FINDERS.items() if importlib.util.find_spec(package)}
    rows = []
    for name in NAMES:
        matrix, gold = read_matrix(name)
        known = (gold >= 0) & (matrix >= 0).any(axis=1)
        row: dict[str, Any] = {"matrix": name, "tasks": int(known.sum()), "functions": matrix.shape[1]}
        for who, find in finders.items():
            begin = time.perf_counter()
            row[who] = 100 * float(np.mean(find(matrix)[known] == gold[known]))
            print(f"{name}: {who} {row[who]:.1f} % in {time.perf_counter() - begin:.1f} s", flush=True)
        rows.append(row)
    means = {who: float(np.mean([row[who] for row in rows])) for who in finders}
    return [*rows, {"matrix": "mean", "tasks": "", "functions": "", **means}]


def show(rows: list[dict[str, Any]]) -> str:
    """Return a table with the best of each row in bold."""
    names = list(rows[0])
    lines = [f"| {' | '.join(names)} |", f"| --- |{' --: |' * (len(names) - 1)}"]
    for row in rows:
        best = max(f"{row[name]:.1f}" for name in names[3:])
        cells = [f"**{row[name]:.1f}**" if f"{row[name]:.1f}" == best else f"{row[name]:.1f}" for name in names[3:]]
        counts = [f"{row[name]:,}" if row[name] else "" for name in names[1:3]]
        lines.append(f"| {' | '.join([row['matrix'], *counts, *cells])} |")
    return "\n".join(lines)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    table = show(measure())
    print(table)
    PAGE.write_text(_TABLE.sub(lambda found: found[1] + table, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
