"""Content: all that a page shows of a result, as plain data.

Everything is counted, chosen and cut here, so that the template and the script only put it in its place. A page shows
at most 500 workers, 2,000 tasks and 30 answers to each (200, 500 and 10 where labels are costly to compare), and says
what it leaves out. Details of workers come from at most 400,000 answers (20,000), of tasks that are chosen by the
hash of their ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.words import cut
from allalike.engines.sample import pick_tasks
from allalike.report.advice import UNSURE, advise
from allalike.report.answers import (
    MAX_NAME,
    Judged,
    judge_answers,
    list_answers,
    list_disagreements,
    table_of_confusions,
)
from allalike.report.judges import describe_judges, describe_quality, name_people
from allalike.report.labels import Labels
from allalike.report.material import brief
from allalike.report.people import (
    People,
    choose_workers,
    compare_workers,
    find_interval,
    may_differ,
    name_sureness,
    read_unit,
)
from allalike.report.pictures import describe_pictures
from allalike.report.tasks import Survey, survey_tasks
from allalike.report.words import cite, describe_agreement, list_figures, list_scales, list_settings, say_left_out
from allalike.result.flags import list_reasons
from allalike.result.messages import list_facts, list_notes

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike.engines import Run
    from allalike.report.material import Material


@dataclass(frozen=True)
class Limits:
    """How much of a result is shown.

    >>> Limits().workers
    500
    """

    workers: int = 500
    tasks: int = 2_000
    task_answers: int = 30
    answers: int = 400_000

    @classmethod
    def of(cls, run: Run) -> Limits:
        """Return the limits for labels of a type: fewer if they are long and costly to compare."""
        return cls() if run.encoding.n_classes or run.encoding.numeric else cls(200, 500, 10, 20_000)

    def share(self, run: Run) -> float:
        """Return the share of all answers that are compared with labels."""
        return min(1.0, self.answers / max(int(run.answer_counts.sum()), 1))


def describe(material: Material, limits: Limits | None = None) -> dict[str, Any]:
    """Return all that a page shows, as dictionaries, lists, texts and numbers.

    >>> import allalike
    >>> page = describe(allalike.discover([("ada", 1, "x"), ("bob", 1, "y"), ("eve", 1, "x")])._material())
    >>> page["data"]["people"]["names"], page["data"]["labels"]
    (['ada', 'eve', 'bob'], ['x', 'y'])
    """
    run = material.run
    limits = limits or Limits.of(run)
    share = limits.share(run)
    survey = survey_tasks(material.found.pieces(), limits.tasks, share)
    flags = list_reasons(run, material.weighing)
    shown = choose_workers(material, flags, limits.workers)
    people, labels = People(material, shown), Labels(run.encoding)
    tasks, rows = _list_tasks(survey, labels)
    block = pick_tasks(run, np.array(list(rows), np.uint64), share=share)
    judged = judge_answers(block, survey.sample, run.kernels, shown)
    workers = _list_workers(material, shown, flags)
    workers |= _detail(material, judged, survey, people, labels, shown)
    tasks["answered"] = list_answers(block, rows, people, labels, material.weighing.weight, limits.task_answers)
    compared = may_differ(material) and material.run.worker_task is None  # or a map would show mere chance
    neighbours = compare_workers(material, block, shown) if compared else {}
    return _assemble(material, survey, people, labels, workers, tasks, flags, neighbours)


def _assemble(
    material: Material,
    survey: Survey,
    people: People,
    labels: Labels,
    workers: dict[str, Any],
    tasks: dict[str, Any],
    flags: list[list[str]],
    neighbours: dict[str, Any],
) -> dict[str, Any]:
    unsure = int(survey.counts[: int(UNSURE * 20)].sum())
    advice = advise(material, flags, single=survey.single, unsure=unsure)
    numbers = {worker: number for number, worker in enumerate(material.run.workers.tolist())}
    panel, quality = describe_judges(material, people), describe_quality(material, people)
    drawn = [*(panel["tables"] if panel else []), *([quality] if quality else [])]
    pictures, captions = describe_pictures(material, people, workers, survey, neighbours)
    return {
        "facts": list_facts(material.summary),
        "figures": list_figures(material),
        "notes": [note.sentence for note in list_notes(material.summary)],
        "advice": advice,
        **_describe_changes(material, people),
        "panel": panel,
        "quality": quality and {"place": len(drawn) - 1, "more": quality["more"]},
        "agreement": describe_agreement(material),
        "scales": list_scales(material.scales),
        "settings": list_settings(material),
        "versions": dict(material.summary.versions),
        "citation": cite(material),
        "left_out": say_left_out(material, workers, tasks, len(survey.sample.hashes)),
        "charts": pictures,
        "captions": captions,
        "data": {
            "kind": labels.kind,
            "unit": read_unit(material).replace("_", " "),
            "sureness": name_sureness(material),
            "labels": labels.shown,
            "advice": [
                {
                    "workers": people.refer(np.array([numbers[worker] for worker in each["workers"]], np.intp)),
                    "tasks": [cut(str(task), MAX_NAME) for task in each["tasks"]],
                }
                for each in advice
            ],
            "people": {"names": people.names, "weights": people.weights},
            "workers": workers,
            "tasks": tasks,
            "matrix": neighbours.get("matrix"),
            "panel": drawn,
        },
    }


def _describe_changes(material: Material, people: People) -> dict[str, Any]:
    """Return what changed when answers were added, and when that was; nothing if none were."""
    if not material.summary.generations:
        return {"changes": [], "generations": []}
    from allalike.result.messages import list_generations, remark_changes

    said = name_people(remark_changes(material.summary), material, people)
    return {"changes": said, "generations": list_generations(material.summary)}


def _list_workers(material: Material, shown: npt.NDArray[np.intp], flags: list[list[str]]) -> dict[str, Any]:
    """Return the columns of the table of workers."""
    table, unit = material.workers, read_unit(material)
    wanted = {"answers": "answers", "value": unit, "disparity": "disparity", "weight": "weight"}
    wanted |= {name: name for name in ("relative_error", "informativeness")}
    if (interval := find_interval(material)) is not None:
        wanted |= dict(zip(("low", "high") if interval[0] == "ci_low" else interval, interval, strict=True))
    columns = {
        key: [brief(value) for value in np.asarray(table[name], np.float64)[shown]]
        for key, name in wanted.items()
        if name in table
    }
    if material.effects is not None and np.isfinite(material.effects[shown]).any():
        columns["effect"] = [brief(value, 3) for value in material.effects[shown]]
    named = table["copy_group"].tolist() if "copy_group" in table else [""] * len(flags)
    groups = [named[number] for number in shown]
    return {"total": len(flags), **columns, "group": groups, "flags": [flags[number] for number in shown]}


def _detail(
    material: Material,
    judged: Judged,
    survey: Survey,
    people: People,
    labels: Labels,
    shown: npt.NDArray[np.intp],
) -> dict[str, Any]:
    """Return what is shown of a worker on a click, and of how many answers it was found."""
    strongest, tasks = list_disagreements(judged, survey.sample.tasks, people, labels)
    encoding = material.run.encoding
    n_labels = encoding.n_labels if encoding.n_classes else 0
    return {
        "looked_at": len(judged.worker),
        "disagreements": strongest,
        "disagreement_tasks": tasks,
        "confusions": table_of_confusions(judged, n_labels, shown, labels),
    }


def _list_tasks(survey: Survey, labels: Labels) -> tuple[dict[str, Any], dict[int, int]]:
    """Return the columns of the table of tasks, and the row of each by the hash of its id."""
    piece = survey.shown
    limited = "low" in piece.found
    columns: dict[str, Any] = {
        "id": [cut(str(task), MAX_NAME) for task in piece.tasks.tolist()],
        "label": labels.refer(piece.found["label"]),
        "unweighted": labels.refer(piece.found["unweighted"]),
        "answers": piece.answers.tolist(),
        "changed": np.flatnonzero(piece.found["changed"]).tolist(),
        "tied": np.flatnonzero(piece.found["tied"]).tolist(),
        "sure": [] if limited else [brief(value, 3) for value in piece.found["confidence"]],
    }
    for name in ("low", "high") if limited else ():
        columns[name] = [brief(value, 8) for value in piece.found[name]]
    if limited and not labels.encoding.domain.spelling.numbers:
        ends = [labels.encoding.decode(piece.found[name]).tolist() for name in ("low", "high")]
        columns["limits"] = ["" if low is None else f"{low} to {high}" for low, high in zip(*ends, strict=True)]
    for name in ("known", "abstained"):
        if name in piece.found:
            columns[name] = np.flatnonzero(piece.found[name]).tolist()
    return columns, {each: row for row, each in enumerate(piece.tasks.hashes().tolist())}
