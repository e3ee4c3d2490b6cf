"""Plan: whom to ask about which task with some money, what that brings, and when to stop.

Expected errors come from how sure the truths are, and from what planned answers would change about it
(`allalike.api.planning.stakes`). Where the errors of workers are shared, truths are less sure than they seem, and no
answer of the same crowd changes that; so the limits reach from what is expected if all of it were found again by
another crowd to what half of this one finds again, and beyond by chance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.values import Values, frame_of
from allalike._core.options import check_number
from allalike._core.words import count
from allalike.api.inputs.prices import read_prices
from allalike.api.planning.assigning import ANYONE, Queues, assign, find_offers
from allalike.api.planning.stakes import find_standing
from allalike.api.results.targets import write_table
from allalike.engines.sample import pick_tasks
from allalike.errors import OptionError
from allalike.readers.sources import find_inputs

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt
    import pandas as pd

    from allalike._core.blocks.block import Array
    from allalike.api.planning.assigning import Assignment, Offers
    from allalike.api.planning.stakes import Standing
    from allalike.engines import Run, TaskTable
    from allalike.methods import Weighing

__all__ = ["AnswerPlan", "make_plan"]

_FAIR_SHARES = 2.0  # of the answers of a batch: nobody is asked for more, unless it is said how many
_SPARE_TASKS = 4  # times as many tasks are looked at as answers can be paid for


@dataclass(frozen=True)
class AnswerPlan:
    """Answers to ask for next, and what they bring.

    Parameters
    ----------
    table
        Of each answer of the next batch, the most useful first: task, worker, price, gain.
    summary
        What it costs, the expected error before and after, with limits, and how much of the budget is worth spending.
    inputs
        The files that no output may replace.

    >>> import allalike
    >>> crowd = {"ada": "xxyyxyxxyx", "bob": "xxyyxyxxyy", "eve": "xxyyxyxxxy", "kim": "xxyy"}
    >>> rows = [(worker, task, label) for worker, labels in crowd.items() for task, label in enumerate(labels)]
    >>> plan = allalike.discover(rows).plan(3, prices={"ada": 2, "kim": 1, "anyone": 1.5}, max_load=1)
    >>> plan.table[["task", "worker", "price"]]
       task  worker  price
    0     8     kim    1.0
    1     9  anyone    1.5
    """

    table: pd.DataFrame
    summary: dict[str, Any]
    inputs: tuple[Path, ...] = ()

    def __repr__(self) -> str:
        return "\n".join(_tell(self.summary))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False, safe_csv: bool = False) -> Path:
        """Write the table as CSV, whole or not at all, and return the path.

        An earlier plan is replaced, another file only if it may be overwritten, and an input never. If the table must
        be safe, texts that a spreadsheet would take for formulas get an apostrophe before them.

        >>> import allalike, tempfile
        >>> plan = allalike.discover([("ada", 1, "x"), ("bob", 1, "y"), ("ada", 2, "x"), ("bob", 2, "x")]).plan(1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     plan.save(folder + "/plan.csv").read_text(encoding="utf-8").splitlines()[0]
        'task,worker,price,gain'
        """
        return write_table(self.table, path, inputs=self.inputs, overwrite=overwrite, safe_csv=safe_csv)


def make_plan(
    run: Run,
    weighing: Weighing,
    found: TaskTable,
    posteriors: Callable[[], TaskTable] | None,
    *,
    budget: float,
    price: float | None = None,
    prices: Any = None,
    batch: int | None = None,
    max_load: int | None = None,
    worth: float = 0.0,
    inputs: tuple[Path, ...] = (),
) -> AnswerPlan:
    """Plan answers, as `Result.plan` has it."""
    check_number(budget, "budget", least=0)
    check_number(worth, "worth", least=0)
    check_number(1 if batch is None else batch, "batch", least=1, whole=True)
    check_number(1 if max_load is None else max_load, "max_load", least=1, whole=True)
    sure = find_standing(run, weighing, found, posteriors)
    each = None if price is None else float(check_number(price, "price", least=0))
    if each == 0:
        raise OptionError("price is 0. Answers that cost nothing need no plan: give a price above 0, such as 0.05.")
    offers = find_offers(run, weighing, sure.rates, None if prices is None else read_prices(prices), each)
    if budget < offers.cheapest:
        raise OptionError(
            f"budget is {budget:,.10g}, and the cheapest answer costs {offers.cheapest:,.10g}. Give as much at least."
        )
    payable = budget / offers.cheapest
    offers = _limit_loads(offers, int(min(payable, batch or len(sure.tasks))), max_load)
    most = Queues(offers).bound(sure.stake(), budget)
    rows = np.sort(np.argsort(-most, kind="stable")[: int(min(_SPARE_TASKS * (payable + 1), len(most)))])
    tasks, stakes = sure.tasks.take(rows), sure.stake(rows)
    taken = [set(offers.group[workers].tolist()) for workers in _list_answered(run, tasks)]
    now = assign(stakes, offers, taken, budget, batch or np.inf, worth)
    left = budget - sum(each.price for each in now)
    batches = max(np.ceil(left / offers.cheapest / max(len(now), 1)), 1.0)  # which pay the rest
    later = replace(offers, load=batches * offers.load)
    asked = [*now, *assign(stakes, later, taken, left, worth=worth)]
    workers = [*run.workers.tolist(), ANYONE]
    columns: dict[str, Values | Array] = {
        "task": tasks.take(np.array([each.task for each in now], np.intp)),
        "worker": Values([workers[each.worker] for each in now]),
        "price": np.array([each.price for each in now], float),
        "gain": np.array([each.gain for each in now], float),
    }
    before = float(sure.stake().errors.mean()) if len(sure.tasks) else 0.0
    told = {"tasks": len(sure.tasks), "known": sure.truths, "before": sure.tell(before)}
    said = {"budget": budget, "price": price, "batch": batch, "worth": worth, "max_load": int(offers.load[0])}
    steps = {name: _describe(each, before, sure) for name, each in (("next", now), ("all", asked))}
    stop = budget - steps["all"]["cost"] >= offers.cheapest
    return AnswerPlan(frame_of(columns), {**said, **told, **steps, "stop": stop}, (*inputs, *find_inputs(prices)))


def _describe(asked: Sequence[Assignment], before: float, sure: Standing) -> dict[str, Any]:
    """Say what some answers cost, and which error is expected with them."""
    saved = sum(each.saved for each in asked)
    return {
        "answers": len(asked),
        "cost": float(sum(each.price for each in asked)),
        "tasks": len({each.task for each in asked}),
        "workers": len({each.worker for each in asked}),
        "after": sure.tell(before - saved / max(len(sure.tasks), 1)),
    }


def _limit_loads(offers: Offers, answers: int, max_load: int | None) -> Offers:
    """Limit how often a worker is asked in a batch, by default to twice her share of the answers."""
    named = np.isfinite(offers.price[:-1])
    fair = np.ceil(_FAIR_SHARES * answers / max(int(named.sum()), 1))
    load = np.full(len(offers.price), float(max_load or max(fair, 1.0)))
    load[-1] = np.inf
    return replace(offers, load=load)


def _list_answered(run: Run, tasks: Values) -> list[npt.NDArray[np.intp]]:
    """List who answered each of these tasks."""
    block = pick_tasks(run, tasks.hashes())
    of_task = np.split(block.worker, block.starts[1:])
    order = np.argsort(block.task_hash, kind="stable")
    places = order[np.searchsorted(block.task_hash[order], tasks.hashes())]
    return [of_task[place] for place in places]


def _tell(summary: Mapping[str, Any]) -> list[str]:
    """Say what a plan asks for, what it costs and brings, how far that can be trusted, and whether to stop.

    >>> told = {"expected": 0.1, "low": 0.02, "high": 0.15}
    >>> step = {"answers": 3, "cost": 6.0, "tasks": 2, "workers": 3, "after": told}
    >>> for line in _tell({"budget": 6, "before": told, "next": step, "all": step, "worth": 0.0,
    ...                    "stop": False, "known": 40}):
    ...     print(line)
    Ask for 3 answers to 2 tasks, of 3 workers, for 6 of 6.
    Expected now: 10.0 % of the truths are wrong (2.0 to 15.0 %).
    With these answers: 10.0 % of the truths are wrong (2.0 to 15.0 %).
    """
    now, whole = summary["next"], summary["all"]
    lines = [f"Expected now: {_write(summary['before'])}."]
    if now["answers"]:
        asked = [count(now[name], name[:-1]) for name in ("answers", "tasks", "workers")]
        lines.insert(
            0, f"Ask for {asked[0]} to {asked[1]}, of {asked[2]}, for {now['cost']:,.10g} of {summary['budget']:,.10g}."
        )
        lines.append(f"With these answers: {_write(now['after'])}.")
    if whole["answers"] > now["answers"]:
        after = _write(whole["after"])
        lines.append(f"With all {whole['answers']:,} that are worth it, for {whole['cost']:,.10g}: {after}.")
    if not summary["known"]:
        lines.append(
            "This is the crowd's own estimate, which cannot see errors that most workers share, so it may be far too"
            " low. Half of such limits held on public crowds. Some known truths (gold) tell."
        )
    if summary["stop"]:
        least = f"as much as {summary['worth']:g} per unit of money" if summary["worth"] else "anything"
        then = f"Stop after {whole['cost']:,.10g} of {summary['budget']:,.10g}" if whole["answers"] else "Stop"
        lines.append(f"{then}: by this crowd's own estimate, nobody who may still be asked brings {least}.")
    return lines


def _write(error: Mapping[str, float]) -> str:
    shares = [f"{100 * error[name]:.1f}" for name in ("expected", "low", "high")]
    return f"{shares[0]} % of the truths are wrong ({shares[1]} to {shares[2]} %)"
