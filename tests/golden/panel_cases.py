"""Golden cases of panels: verdicts, judges, pairs, sizes, rates, drift, samples and both orders."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import allalike
from golden.record import add, attempt, case, facts

JUDGES, TASKS = 5, 60
TABLES = ("truth", "judges", "pairs", "sizes", "coverage", "orders", "samples", "rates", "drift", "ask")
FIRST = 10  # rows of each table that are stored
PRICES = {f"j{judge}": price for judge, price in enumerate((1.0, 0.5, 0.2, 0.1, 0.02))}


def describe(panel: Any) -> Any:
    """Return the first rows of the tables of a panel that have rows, and its summary."""
    tables = {name: attempt(lambda name=name: getattr(panel, name)) for name in TABLES}  # type: ignore[misc]
    kept = {name: table.head(FIRST) for name, table in tables.items() if len(table)}
    label = {"labels": panel.truth["label"].tolist(), "smallest": panel.smallest}
    return {**kept, **label, "summary": facts(panel.summary)}


def draw_classes(seed: int = 1, *, harsh: bool = False) -> pd.DataFrame:
    """Draw verdicts of judges who pass or fail tasks; the last two share errors, and one may become harsh."""
    rng = np.random.default_rng(seed)
    truth = np.random.default_rng(99).random(TASKS) < 0.6
    said = np.where(rng.random((JUDGES, TASKS)) < np.array([[0.9], [0.85], [0.8], [0.75], [0.7]]), truth, ~truth)
    said[4] = np.where(rng.random(TASKS) < 0.6, said[3], said[4])
    if harsh:
        said[2] &= rng.random(TASKS) < 0.4
    return _table(np.where(said, "pass", "fail"))


def draw_scores(seed: int = 2) -> Any:
    """Draw scores of judges of whom one is strict and one stretches the scale."""
    rng = np.random.default_rng(seed)
    truth = np.random.default_rng(98).normal(5, 2, TASKS)
    said = truth + rng.normal(0, 1, (JUDGES, TASKS)) * np.array([[0.4], [0.6], [0.8], [1.0], [1.2]])
    said[3] -= 2
    said[4] = 5 + 1.5 * (said[4] - 5)
    return said.round(6)


def _table(said: Any) -> pd.DataFrame:
    judge, task = np.indices(said.shape)
    return pd.DataFrame(
        {
            "worker": [f"j{number}" for number in judge.ravel()],
            "task": [f"t{number:02d}" for number in task.ravel()],
            "label": said.ravel(),
            "topic": np.where(task.ravel() % 2, "art", "law"),
        }
    )


GOLD = {
    f"t{task:02d}": ("fail", "pass")[int(x < 0.6)] for task, x in enumerate(np.random.default_rng(99).random(TASKS))
}
SCORES = {f"t{task:02d}": float(x) for task, x in enumerate(np.random.default_rng(98).normal(5, 2, TASKS))}


def first(gold: dict[str, Any], number: int) -> dict[str, Any]:
    return dict(list(gold.items())[:number])


def classes(folder: Path, **options: Any) -> Any:
    return describe(allalike.jury(draw_classes(), **options))


def scores(folder: Path, **options: Any) -> Any:
    return describe(allalike.jury(_table(draw_scores()), **{"domain": "real", **options}))


OF_CLASSES: dict[str, dict[str, Any]] = {
    "plain": {},
    "gold and prices": {"gold": first(GOLD, 52), "prices": PRICES, "retain": 0.95},
    "abstaining": {"min_confidence": 0.9, "quorum": 2, "verdicts": "pass"},
    "rates": {"positive": "pass", "gold": first(GOLD, 40), "by": "topic"},
    "rates of picked gold": {"positive": "pass", "gold": first(GOLD, 40), "gold_drawn": "truth"},
}
OF_SCORES: dict[str, dict[str, Any]] = {
    "plain": {},
    "gold and prices": {"gold": first(SCORES, 52), "prices": PRICES},
    "rates": {"positive": ">=5", "gold": first(SCORES, 30)},
    "quorum": {"quorum": 4},
}
for _name, _options in OF_CLASSES.items():
    add(f"panels/classes, {_name}", partial(classes, **_options))
for _name, _options in OF_SCORES.items():
    add(f"panels/scores, {_name}", partial(scores, **_options))


@case("panels/levels")
def _levels(folder: Path) -> Any:
    levels = np.clip(draw_scores().round(), 1, 9).astype(int)
    return describe(allalike.jury(_table(levels), domain="ordinal"))


@case("panels/rankings")
def _rankings(folder: Path) -> Any:
    rng = np.random.default_rng(4)
    rows = [
        (f"j{judge}", task, [*"abc"] if rng.random() < 0.8 - judge / 10 else rng.permutation([*"abc"]).tolist())
        for judge in range(4)
        for task in range(30)
    ]
    return describe(allalike.jury(rows, domain="ranking"))


@case("panels/vectors")
def _vectors(folder: Path) -> Any:
    said = draw_scores()
    rows = [(f"j{judge}", task, [said[judge, task], said[judge, task - 1]]) for judge in range(4) for task in range(30)]
    return describe(allalike.jury(rows, domain="vector"))


@case("panels/open answers")
def _open(folder: Path) -> Any:
    rng = np.random.default_rng(5)
    truth = rng.integers(1000, size=40)
    said = np.where(rng.random((JUDGES, 40)) < 0.7, truth, rng.integers(1000, size=(JUDGES, 40)))
    rows = [(f"j{judge}", int(task), f"n{label}") for (judge, task), label in np.ndenumerate(said)]
    return describe(allalike.jury(rows, domain="categorical"))


@case("panels/drift of classes")
def _drift(folder: Path) -> Any:
    allalike.jury(draw_classes(), by="topic").save(folder / "out")
    return describe(allalike.jury(draw_classes(6, harsh=True), by="topic", baseline=folder / "out", positive="pass"))


@case("panels/drift of scores")
def _score_drift(folder: Path) -> Any:
    allalike.jury(_table(draw_scores()), domain="real").save(folder / "out")
    later = draw_scores(7)
    later[1] += 1.5
    return describe(allalike.jury(_table(later), domain="real", baseline=folder / "out"))


def both_orders(folder: Path, **options: Any) -> Any:
    """Let judges see pairs in both orders; the last follows the first place."""
    rng = np.random.default_rng(8)
    better = np.random.default_rng(97).integers(2, size=TASKS)
    rows = []
    for judge in range(4):
        for task in range(TASKS):
            for order in ("AB", "BA"):
                right = rng.random() < 0.85 - judge * 0.05
                winner = better[task] if right else 1 - better[task]
                followed = judge == 3 and rng.random() < 0.4
                rows.append((f"j{judge}", f"t{task:02d}", order[0] if followed else "AB"[winner], order))
    table = pd.DataFrame(rows, columns=["worker", "task", "label", "shown"])
    return describe(allalike.jury(table, order="shown", **options))


add("panels/both orders of answers", partial(both_orders, verdicts_name="answers"))


@case("panels/samples of classes")
def _samples(folder: Path) -> Any:
    parts = [draw_classes(seed).assign(epoch=seed) for seed in (11, 12, 13)]
    return describe(allalike.jury(pd.concat(parts, ignore_index=True), sample="epoch", gold=first(GOLD, 55)))


@case("panels/samples of scores")
def _score_samples(folder: Path) -> Any:
    parts = [_table(draw_scores(seed)).assign(epoch=seed) for seed in (11, 12, 13)]
    return describe(allalike.jury(pd.concat(parts, ignore_index=True), domain="real", sample="epoch"))


@case("panels/saved files")
def _saved(folder: Path) -> Any:
    panel = allalike.jury(draw_classes(), gold=first(GOLD, 52), positive="pass", by="topic")
    panel.save(folder / "out")
    found = allalike.load(folder / "out").explain(task="t01").summary()
    files = sorted(path.relative_to(folder / "out").as_posix() for path in (folder / "out").rglob("*"))
    return {"files": files, "task": facts(found)}
