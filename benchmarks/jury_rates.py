"""Measure whether limits of corrected rates hold, and whether drift is found and false alarms are rare; write a page.

Panels are drawn, or real ones whose truths are all known: of these a run is drawn with replacement, some truths are
known, and the rate of the whole set is the true one. The way to limits was chosen on drawn panels, and nothing on real
ones.

    python benchmarks/jury_rates.py [-o docs/evidence/PANELS.md]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

import allalike
from allalike.panels import rates
from allalike.panels.drift import SIGNIFICANT, BothPanels, find_changes
from allalike.panels.rates import Counts, correct_rate, estimate_rate

sys.path.insert(0, str(Path(__file__).parent))
from gold_crowds import crowd_folder
from jury import END, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

BEGIN = "<!-- figures: benchmarks/jury_rates.py -->"
SETS = (
    "feedback_fc",
    "triviaqa_judges",
    "faithbench",
    "reife_mtbench",
    "mmlu_biology",
    "mmlu_health",
    "chexpert_readers",
)
TRUTHS = (20, 50, 200)
RATES = (0.05, 0.2, 0.5, 0.8, 0.95)
HITS = ((0.95, 0.95), (0.9, 0.7), (0.7, 0.6), (0.55, 0.5))
TASKS = 1000
DRAWS = int(os.environ.get("ALLALIKE_DRAWS", "500"))
PAIRS = 200  # of panels that are compared


class Real(NamedTuple):
    """A real panel: whether it calls each task good, and whether it is, and what each judge said."""

    name: str
    verdict: npt.NDArray[np.intp]
    truth: npt.NDArray[np.float64]
    said: npt.NDArray[np.intp]


def read(name: str) -> Real:
    """Read a crowd, let the panel decide that knows no truth, and call half of the classes good, or one of two."""
    data = np.load(crowd_folder() / f"{name}.npz")
    most = np.argsort(-np.bincount(data["W"]))[:100]
    kept = np.isin(data["W"], most)
    rows = list(zip(data["W"][kept].tolist(), data["T"][kept].tolist(), data["L"][kept].tolist(), strict=True))
    found = allalike.discover(rows, domain="categorical").truth
    tasks = found["task"].to_numpy()
    gold = data["g"][tasks]
    known = gold >= 0
    good = np.arange(int(data["k"]) // 2, int(data["k"]))
    said = np.full((len(data["g"]), int(data["W"].max()) + 1), -1)
    said[data["T"][kept], data["W"][kept]] = data["L"][kept]
    verdict = np.isin(found["label"].to_numpy(), good)[known].astype(np.intp)
    return Real(name, verdict, np.isin(gold[known], good).astype(float), said[tasks[known]][:, np.sort(most)])


def draw_real(real: Real, rng: np.random.Generator, n: int) -> Counts:
    """Draw a run of as many tasks, of which some truths are known."""
    rows = rng.integers(len(real.truth), size=len(real.truth))
    truth = np.where(np.arange(len(rows)) < n, real.truth[rows], np.nan)
    return Counts.of(real.verdict[rows], truth)


def draw_panel(rng: np.random.Generator, n: int, rate: float, hits: tuple[float, float]) -> Counts:
    """Draw a run of a panel with this sensitivity and specificity."""
    truth = rng.random(TASKS) < rate
    verdict = np.where(truth, rng.random(TASKS) < hits[0], rng.random(TASKS) >= hits[1])
    return Counts.of(verdict.astype(np.intp), np.where(np.arange(TASKS) < n, truth, np.nan))


def hold(draw: Callable[[], Counts], rate: float) -> list[tuple[float, float]]:
    """Return, for each way to limits, how often they hold the rate, and how wide they are."""
    found = [[estimate_rate(counts), correct_rate(counts)[0]] for counts in (draw() for _ in range(DRAWS))]
    limits = np.array([[each[1:] for each in row] for row in found])
    low, high = np.nan_to_num(limits[..., 0], nan=0.0), np.nan_to_num(limits[..., 1], nan=1.0)
    held = (low <= rate) & (rate <= high)
    return list(zip(held.mean(axis=0).tolist(), (high - low).mean(axis=0).tolist(), strict=True))


def drawn_limits() -> str:
    """Say how often limits hold in drawn panels: the least and the most of five rates."""
    lines = []
    for hits in HITS:
        cells: list[str] = []
        for n in TRUTHS:
            told = [_hold_drawn(n, rate, hits) for rate in RATES]
            for way in range(2):
                held, width = (np.array([each[way][part] for each in told]) for part in (0, 1))
                cells.append(f"{100 * held.min():.0f} to {100 * held.max():.0f}, {100 * width.mean():.0f}")
        lines.append([f"{hits[0]:g}, {hits[1]:g}", *cells])
    return table(["sensitivity, specificity", *_heads()], lines)


def _hold_drawn(n: int, rate: float, hits: tuple[float, float]) -> list[tuple[float, float]]:
    rng = np.random.default_rng([n, int(100 * rate), int(100 * hits[0])])
    return hold(lambda: draw_panel(rng, n, rate, hits), rate)


def _hold_real(n: int, real: Real) -> list[tuple[float, float]]:
    rng = np.random.default_rng(n)
    return hold(lambda: draw_real(real, rng, n), float(real.truth.mean()))


def real_limits(sets: Sequence[Real]) -> str:
    """Say how often limits hold in real panels."""
    lines = []
    for real in sets:
        rate = float(real.truth.mean())
        cells = [f"{100 * held:.0f}, {100 * width:.0f}" for n in TRUTHS for held, width in _hold_real(n, real)]
        lines.append([f"`{real.name}`", f"{100 * rate:.0f}", f"{100 * real.verdict.mean():.0f}", *cells])
    return table(["", "rate", "called so", *_heads()], lines)


def _heads() -> list[str]:
    return [f"{n} known, {way}" for n in TRUTHS for way in ("double", "R-G")]


def draw_said(rng: np.random.Generator, tasks: int, harsh: float, *, same: bool) -> BothPanels:
    """Draw two runs of five judges; the third of them says no, in the second run, where she would say yes."""
    truth = rng.random((2, tasks)) < 0.6
    truth[1] = truth[0] if same else truth[1]
    right = np.array([0.95, 0.9, 0.85, 0.8, 0.75])
    said = np.where(rng.random((2, tasks, 5)) < right, truth[..., None], ~truth[..., None])
    said[1, :, 2] &= rng.random(tasks) >= harsh
    return _pair(*said.astype(np.intp), same=same)


def _pair(then: npt.NDArray[np.intp], now: npt.NDArray[np.intp], *, same: bool) -> BothPanels:
    if not same:
        gap = np.full_like(then, -1), np.full_like(now, -1)
        then, now = np.vstack([then, gap[1]]), np.vstack([gap[0], now])
    n, judges = then.shape
    before, after = (np.where(each < 0, np.nan, each) for each in (then, now))
    return BothPanels(list(map(str, range(judges))), before, after, np.full(n, np.nan), scored=False)


def find(said: BothPanels) -> set[int]:
    """Return the judges who changed."""
    changes = find_changes(said)
    return set(changes.loc[changes["p_value"] * len(changes) < SIGNIFICANT, "judge"])


def drawn_drift() -> str:
    """Say how often a judge who changed is found, and how often another is named."""
    lines = []
    for same in (True, False):
        for tasks in (100, 300, 1000):
            cells = []
            for harsh in (0.0, 0.1, 0.2, 0.4):
                rng = np.random.default_rng([tasks, int(10 * harsh)])
                told = [find(draw_said(rng, tasks, harsh, same=same)) for _ in range(PAIRS)]
                others = np.mean([bool(each - {2} if harsh else each) for each in told])
                hits = np.mean([2 in each for each in told])
                cells.append(f"{100 * hits:.0f} ({100 * others:.1f})" if harsh else f"{100 * others:.1f}")
            lines.append([f"{tasks:,} tasks, {'the same' if same else 'others'}", *cells])
    header = ["in % of pairs of runs", "nobody changed", "10 % of yes", "20 % of yes", "40 % of yes"]
    return table(header, lines)


def real_alarms(sets: Iterable[Real]) -> str:
    """Say how often somebody is named when two halves of a set are compared, drawn at random."""
    lines = []
    for real in sets:
        rng, named = np.random.default_rng(1), []
        for _ in range(PAIRS):
            order = rng.permutation(len(real.said))
            half = len(order) // 2
            named.append(bool(find(_pair(real.said[order[:half]], real.said[order[half : 2 * half]], same=False))))
        lines.append([f"`{real.name}`", real.said.shape[1], half, f"{100 * np.mean(named):.1f}"])
    return table(["", "judges", "tasks in each half", "false alarms in %"], lines)


def main() -> None:
    """Measure, and print or write."""
    rates._DRAWS = 5_000  # of which the errors even out
    sets = [read(name) for name in SETS]
    parts: list[tuple[str, Any]] = [
        ("### Do limits hold, in drawn panels?", drawn_limits()),
        ("### Do limits hold, in real panels?", real_limits(sets)),
        ("### Is drift found, in drawn panels?", drawn_drift()),
        ("### False alarms of drift, in real panels", real_alarms(sets)),
    ]
    text = "\n\n".join(f"{title}\n\n{figures}" for title, figures in parts)
    if "-o" not in sys.argv:
        print(text)
        return
    page = Path(sys.argv[sys.argv.index("-o") + 1])
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
