"""Result: the truths found, the workers weighed, and how it was done."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.values import frame_of
from allalike._core.late import pd
from allalike._core.options import check_number
from allalike.errors import OptionError, UnsupportedError
from allalike.frames import Frame
from allalike.methods.auto.sureness.next_labels import rank_tasks
from allalike.result.saving import Saved, gather_material, write_page
from allalike.result.summaries import group_columns
from allalike.result.tables import list_first, next_columns, result_html, result_text, truth_columns
from allalike.result.targets import REPORT
from allalike.telling.answers import remark_answers, remark_doubts
from allalike.telling.remark import Remark
from allalike.telling.summary import Summary

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from pathlib import Path

    from allalike.engines import Run, TaskTable
    from allalike.methods import Weighing
    from allalike.readers.formats.files import Files
    from allalike.reliability.agreement import Agreement
    from allalike.report.material import Material
    from allalike.report.plot import Plots
    from allalike.result.explanations import TaskExplanation, WorkerExplanation
    from allalike.result.inputs.opening import Basis
    from allalike.result.plan import AnswerPlan


@dataclass(frozen=True)
class Result(Saved[Frame]):
    """The truths that were found, the workers that were weighed, and how it was done.

    Parameters
    ----------
    run
        The answers it was found in, where they are.
    weighing
        What the method found out about the workers.
    found
        Per task: label, confidence, error, tied; the label found without weights, and whether it is another one.
    summary
        Counts, settings, versions, what was guessed, and the errors against gold where there is any.
    posteriors
        What finds the probability of each class, per task, for methods that know it.
    basis
        What it was found from, so that it can go on with more answers.
    inputs
        The files and folders that answers and gold were read from, which `save` never replaces.
    again
        What finds the truths of another run in the same way.
    files, sources
        How the files of the answers were read, and their names, with those of gold and history.
    command
        The words that were typed behind ``allalike`` to find it; none in Python.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "y")])
    >>> result.truth[["task", "label", "answers", "changed"]]
       task label  answers  changed
    0     1     x        3    False
    1     2     y        1    False
    """

    run: Run
    weighing: Weighing
    found: TaskTable
    summary: dict[str, Any]
    posteriors: Callable[[], TaskTable] | None = None
    basis: Basis | None = None
    inputs: tuple[Path, ...] = ()
    again: Callable[[Run], TaskTable] | None = None
    files: Files | None = None
    sources: tuple[str, ...] = ()
    command: tuple[str, ...] = ()

    @property
    def _facts(self) -> Summary:
        return Summary.from_dict(self.summary)

    def __repr__(self) -> str:
        has_groups = self.weighing.insight.groups is not None
        first, recurring = list_first(self.found, self.run.encoding), self.run.domain.recurring
        return result_text(self._facts, first, has_groups=has_groups, recurring=recurring)

    def _repr_html_(self) -> str:
        plain = self.tables_as("pandas")
        return result_html(repr(self), plain.workers, plain.next())

    @property
    def notes(self) -> list[str]:
        """What was recognised in the answers, what was left out, and what looks strange, as the program says it.

        >>> import allalike
        >>> allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 2, "y"), ("eve", 3, "x")], method="UA").notes
        ['Recognised: the labels are categorical.', '2 of 3 (67 %) tasks have one answer only, ...']
        """
        told = [*remark_answers(self._facts), *map(Remark, self._facts.remarks), *remark_doubts(self._facts)]
        return [remark.sentence for remark in told]

    @cached_property
    def truth(self) -> Frame:
        """One row per task: task, label, confidence, error, answers, tied, unweighted, changed.

        Of numbers, auto knows low and high in place of the confidence: the limits of the truth, of 95 %.
        """
        return self._dress(truth_columns(self.found.joined(), self.run.encoding, self.weighing))

    @cached_property
    def workers(self) -> Frame:
        """One row per worker: worker, answers, disparity, fault, weight, and error_rate where the method knows it.

        With auto also shared, error_rate for classes or rmse for numbers, low, high and few: how many of her answers
        others answered too, how good she probably is, in which limits of 95 %, and whether less than 5 are shared.
        Where every task is a problem of its own, there is one row per task and worker. The last columns are flag
        (block, look or few) and reason. Rows are in the order of ids; in ``workers.csv`` flagged workers come first.
        """
        from allalike.result.flags import flag_columns

        return self._dress(flag_columns(self.run, self.weighing, self.found, self.summary))

    @cached_property
    def groups(self) -> Frame:
        """One row per group of workers who answer alike: copies, who have one voice, and those who are only alike.

        >>> import allalike
        >>> allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")]).groups.columns.tolist()
        ['group', 'kind', 'size', 'members', 'common', 'shared_rare', 'fidelity', 'probability']
        """
        return self._dress(group_columns(self.run, self.weighing))

    @cached_property
    def objects(self) -> Frame:
        """One row per object of a truth, where truths are lists of objects, with its confidence and who supports it."""
        things = self.run.encoding.things
        if things is None:
            raise UnsupportedError(f"The truths of {self.run.domain.name} labels are not made of objects.")
        piece = self.found.joined()
        return self._dress(things.list_objects(piece.tasks, piece.found))

    @cached_property
    def agreement(self) -> Agreement:
        """How much the workers agree: Krippendorff's alpha with limits of 95 %, each worker's effect on it, and kappas.

        >>> import allalike
        >>> allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("ada", 2, "y"), ("bob", 2, "x")]).agreement.alpha
        0.0
        """
        from allalike.reliability.agreement import measure_agreement

        return measure_agreement(self.run)

    @cached_property
    def probabilities(self) -> Frame:
        """One row per task: how probable each class is, for methods that know it (auto, DS and the like).

        >>> import allalike
        >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "y"), ("bob", 2, "y")]
        >>> allalike.discover(rows, method="DS-1").probabilities.round(1)
           task    x    y
        0     1  1.0  0.0
        1     2  0.0  1.0
        """
        piece = self._need_posteriors().joined()
        table = piece.found["probability"]
        classes = self.run.encoding.decode(np.arange(table.shape[1])).tolist()
        return self._dress(pd.concat([frame_of({"task": piece.tasks}), pd.DataFrame(table, columns=classes)], axis=1))

    def update(self, more: Any, *, gold: Any = None) -> Result:
        """Return the result for these answers and more, as if it had been found from all of them.

        Works on the engines memory and disk, and leaves this result as it is. All answers are prepared and weighed
        again, so it takes about as long as `discover`, but for reading the old ones.

        Parameters
        ----------
        more
            New answers, in any form that `discover` takes. They are read with the columns, options and domain of the
            first ones, and must fit in memory. They may be about new or old tasks, by new or old workers, and name new
            classes. A worker who answers a task again is dealt with by ``repeats``, as `read` has it.
        gold
            Further truths that are known; those given before stay known, unless a new one takes their place.

        >>> import allalike
        >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("ada", 2, "x"), ("bob", 2, "y")])
        >>> result.update([("eve", 2, "x"), ("eve", 3, "z")]).truth[["task", "label", "answers"]]
           task label  answers
        0     1     x        2
        1     2     x        3
        2     3     z        1
        """
        if self.basis is None or self.basis.renew is None:
            raise UnsupportedError("This result cannot be updated. Run allalike.discover on all answers.")
        found: Result = self.basis.renew(self.basis, more, gold)
        return found

    def next(self, n: int = 10) -> Frame:
        """Return the tasks that one more answer helps most: task, confidence, answers, gain.

        The least sure come first. The gain is by how much an answer of a typical worker is expected to raise the
        probability that the label is right; only auto on classes knows it. Tasks whose truth is known are left out. Ask
        a few per cent of the tasks at a time, `update` the result with the answers, and ask for the next ones.

        Parameters
        ----------
        n
            How many tasks.

        >>> import allalike
        >>> crowd = {"ada": "xxyyxyxxyx", "bob": "xxyyxyxxyy", "eve": "xxyyxyxxxy"}
        >>> rows = [(worker, task, label) for worker, labels in crowd.items() for task, label in enumerate(labels)]
        >>> result = allalike.discover(rows)
        >>> for worker, answer in (("kim", "x"), ("lea", "y")):
        ...     result = result.update([(worker, task, answer) for task in result.next(1)["task"]])
        >>> result.truth["answers"].tolist()
        [3, 3, 3, 3, 3, 3, 3, 3, 5, 3]
        """
        piece = rank_tasks(self.found.pieces(), check_number(n, "n", least=0, whole=True))
        return self._dress(next_columns(piece, self.weighing))

    def explain(self, *, task: Any = None, worker: Any = None) -> TaskExplanation | WorkerExplanation:
        """Explain why a task has its label, or what a worker is like.

        Of a task: all answers with their weights, the margin, and whose change would change the label. Of a worker: the
        nearest and farthest colleagues, the strongest disagreements, what is unusual with its evidence, and what the
        labels would be without this worker.

        >>> import allalike
        >>> rows = [("ada", 7, "x"), ("bob", 7, "x"), ("eve", 7, "y"), ("eve", 8, "x")]
        >>> result = allalike.discover(rows, method="UA")
        >>> result.explain(task=7).answers[["worker", "label", "share", "if_changed"]].round(2)
          worker label  share  if_changed
        0    ada     x   0.33        True
        1    bob     x   0.33        True
        2    eve     y   0.33       False
        >>> result.explain(worker="eve").without.changed
        0
        """
        from allalike.result.explain import explain_task, explain_worker

        if (task is None) == (worker is None):
            raise OptionError(
                "explain needs the id of a task or of a worker: explain(task=...) or explain(worker=...)."
            )
        if task is not None:
            return explain_task(self.run, self.weighing, self.found, task)
        return explain_worker(self.run, self.weighing, self.found, self.again, worker)

    def plan(
        self,
        budget: float = 10.0,
        *,
        price: float | None = None,
        prices: Any = None,
        batch: int | None = None,
        max_load: int | None = None,
        worth: float = 0.0,
    ) -> AnswerPlan:
        """Return whom to ask about which task with some money, what it brings, and whether to stop.

        The most useful answer per unit of money comes first, beside those before it: that to an unsure task, of a
        worker who errs seldom, as far as that is known. Nobody is asked about a task that she, or one of her copies,
        has answered, nor if her answers say nothing; somebody new, called ``anyone``, errs as a typical worker does.
        Needs labels with an error rate, such as classes. For numbers and other labels, use `next`.

        Parameters
        ----------
        budget
            How much may be spent, in the unit of the prices.
        price
            The price of an answer, by default 1. With ``prices``, that of the workers whom these do not name.
        prices
            What an answer costs: a mapping from workers to prices, a table with worker and price, or its path. Only
            those with a price are asked, unless ``price`` is given; ``anyone`` is somebody new.
        batch
            How many answers to ask for now, before the result is updated; by default all that can be paid.
        max_load
            How many answers one worker is asked for in a batch, at most; by default twice her share.
        worth
            How many errors a unit of money must save, at least.

        >>> import allalike
        >>> crowd = allalike.simulate("one-coin(classes=2)", workers=9, tasks=60, seed=1)
        >>> result = allalike.discover(crowd.answers)
        >>> plan = result.plan(20, batch=5)
        >>> len(plan.table), plan.summary["all"]["answers"], plan.table.columns.tolist()
        (5, 20, ['task', 'worker', 'price', 'gain'])
        """
        from allalike.result.plan import make_plan

        return make_plan(
            self.run,
            self.weighing,
            self.found,
            self.posteriors,
            budget=budget,
            price=price,
            prices=prices,
            batch=batch,
            max_load=max_load,
            worth=worth,
            inputs=self.inputs,
        )

    def curve(self) -> Frame:
        """Return how often truths are expected to be right with fewer answers: answers_per_task, expected_accuracy.

        For each number, so many answers per task are drawn, ten times, from about 20,000 answers, and the mean
        confidence is taken, each time with a temperature of its own. What is known about workers comes from all
        answers; with few answers per task the accuracy would really be a little lower.

        >>> import allalike
        >>> crowd = allalike.simulate("one-coin(classes=3)", workers=7, tasks=200, seed=1)
        >>> curve = allalike.discover(crowd.answers).curve()
        >>> curve["answers_per_task"].tolist(), bool(curve["expected_accuracy"].is_monotonic_increasing)
        ([1, 2, 3, 4, 5, 6, 7], True)
        """
        from allalike.result.tables import find_curve

        return self._dress(find_curve(self.run, self.weighing, self._facts.method.name))

    def report(self, path: str | os.PathLike[str] = REPORT, *, overwrite: bool = False) -> Path:
        """Write a page on which a person sees it: what to do next, workers, a map of them, tasks, agreement, settings.

        It is one file that opens in any browser and asks no network, of less than 2 MB however many answers there are:
        of large ones it shows sums and the most important rows, and says so.

        Parameters
        ----------
        path
            Where the page goes. An earlier report makes way.
        overwrite
            Whether a file may be replaced that allalike did not write.

        >>> import allalike, tempfile
        >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.report(folder + "/seen.html").read_text(encoding="utf-8")[:15]
        '<!doctype html>'
        """
        return write_page(self.material(), path, inputs=self.inputs, overwrite=overwrite)

    @property
    def plot(self) -> Plots:
        """Charts of the report as SVG pictures: `workers`, `map`, `confidence`, `errors` and `gold`."""
        from allalike.report.plot import Plots

        return Plots(self.material())

    def material(self) -> Material:
        """Return what a report is made of."""
        agreement = self.agreement if len(self.run.problems.sizes) == 1 else None
        material = gather_material(self.run, self.weighing, self.found, self.summary, agreement, self.command)
        return replace(material, quality=self.rated.get("quality", {}))
