"""Content of a report as plain data for the template and the script.

A report shows at most 500 workers, 2,000 tasks and 30 answers per task (200, 500 and 10 if labels are costly to
compare), and lists the omissions. Details of workers come from at most 400,000 answers (20,000 if costly).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.text_format import cut
from allalike.engines.sample import pick_tasks
from allalike.report.advice import UNCERTAIN, advise
from allalike.report.charts import draw_charts
from allalike.report.labels import Labels
from allalike.report.panel import describe_panel, split_messages
from allalike.report.tasks import (
    choose_tasks,
    compare_answers,
    count_confusions,
    list_answers,
    list_disagreements,
    list_tasks,
)
from allalike.report.words import cite, describe_agreement, list_figures, list_scales, list_settings, say_left_out
from allalike.report.workers import People, choose_workers, compare_workers, list_workers
from allalike.result.messages import describe_changes, list_facts, list_notes

if TYPE_CHECKING:
    from allalike.engines import Run
    from allalike.report.report_data import Material

_MAX_NAME = 80


@dataclass(frozen=True)
class Limits:
    """The number of workers, tasks and answers that the report shows.

    >>> Limits().workers
    500
    """

    workers: int = 500
    tasks: int = 2_000
    task_answers: int = 30
    answers: int = 400_000

    @classmethod
    def of(cls, run: Run) -> Limits:
        """Return the limits for a label type: lower ones if labels are costly to compare."""
        return cls() if run.encoding.n_classes or run.encoding.numeric else cls(200, 500, 10, 20_000)


def describe(material: Material, limits: Limits | None = None) -> dict[str, Any]:
    """Return the content of a report as dictionaries, lists, texts and numbers.

    >>> import allalike
    >>> page = describe(allalike.discover([("ada", 1, "x"), ("bob", 1, "y"), ("eve", 1, "x")])._material())
    >>> page["data"]["people"]["names"], page["data"]["labels"]
    (['ada', 'eve', 'bob'], ['x', 'y'])
    """
    run, summary = material.run, material.summary
    limits = limits or Limits.of(run)
    share = min(1.0, limits.answers / max(int(run.answer_counts.sum()), 1))
    chosen = choose_tasks(material.result.found.pieces(), limits.tasks, share)
    shown = choose_workers(material, limits.workers)
    people, labels = People(material, shown), Labels(run.encoding)
    tasks = list_tasks(chosen.shown, labels)
    block = pick_tasks(run, chosen.shown.tasks.hashes(), share=share)
    compared = compare_answers(block, chosen.sample, run.kernels, shown)
    disagreements, disagreement_tasks = list_disagreements(compared, chosen.sample, people, labels)
    n_labels = run.encoding.n_labels if run.encoding.n_classes else 0
    workers = {
        **list_workers(material, shown),
        "looked_at": len(compared.worker),
        "disagreements": disagreements,
        "disagreement_tasks": disagreement_tasks,
        "confusions": count_confusions(compared, n_labels, shown, labels),
    }
    tasks["answered"] = list_answers(block, chosen.shown, people, labels, material.fit.weight, limits.task_answers)
    neighbours = compare_workers(material, block, shown)
    advice = advise(material, single=chosen.single, uncertain=int(chosen.counts[: int(UNCERTAIN * 20)].sum()))
    panel = describe_panel(material, people)
    charts, captions = draw_charts(material, people, workers, chosen, neighbours)
    return {
        "facts": list_facts(summary),
        "figures": list_figures(material),
        "notes": [note.sentence for note in list_notes(summary)],
        "advice": advice,
        "changes": split_messages(list(describe_changes(summary)), material, people),
        "panel": panel,
        "agreement": describe_agreement(material),
        "scales": list_scales(material.scales),
        "settings": list_settings(material),
        "versions": dict(summary.versions),
        "citation": cite(material),
        "left_out": say_left_out(material, workers, tasks, len(chosen.sample.answers)),
        "charts": charts,
        "captions": captions,
        "data": {
            "kind": labels.kind,
            "unit": material.unit.replace("_", " ").replace("rmse", "RMSE"),
            "sureness": material.confidence_name,
            "labels": labels.shown,
            "advice": _refer_advice(advice, material, people),
            "people": {"names": people.names, "weights": people.weights},
            "workers": workers,
            "tasks": tasks,
            "matrix": neighbours.get("matrix"),
            "panel": panel["tables"] if panel else [],
        },
    }


def _refer_advice(advice: list[dict[str, Any]], material: Material, people: People) -> list[dict[str, Any]]:
    """Return the workers and tasks of each piece of advice, the workers by their positions."""
    numbers = {worker: number for number, worker in enumerate(material.run.workers.tolist())}
    return [
        {
            "workers": people.refer(np.array([numbers[worker] for worker in each["workers"]], np.intp)),
            "tasks": [cut(str(task), _MAX_NAME) for task in each["tasks"]],
        }
        for each in advice
    ]
