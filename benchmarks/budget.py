"""Measure the benefit of planned answers, compared with other orders of buying, on crowds with gold labels.

For each crowd, 200 random tasks with a gold label and at least seven answers start with two random answers each.
The remaining answers are bought back in batches of a quarter answer per task, up to 3.5 per task:

- *random*: tasks in random order, any of their workers;
- *fewest first*: tasks with the fewest answers, any of their workers;
- *least certain first*: the tasks that `Result.next_tasks` names, any of their workers;
- *plan*: tasks and workers chosen by `Result.plan`, among the existing answers.

The score is the share of wrong labels; *all* uses all answers. *known* is a plan for half an answer per task with 50
gold labels, scored on the other tasks.

    python benchmarks/budget.py measure [CROWD ...]   measures into docs/evidence/budget.csv
    python benchmarks/budget.py [-o docs/guide/BUDGET.md]   prints the table, or writes it into the page
"""

from __future__ import annotations

import csv
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

import allalike
from allalike.result.plan import Offers, assign, estimate_uncertainty, find_offers
from public_data import use_data_beside_the_clone

use_data_beside_the_clone()
from gold_crowds import find_crowds  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

SEEN = ("bench_face", "bench_sentiment", "mmlu_biology", "snow_rte", "snow_temp")  # used to develop the planner
OTHERS = (
    *("bench_bluebird", "bench_dog", "bench_trec2011", "bench_zencrowd_all", "chexpert_readers"),
    *("medrel_cause_test", "mvh_edge", "mvh_high-pass", "triviaqa_judges"),
)
WAYS = ("random", "fewest first", "least certain first", "plan")
TASKS, LEAST, BEGIN, SHARE, ROUNDS, DRAWS = 200, 7, 2, 0.25, 6, 5
SHOWN = (0.5, 1.5)
KNOWN, KNOWN_DRAWS = 50, 2
FILE = Path(__file__).parents[1] / "docs" / "evidence" / "budget.csv"
MARK, END = "<!-- figures: benchmarks/budget.py -->", "<!-- end of these figures -->"
Floats = npt.NDArray[np.float64]
Pairs = list[tuple[int, int]]


class Row(NamedTuple):
    """The share of wrong labels after a batch, and the error that the plan expected."""

    crowd: str
    way: str
    draw: int
    bought: float
    error: float
    expected: float
    ci_low: float
    ci_high: float


class Market:
    """Answers that can be bought back."""

    def __init__(self, crowd: str, draw: int) -> None:
        answers = find_crowds(names=[crowd])[0].read()
        self.rng = np.random.default_rng([draw, len(answers.tasks)])
        bounds, gold = answers.starts, dict(zip(answers.gold_task.tolist(), answers.gold_label.tolist(), strict=True))
        able = [task for task in gold if bounds[task + 1] - bounds[task] >= LEAST]
        chosen = np.sort(self.rng.permutation(able)[:TASKS]).tolist()
        self.truth = [gold[task] for task in chosen]
        self.said = [
            dict(zip(answers.worker[first:last].tolist(), answers.label[first:last].tolist(), strict=True))
            for first, last in ((bounds[task], bounds[task + 1]) for task in chosen)
        ]
        self.queue = [self.rng.permutation(list(said)).tolist() for said in self.said]
        self.workers = sorted({worker for said in self.said for worker in said})
        self.rows: list[tuple[int, int, int]] = []
        for task, queue in enumerate(self.queue):
            self.buy([(task, worker) for worker in queue[:BEGIN]])

    def buy(self, pairs: Pairs) -> None:
        """Buy the answers of some workers to some tasks."""
        for task, worker in pairs:
            self.queue[task].remove(worker)
            self.rows.append((worker, task, self.said[task][worker]))

    def solve(self, gold: dict[int, int] | None = None) -> allalike.Result:
        """Estimate the labels from all answers bought."""
        return allalike.discover(self.rows, domain="categorical", gold=gold)

    def measure_error(self, result: allalike.Result, known: Collection[int] = ()) -> float:
        """Return the share of wrong labels, of tasks without gold."""
        found, truth = (np.delete(each, list(known)) for each in (result.truth["label"].to_numpy(), self.truth))
        return float((found != truth).mean())

    def ask_anyone(self, score: Floats, number: int) -> Pairs:
        """Buy answers by any worker to the tasks with the highest scores, with ties in random order."""
        order = np.lexsort((self.rng.random(len(score)), -score.round(9))).tolist()
        return [(task, self.queue[task][0]) for task in order if self.queue[task]][:number]

    def plan(self, result: allalike.Result, number: int) -> tuple[Pairs, dict[str, float]]:
        """Buy the answers of a plan, among existing ones; return the pairs and the expected error."""
        sure = estimate_uncertainty(result.run, result.weighing, result.found, result.posteriors)
        known = find_offers(result.run, result.weighing, sure.rates, None)
        place = {worker: number for number, worker in enumerate(result.run.workers.tolist())}
        rows = np.array([place.get(worker, len(place)) for worker in self.workers])
        group = np.where(rows < len(place), known.group[rows], len(place) + np.arange(len(rows)))
        offers = Offers(known.rate[rows], known.price[rows], group, np.full(len(rows), np.ceil(2 * number / len(rows))))
        gone = [set(group[~np.isin(self.workers, queue)].tolist()) for queue in self.queue]
        stakes, tasks = sure.of_tasks(), sure.tasks.tolist()
        asked = assign(stakes, offers, [gone[task] for task in tasks], number)
        error = sure.describe_error(float(stakes.errors.mean()))
        return [(tasks[each.task], self.workers[each.worker]) for each in asked], msgspec.structs.asdict(error)


def choose(way: str, market: Market, result: allalike.Result, number: int) -> tuple[Pairs, dict[str, float]]:
    """Choose the answers to buy; return them and the expected error, if known."""
    unknown = dict.fromkeys(("expected", "ci_low", "ci_high"), np.nan)
    if way == "plan":
        return market.plan(result, number)
    truth = result.truth
    scores = {
        "random": np.zeros(len(truth)),
        "fewest first": -truth["answers"].to_numpy(float),
        "least certain first": -truth["confidence"].to_numpy(),
    }
    return market.ask_anyone(scores[way], number), unknown


def buy_back(crowd: str, way: str, draw: int) -> list[Row]:
    """Buy answers with one strategy."""
    market = Market(crowd, draw)
    number = round(SHARE * len(market.truth))
    result = market.solve()
    rows = [Row(crowd, way, draw, 0.0, market.measure_error(result), np.nan, np.nan, np.nan)]
    for step in range(1, ROUNDS + 1):
        pairs, expected = choose(way, market, result, number)
        market.buy(pairs)
        result = market.solve()
        rows.append(Row(crowd, way, draw, SHARE * step, market.measure_error(result), **expected))
    return rows


def buy_all(crowd: str, draw: int) -> list[Row]:
    """Buy all answers, and the answers of a plan with gold labels."""
    market = Market(crowd, draw)
    chosen = market.rng.choice(len(market.truth), KNOWN, replace=False).tolist()
    known = {task: market.truth[task] for task in chosen}
    pairs, expected = market.plan(market.solve(known), round(SHOWN[0] * len(market.truth)))
    market.buy(pairs)
    with_some = Row(crowd, "known", draw, SHOWN[0], market.measure_error(market.solve(known), known), **expected)
    for task, queue in enumerate(market.queue):
        market.buy([(task, worker) for worker in list(queue)])
    return [with_some, Row(crowd, "all", draw, np.inf, market.measure_error(market.solve()), np.nan, np.nan, np.nan)]


def measure(crowds: Sequence[str]) -> None:
    """Measure crowds and replace their rows in the file."""
    for crowd in crowds:
        found = [row for draw in range(KNOWN_DRAWS) for row in buy_all(crowd, draw)]
        found += [row for draw in range(DRAWS) for way in WAYS for row in buy_back(crowd, way, draw)]
        kept = [row for row in read() if row.crowd != crowd]
        with FILE.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(Row._fields)
            for row in sorted([*kept, *found]):
                writer.writerow([round(each, 5) if isinstance(each, float) else each for each in row])
        print(crowd, flush=True)


def read() -> list[Row]:
    """Read the file."""
    if not FILE.exists():
        return []
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    return [Row(row[0], row[1], int(row[2]), *map(float, row[3:])) for row in rows]


def tabulate(rows: Sequence[Row]) -> list[str]:
    """Return a table of errors per strategy, averaged over crowds, and the gain of a plan over random order."""
    lines = [
        "| wrong labels, % | before | " + " | ".join(WAYS) + " | all answers |",
        "| --- |" + " --: |" * (len(WAYS) + 2),
    ]
    for name, crowds in (("nine other crowds", OTHERS), ("five crowds chosen on", SEEN)):
        errors = {way: 100 * np.array([_by_draw(rows, crowd, way).mean(axis=0) for crowd in crowds]) for way in WAYS}
        every = 100 * np.mean([row.error for row in rows if row.way == "all" and row.crowd in crowds])
        for bought in SHOWN:
            step = round(bought / SHARE)
            gap = (errors["plan"] - errors["random"])[:, step]
            cells = [f"{errors[way][:, step].mean():.1f}" for way in WAYS]
            cells[-1] += f" ({gap.mean():+.1f} ± {_half_width(gap):.1f})"
            lines.append(
                f"| {name}, +{bought:g} | {errors['plan'][:, 0].mean():.1f} | {' | '.join(cells)} | {every:.1f} |"
            )
    return lines


def count_held(rows: Sequence[Row], way: str) -> str:
    """Return the coverage of the intervals of expected error, on crowds that were not used for development."""
    told = [row for row in rows if row.way == way and row.crowd in OTHERS and row.bought > 0]
    return f"{sum(row.ci_low <= row.error <= row.ci_high for row in told)} of {len(told)}"


def _by_draw(rows: Sequence[Row], crowd: str, way: str) -> Floats:
    """Return the errors of one strategy: a row per draw, a column per batch."""
    found = [row.error for row in sorted(rows) if row.crowd == crowd and row.way == way]
    return np.array(found).reshape(-1, ROUNDS + 1)


def _half_width(values: Floats) -> float:
    return float(stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / np.sqrt(len(values)))


def main() -> None:
    """Measure, or print or write the table."""
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["measure"]:
        measure(sys.argv[2:] or [*OTHERS, *SEEN])
        return
    rows = read()
    held = f"{count_held(rows, 'plan')}, and {count_held(rows, 'known')} with {KNOWN} gold labels"
    text = "\n".join(
        [*tabulate(rows), "", f"Intervals of the expected error that cover the error on these nine crowds: {held}."]
    )
    if "-o" not in sys.argv:
        print(text)
        return
    page = Path(sys.argv[sys.argv.index("-o") + 1])
    before, _, rest = page.read_text(encoding="utf-8").partition(MARK)
    page.write_text(f"{before}{MARK}\n\n{text}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
