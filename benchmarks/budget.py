"""Measure what answers bring that are bought by a plan, beside other ways to buy them, on crowds whose truth is known.

Of every crowd 200 tasks are drawn whose truth is known and which have seven answers or more. Each begins with two
answers, drawn at random; then answers are bought back, a quarter of an answer per task at a time, until it has three
and a half on average. All cost the same. Four ways to buy:

- *random*: tasks in random order, and of each whoever comes;
- *fewest first*: tasks with the fewest answers, and whoever comes;
- *least sure first*: the tasks that `Result.next` names, and whoever comes;
- *plan*: tasks and workers as `Result.plan` chooses them, among those who really answered.

What counts is how many truths are wrong; *all* is with all answers that
there are. The plan also says which error it expects, with limits; *known* is a plan for half an answer per task where
50 of the truths are known, and counts the other tasks.

    python benchmarks/budget.py measure [CROWD ...]   measures into docs/evidence/budget.csv
    python benchmarks/budget.py [-o docs/guide/BUDGET.md]   prints the tables, or writes them into the page
"""

from __future__ import annotations

import csv
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

import allalike
from allalike.result.expected_gain import estimate_uncertainty
from allalike.result.plan import Offers, assign, find_offers
from public_data import use_data_beside_the_clone

use_data_beside_the_clone()
from gold_crowds import find_crowds  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

SEEN = ("bench_face", "bench_sentiment", "mmlu_biology", "snow_rte", "snow_temp")  # on which the plan was chosen
OTHERS = (
    *("bench_bluebird", "bench_dog", "bench_trec2011", "bench_zencrowd_all", "chexpert_readers"),
    *("medrel_cause_test", "mvh_edge", "mvh_high-pass", "triviaqa_judges"),
)
WAYS = ("random", "fewest first", "least sure first", "plan")
TASKS, LEAST, BEGIN, SHARE, ROUNDS, DRAWS = 200, 7, 2, 0.25, 6, 5
SHOWN = (0.5, 1.5)
KNOWN, KNOWN_DRAWS = 50, 2
FILE = Path(__file__).parents[1] / "docs" / "evidence" / "budget.csv"
MARK, END = "<!-- figures: benchmarks/budget.py -->", "<!-- end of these figures -->"
Floats = npt.NDArray[np.float64]
Pairs = list[tuple[int, int]]


class Row(NamedTuple):
    """What was found after some answers were bought: the share of wrong truths, and what the plan had expected."""

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
        """Find the truths by all that was bought."""
        return allalike.discover(self.rows, domain="categorical", gold=gold)

    def measure_error(self, result: allalike.Result, known: Collection[int] = ()) -> float:
        """Return the share of wrong truths, of tasks whose truth was not known."""
        found, truth = (np.delete(each, list(known)) for each in (result.truth["label"].to_numpy(), self.truth))
        return float((found != truth).mean())

    def ask_anyone(self, score: Floats, number: int) -> Pairs:
        """Ask whoever comes about the tasks with the highest scores; among equals at random."""
        order = np.lexsort((self.rng.random(len(score)), -score.round(9))).tolist()
        return [(task, self.queue[task][0]) for task in order if self.queue[task]][:number]

    def plan(self, result: allalike.Result, number: int) -> tuple[Pairs, dict[str, float]]:
        """Ask as a plan does, among those who really answered, and return which error it expects."""
        sure = estimate_uncertainty(result.run, result.weighing, result.found, result.posteriors)
        known = find_offers(result.run, result.weighing, sure.rates, None)
        place = {worker: number for number, worker in enumerate(result.run.workers.tolist())}
        rows = np.array([place.get(worker, len(place)) for worker in self.workers])
        load = np.full(len(rows), np.ceil(2 * number / len(rows)))
        group = np.where(rows < len(place), known.group[rows], len(place) + np.arange(len(rows)))
        offers = Offers(known.rate[rows], known.price[rows], group, load)
        gone = [set(group[~np.isin(self.workers, queue)].tolist()) for queue in self.queue]
        stakes, tasks = sure.of_tasks(), sure.tasks.tolist()
        asked = assign(stakes, offers, [gone[task] for task in tasks], number)
        error = sure.describe_error(float(stakes.errors.mean()))
        return [(tasks[each.task], self.workers[each.worker]) for each in asked], error


def choose(way: str, market: Market, result: allalike.Result, number: int) -> tuple[Pairs, dict[str, float]]:
    """Choose which answers to buy, and say which error is expected then, if it is known."""
    unknown = dict.fromkeys(("expected", "ci_low", "ci_high"), np.nan)
    if way == "plan":
        return market.plan(result, number)
    truth = result.truth
    scores = {
        "random": np.zeros(len(truth)),
        "fewest first": -truth["answers"].to_numpy(float),
        "least sure first": -truth["confidence"].to_numpy(),
    }
    return market.ask_anyone(scores[way], number), unknown


def buy_back(crowd: str, way: str, draw: int) -> list[Row]:
    """Buy answers in one of the ways."""
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
    """Buy all answers; and with some known truths, those of a plan."""
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
    """Measure some crowds, and put what was found into the file, in the place of what was there of them."""
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
    """Read what was measured."""
    if not FILE.exists():
        return []
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    return [Row(row[0], row[1], int(row[2]), *map(float, row[3:])) for row in rows]


def tell_ways(rows: Sequence[Row], crowds: Sequence[str]) -> list[str]:
    """Return a table of some crowds: errors in each way, and by how much a plan is better than random order."""
    heads = ["wrong truths in %", "begin", *(f"{way}, +{bought:g}" for bought in SHOWN for way in WAYS), "all answers"]
    lines = [heads, ["---", *["--:"] * (len(heads) - 1)]]
    tables = {way: np.array([100 * _by_draw(rows, crowd, way) for crowd in crowds]) for way in WAYS}
    every = [100 * np.mean([row.error for row in rows if (row.crowd, row.way) == (crowd, "all")]) for crowd in crowds]
    for place, crowd in enumerate(crowds):
        errors = {way: table[place] for way, table in tables.items()}
        lines.append([f"`{crowd}`", *_tell_steps(errors), f"{every[place]:.1f}"])
    over_crowds = {way: table.mean(axis=1) for way, table in tables.items()}
    return _write([*lines, ["mean, with limits over crowds", *_tell_steps(over_crowds), f"{np.mean(every):.1f}"]])


def _tell_steps(errors: dict[str, Floats]) -> list[str]:
    """Return mean errors in each way after each step, and the gap between plan and random order with its limits."""
    cells = [f"{errors['plan'][:, 0].mean():.1f}"]
    for bought in SHOWN:
        step = round(bought / SHARE)
        gap = (errors["plan"] - errors["random"])[:, step]
        cells += [f"{errors[way][:, step].mean():.1f}" for way in WAYS]
        cells[-1] += f" ({gap.mean():+.1f} ± {_half_width(gap):.1f})"
    return cells


def tell_plan(rows: Sequence[Row], crowds: Sequence[str]) -> list[str]:
    """Return a table of what plans expected: the mean error of each crowd beside it, and how often limits held."""
    heads = ["expected and found error in %", "expected", "found", "limits hold"]
    heads += [f"{KNOWN} known: {head}" for head in heads[1:]]
    lines = [heads, ["---", *["--:"] * (len(heads) - 1)]]
    for crowd in crowds:
        cells = [f"`{crowd}`"]
        for way in ("plan", "known"):
            told = [row for row in rows if (row.crowd, row.way) == (crowd, way) and row.bought > 0]
            held = sum(row.ci_low <= row.error <= row.ci_high for row in told)
            means = (np.mean([getattr(row, name) for row in told]) for name in ("expected", "error"))
            cells += [*(f"{100 * mean:.1f}" for mean in means), f"{held} of {len(told)}"]
        lines.append(cells)
    return _write(lines)


def _by_draw(rows: Sequence[Row], crowd: str, way: str) -> Floats:
    """Return the errors of one way: a row per draw, a column per batch."""
    found = [row.error for row in sorted(rows) if row.crowd == crowd and row.way == way]
    return np.array(found).reshape(-1, ROUNDS + 1)


def _half_width(values: Floats) -> float:
    return float(stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / np.sqrt(len(values)))


def _write(lines: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(line)} |" for line in lines]


def main() -> None:
    """Measure, or print or write the tables."""
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["measure"]:
        measure(sys.argv[2:] or [*OTHERS, *SEEN])
        return
    rows = read()
    parts = [
        *("Crowds on which nothing was chosen:", "", *tell_ways(rows, OTHERS), ""),
        *("Crowds on which it was chosen how to plan:", "", *tell_ways(rows, SEEN), ""),
        *("What plans expected:", "", *tell_plan(rows, [*OTHERS, *SEEN])),
    ]
    text = "\n".join(parts)
    if "-o" not in sys.argv:
        print(text)
        return
    page = Path(sys.argv[sys.argv.index("-o") + 1])
    before, _, rest = page.read_text(encoding="utf-8").partition(MARK)
    page.write_text(f"{before}{MARK}\n\n{text}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
