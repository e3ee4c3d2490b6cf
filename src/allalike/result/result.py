"""Result: the estimated labels, the workers with their weights and errors, and how they were computed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.values import frame_of
from allalike._core.lazy_imports import pd
from allalike._core.options import check_number
from allalike.engines.sample import sample_tasks, thin_tasks
from allalike.errors import OptionError, UnknownNameError, UnsupportedError
from allalike.frames import Frame, FrameMixin
from allalike.methods.auto.next_labels import rank_tasks
from allalike.methods.fit import CopyGroups
from allalike.result.messages import list_all_notes
from allalike.result.quality import Flag, flag_columns, list_flags, rate_workers
from allalike.result.saved import Call, SavedAs
from allalike.result.saving import REPORT, list_output, save_result, write_page
from allalike.result.summaries import group_columns
from allalike.result.summary import Summary
from allalike.result.tables import ERRORS, next_columns, result_html, result_text, truth_columns

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping

    from allalike._core.blocks.block import Array
    from allalike._core.columns.values import Values
    from allalike.engines import Run, TaskTable
    from allalike.methods import Fit, Method
    from allalike.reliability.agreement import Agreement
    from allalike.report.plot import Plots
    from allalike.report.report_data import Material
    from allalike.result.explain import TaskExplanation, WorkerExplanation
    from allalike.result.plan import AnswerPlan

_CURVE_ANSWERS, _CURVE_DRAWS = 20_000, 10
_MAX_LOOKED_AT, _MAX_COMPARED = 5_000_000, 100_000  # answers for a table of quality: classes; sets, objects and masks


@dataclass(frozen=True)
class Result(FrameMixin[Frame]):
    """The estimated labels, the workers with their weights and errors, and how they were computed.

    ``found`` has the estimated labels per task, ``call`` is None if it cannot be repeated, `save` never replaces
    ``inputs``, and ``command`` has the arguments after ``allalike`` (empty in Python).

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "y")])
    >>> result.truth[["task", "label", "answers", "changed"]]
       task label  answers  changed
    0     1     x        3    False
    1     2     y        1    False
    """

    run: Run
    weighing: Fit
    found: TaskTable
    summary: dict[str, Any]
    method: Method | None = None
    posteriors: Callable[[], TaskTable] | None = None
    call: Call | None = None
    inputs: tuple[Path, ...] = ()
    sources: tuple[str, ...] = ()
    command: tuple[str, ...] = ()

    @property
    def facts(self) -> Summary:
        """The summary as a struct."""
        return Summary.from_dict(self.summary)

    def __repr__(self) -> str:
        return result_text(self.facts, self.found, self.run, has_groups=self.weighing.copy_groups is not None)

    def _repr_html_(self) -> str:
        plain = self.tables_as("pandas")
        workers = plain.workers.sort_values(next(name for name in ERRORS if name in plain.workers), kind="stable")
        return result_html(repr(self), {"Least certain tasks": plain.next_tasks(5), "Workers": workers})

    @property
    def notes(self) -> list[str]:
        """Inferred options, excluded rows and data warnings, one sentence each.

        >>> import allalike
        >>> allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 2, "y"), ("eve", 3, "x")], method="UA").notes
        ['Detected: the labels are categorical.', '2 of 3 (67 %) tasks have a single answer, ...']
        """
        return [remark.sentence for remark in list_all_notes(self.facts)]

    @cached_property
    def truth(self) -> Frame:
        """One row per task: task, label, confidence, standard_error, answers, tied, unweighted, changed.

        For numbers, auto returns a 95 % confidence interval (ci_low, ci_high) instead of a confidence.
        """
        return self._to_frame(truth_columns(self.found.joined(), self.run.encoding, self.weighing))

    @cached_property
    def workers(self) -> Frame:
        """One row per worker: worker, answers, disparity, error, weight, flag, reason.

        The error is error_rate for classes, rmse for numbers, and mean_error otherwise. The method auto adds
        shared_tasks (tasks with other answers), relative_error, rank_low and rank_high, ci_low and ci_high (95 %
        confidence interval of the error, with at least 20 gold labels), and few_answers (fewer than 5 shared tasks).
        With per_task(), there is one row per task and worker. The flag is block, look, few or empty. Rows are sorted by
        id. ``workers.csv`` has the main columns, flagged workers first; ``details/workers.csv`` has all columns.
        """
        return self._to_frame(self._flagged)

    @cached_property
    def _flags(self) -> list[list[Flag]]:
        return list_flags(self.run, self.weighing)

    @cached_property
    def _flagged(self) -> dict[str, Values | Array]:
        """Columns of the table of workers."""
        return flag_columns(self.run, self.weighing, self._flags)

    @cached_property
    def groups(self) -> Frame:
        """One row per group of workers: copy groups, which count as one worker, and groups of similar workers.

        >>> import allalike
        >>> allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")]).groups.columns.tolist()
        ['copy_group', 'kind', 'size', 'members', 'common_tasks', 'shared_rare', 'fidelity', 'p_value']
        """
        return self._to_frame(group_columns(self.run, self.weighing))

    @cached_property
    def objects(self) -> Frame:
        """One row per object in the estimated labels, with its confidence and supporters; for boxes and spans."""
        things = self.run.encoding.things
        if things is None:
            raise UnsupportedError(f"{self.run.domain.name} labels have no objects. Use `result.truth`.")
        piece = self.found.joined()
        return self._to_frame(things.list_objects(piece.tasks, piece.found))

    @cached_property
    def agreement(self) -> Agreement:
        """Agreement between workers: Krippendorff's alpha with its 95 % interval, each worker's effect on it, kappas.

        >>> import allalike
        >>> allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("ada", 2, "y"), ("bob", 2, "x")]).agreement.alpha
        0.0
        """
        from allalike.reliability.agreement import measure_agreement

        return measure_agreement(self.run)

    @cached_property
    def probabilities(self) -> Frame:
        """One row per task: the probability of each class, for methods that estimate it, such as auto and DS.

        >>> import allalike
        >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "y"), ("bob", 2, "y")]
        >>> allalike.discover(rows, method="DS-1").probabilities.round(1)
           task    x    y
        0     1  1.0  0.0
        1     2  0.0  1.0
        """
        piece = self._need_posteriors().joined()
        classes = self.run.encoding.decode(np.arange(piece.found["probability"].shape[1])).tolist()
        columns = frame_of({"task": piece.tasks}), pd.DataFrame(piece.found["probability"], columns=classes)
        return self._to_frame(pd.concat(columns, axis=1))

    def _need_posteriors(self) -> TaskTable:
        """Return the probability of each class per task; raise an error for methods that do not estimate it."""
        if self.posteriors is None:
            name, able = self.facts.method.name, "DS, DS-1, IBCC, EBCC, BWA, GLAD or MACE"
            raise UnsupportedError(f"{name} did not estimate class probabilities. Choose a method that does: {able}.")
        return self.posteriors()

    @cached_property
    def _ratings(self) -> dict[str, dict[str, Values | Array]]:
        kept = self.run.n_gold > 0 and "known" in next(iter(self.found.pieces())).found
        return rate_workers(self.run, self.weighing, kept=kept)

    @property
    def _rated(self) -> Mapping[str, Mapping[str, Values | Array]]:
        """Columns of the tables of quality and confusions; empty for other label types and for too many answers."""
        most = _MAX_COMPARED if self.run.encoding.n_classes is None else _MAX_LOOKED_AT
        try:
            return self._ratings if int(self.run.answer_counts.sum()) <= most else {}
        except UnsupportedError:
            return {}

    @cached_property
    def quality(self) -> Frame:
        """One row per worker and tag: precision, recall, f1 and support, compared with the estimated labels.

        It is available for classes, levels, sets, objects and masks. The tag ``(all)`` combines all tags. With gold
        labels, the columns gold_precision, gold_recall, gold_f1 and gold_support compare with gold. Masks also have
        dice, hausdorff, hausdorff_95 and surface_distance: means over images, in pixels or in millimetres for volumes.

        >>> import allalike
        >>> rows = [("ada", 1, ["a", "b"]), ("bob", 1, ["a", "b"]), ("eve", 1, ["b", "c", "d"])]
        >>> allalike.discover(rows, domain="set", method="UA").quality.round(2).iloc[-5]
        worker         eve
        tag          (all)
        precision     0.33
        recall         0.5
        f1             0.4
        support          2
        Name: 6, dtype: object
        """
        return self._to_frame(self._ratings["quality"])

    @cached_property
    def confusions(self) -> Frame:
        """One row per worker, estimated label and given label, with the number of answers; for classes and levels.

        >>> import allalike
        >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "y"), ("bob", 2, "y")]
        >>> allalike.discover(rows, method="UA").confusions.query("worker == 'eve'").values.tolist()
        [['eve', 'x', 'y', 1]]
        """
        if "confusion" not in self._ratings:
            raise UnsupportedError(f"{self.run.domain.name} labels have no confusions. Use `result.quality`.")
        return self._to_frame(self._ratings["confusion"])

    def confusion(self, worker: Any) -> Frame:
        """Return the probability that a worker gives each label (a column) to tasks of each class (a row).

        >>> import allalike
        >>> crowd = {"ada": "xxyyxyxy", "bob": "xxyyxyxx", "eve": "xxyyxyyy", "kim": "yxxxyxxy", "lea": "xxyyxyxy"}
        >>> rows = [(worker, task, label) for worker, labels in crowd.items() for task, label in enumerate(labels)]
        >>> allalike.discover(rows).confusion("kim").round(1)
        label    x    y
        class
        x      0.6  0.4
        y      0.5  0.5
        """
        confusion, ids = self.weighing.confusion, self.run.workers.tolist()
        if confusion is None:
            method = self.facts.method.name
            raise UnsupportedError(f"{method} did not estimate confusion matrices for these workers. Try method='DS'.")
        if ids.count(worker) != 1:
            missing, repeated = "No worker is called", "With per_task(), there is one row per task for worker"
            raise UnknownNameError(f"{repeated if worker in ids else missing} {worker!r}.")
        names = self.run.encoding.decode(np.arange(confusion.shape[1])).tolist()
        rows, columns = pd.Index(names, name="class"), pd.Index(names, name="label")
        return self._to_frame(pd.DataFrame(confusion[ids.index(worker)].T, index=rows, columns=columns), "class")

    def bias(self) -> Frame:
        """Return each worker's bias with its 95 % confidence interval: the mean amount by which numbers are too high.

        Numbers are compared with the weighted mean of the other workers, so a bias that all workers share stays hidden.

        >>> import allalike
        >>> crowd = {"ada": [1, 5, 7, 2], "bob": [1, 5, 8, 1], "eve": [3, 7, 9, 4]}
        >>> rows = [(worker, task, float(x)) for worker, numbers in crowd.items() for task, x in enumerate(numbers)]
        >>> allalike.discover(rows, method="UA").bias().round(2)
          worker  bias  ci_low  ci_high
        0    ada  -1.0   -1.65    -0.35
        1    bob  -1.0   -2.30     0.30
        2    eve   2.0    1.35     2.65
        """
        if not self.run.encoding.numeric:
            raise UnsupportedError(f"Only numbers have a bias, and these labels are {self.run.domain.name}.")
        from allalike.methods.auto.numbers import estimate_biases

        run, weights = self.run, self.weighing.weight
        found = estimate_biases(run, self.weighing.copy_groups or CopyGroups.independent(len(weights)), weights)
        tasks = {"task": run.worker_task} if run.worker_task is not None else {}
        limits = {"bias": found.bias, "ci_low": found.low, "ci_high": found.high}
        return self._to_frame({**tasks, "worker": run.workers, **limits})

    def update(self, more: Any, *, gold: Any = None) -> Result:
        """Return the result for all answers, existing and new; this result stays unchanged.

        It is computed from scratch, which takes as long as `discover`, except that the existing answers are not read
        from their files again.

        Parameters
        ----------
        more
            New answers, in any form that `discover` takes. They are read with the columns, options and label type of
            the existing ones, and must fit in memory. They may name new tasks, workers and classes. If a worker answers
            a task again, the option ``duplicates`` of `read` applies.
        gold
            Further gold labels. They replace earlier gold labels of the same tasks.

        >>> import allalike
        >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("ada", 2, "x"), ("bob", 2, "y")])
        >>> result.update([("eve", 2, "x"), ("eve", 3, "z")]).truth[["task", "label", "answers"]]
           task label  answers
        0     1     x        2
        1     2     x        3
        2     3     z        1
        """
        from allalike.update import extend

        return extend(self, more, gold)

    def next_tasks(self, n: int = 10) -> Frame:
        """Return the tasks that benefit most from one more answer: task, confidence, answers, gain.

        The least certain tasks come first; tasks with gold labels are excluded. The gain is the expected increase of
        the probability that the label is correct, given one more answer by a typical worker. Only auto estimates it,
        for classes. Collect answers to a few per cent of the tasks, `update` the result, and repeat.

        Parameters
        ----------
        n
            Number of tasks.

        >>> import allalike
        >>> crowd = {"ada": "xxyyxyxxyx", "bob": "xxyyxyxxyy", "eve": "xxyyxyxxxy"}
        >>> rows = [(worker, task, label) for worker, labels in crowd.items() for task, label in enumerate(labels)]
        >>> result = allalike.discover(rows)
        >>> for worker, answer in (("kim", "x"), ("lea", "y")):
        ...     result = result.update([(worker, task, answer) for task in result.next_tasks(1)["task"]])
        >>> result.truth["answers"].tolist()
        [3, 3, 3, 3, 3, 3, 3, 3, 5, 3]
        """
        piece = rank_tasks(self.found.pieces(), check_number(n, "n", least=0, whole=True))
        return self._to_frame(next_columns(piece, self.weighing))

    def explain(self, *, task: Any = None, worker: Any = None) -> TaskExplanation | WorkerExplanation:
        """Explain the label of a task, or describe a worker.

        For a task: all answers with their weights, the margin, and the answers that decide the label. For a worker:
        the most and least similar workers, the strongest disagreements, unusual findings with their evidence, and the
        labels without this worker.

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
            raise OptionError("explain needs a task or a worker. Call explain(task=...) or explain(worker=...).")
        if task is not None:
            return explain_task(self.run, self.weighing, self.found, task)
        return explain_worker(self.run, self.weighing, self.found, self.method, worker)

    def plan(
        self,
        budget: float = 10.0,
        *,
        price: float | None = None,
        prices: Any = None,
        batch: int | None = None,
        max_per_worker: int | None = None,
        min_gain: float = 0.0,
    ) -> AnswerPlan:
        """Return a plan of further answers within a budget, their expected gain, and whether to stop.

        Answers are planned one after the other, each with the largest expected gain per unit of money. Workers are
        not asked about tasks that they or their copy group have answered, and uninformative workers are not asked. A
        new worker, called ``anyone``, has a typical error rate. Planning needs labels with an error rate, such as
        classes; for other labels use `next_tasks`.

        Parameters
        ----------
        budget
            Budget, in the unit of the prices.
        price
            Price per answer (default: 1). With ``prices``, it applies to workers without a price of their own.
        prices
            Price per answer: a mapping from workers to prices, a table with columns worker and price, or its path. Only
            workers with a price are asked, unless ``price`` is given. ``anyone`` is a new worker.
        batch
            Number of answers to collect before the next update (default: all that the budget pays for).
        max_per_worker
            Maximum number of answers per worker in a batch (default: twice an equal share).
        min_gain
            Minimum number of errors that a unit of money must prevent.

        >>> import allalike
        >>> crowd = allalike.simulate("one-coin(classes=2)", workers=9, tasks=60, seed=1)
        >>> result = allalike.discover(crowd.answers)
        >>> plan = result.plan(20, batch=5)
        >>> len(plan.table), plan.summary["all"]["answers"], plan.table.columns.tolist()
        (5, 20, ['task', 'worker', 'price', 'gain'])
        """
        from allalike.result.plan import make_plan

        limits: dict[str, Any] = {"batch": batch, "max_per_worker": max_per_worker, "min_gain": min_gain}
        return make_plan(self, budget, price=price, prices=prices, **limits)

    def learning_curve(self) -> Frame:
        """Return the expected accuracy of labels with fewer answers: answers_per_task, expected_accuracy.

        For each number of answers per task, ten random subsets of about 20,000 answers are sampled. The expected
        accuracy is their mean confidence. Worker statistics come from all answers, so the figures for few answers per
        task are slightly too high.

        >>> import allalike
        >>> crowd = allalike.simulate("one-coin(classes=3)", workers=7, tasks=200, seed=1)
        >>> curve = allalike.discover(crowd.answers).learning_curve()
        >>> curve["answers_per_task"].tolist(), bool(curve["expected_accuracy"].is_monotonic_increasing)
        ([1, 2, 3, 4, 5, 6, 7], True)
        """
        known = self.weighing.uncertainty
        if known is None or (expect := known.expect) is None:
            method = self.facts.method.name
            raise UnsupportedError(
                f"{method} does not estimate the accuracy of these labels. The method auto does so for classes."
            )
        sample = sample_tasks(self.run, _CURVE_ANSWERS, with_gold=False)
        numbers = range(1, int(np.median(np.concatenate([block.sizes for block in sample.blocks]))) + 1)
        drawn = [[expect(thin_tasks(sample, number, seed)) for seed in range(_CURVE_DRAWS)] for number in numbers]
        columns = {"answers_per_task": numbers, "expected_accuracy": [np.mean(each) for each in drawn]}
        return self._to_frame(pd.DataFrame(columns))

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        format: str = "csv",  # noqa: A002
        to: Iterable[str] = (),
        overwrite: bool = False,
        report: bool = False,
        safe_csv: bool = False,
        probabilities: bool = False,
        answers: bool = True,
    ) -> list[Path]:
        """Write the tables, the summary and the data for `allalike.load` into a folder atomically; return the paths.

        Files of an earlier result that its summary lists are replaced. Other files are kept.

        Parameters
        ----------
        folder
            Output folder.
        format
            Format of the tables: ``csv`` or ``parquet``.
        to
            Tools to which the labels are exported, such as ``label-studio``.
        overwrite
            Whether to replace files that allalike did not write.
        report
            Whether to write ``report.html``.
        safe_csv
            Whether to put an apostrophe before texts that a spreadsheet would interpret as formulas.
        probabilities
            Whether to write the probability of each class.
        answers
            Whether to save the answers, which `allalike.load` and `allalike.update` need.

        >>> import allalike, tempfile
        >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [path.name for path in result.save(folder + "/out") if path.parent.name == "out"]
        ['truth.csv', 'workers.csv', 'summary.json']
        """
        how = SavedAs(format, (to,) if isinstance(to, str) else tuple(to), report, probabilities, safe_csv)
        return save_result(self, folder, how, overwrite=overwrite, answers=answers)

    def save_block_list(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> list[Any]:
        """Write the ids of workers to exclude into a file, one per line, and return them.

        These workers have the flag ``block``; ``workers.csv`` has the reasons. An earlier list of workers is replaced.

        >>> import allalike, tempfile
        >>> crowd = {"ada": "xyzxyzxyzx", "bob": "xyzxyzxyzz", "eve": "zzzzzzzzzz"}
        >>> rows = [(worker, task, label) for worker, labels in crowd.items() for task, label in enumerate(labels)]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     allalike.discover(rows).save_block_list(folder + "/block.txt")
        ['eve']
        """
        target = Path(path)
        ids, flags = (self._flagged[name].tolist() for name in ("worker", "flag"))
        blocked = list(dict.fromkeys(each for each, flag in zip(ids, flags, strict=True) if flag == "block"))
        with list_output(path, ids, inputs=self.inputs, overwrite=overwrite).staged([target.name]) as stage:
            (stage / target.name).write_text("".join(f"{each}\n" for each in blocked), encoding="utf-8")
        return blocked

    def report(self, path: str | os.PathLike[str] = REPORT, *, overwrite: bool = False) -> Path:
        """Write an HTML report: next steps, workers and their map, tasks, agreement and settings.

        The report is one file of less than 2 MB that opens in any browser without network access. For large results it
        shows totals and the most important rows, and lists the omissions.

        Parameters
        ----------
        path
            Path of the report. An earlier report is replaced.
        overwrite
            Whether to replace a file that allalike did not write.

        >>> import allalike, tempfile
        >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.report(folder + "/seen.html").read_text(encoding="utf-8")[:15]
        '<!doctype html>'
        """
        return write_page(self._material(), path, inputs=self.inputs, overwrite=overwrite)

    @property
    def plot(self) -> Plots:
        """Charts of the report as SVG: `workers`, `map`, `confidence`, `errors` and `gold`."""
        from allalike.report.plot import Plots

        return Plots(self._material())

    def _material(self) -> Material:
        """Return the material of a report."""
        from allalike.report.report_data import Material

        return Material(self)
