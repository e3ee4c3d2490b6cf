"""Content: all that a page shows of a result, as plain data.

Everything is counted, chosen and cut here, so that the template and the script only put it in its place. Each part has
a budget of bytes: the page of a hundred million answers is no larger than that of ten thousand, and says what it leaves
out. Details of answers come from at most 400,000 answers (20,000 where labels are costly to compare), of tasks that are
chosen by the hash of their ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.engines.sample import pick_tasks
from allalike.report.advice import UNSURE, advise
from allalike.report.answers import Judged, find_constant, judge_answers
from allalike.report.details import MAX_NAME, count_detailed, detail_tasks, detail_workers, table_of_confusions
from allalike.report.judges import describe_judges, describe_quality, name_people
from allalike.report.labels import Labels
from allalike.report.material import Budget, brief, count_bytes, cut
from allalike.report.people import (
    People,
    choose_workers,
    compare_workers,
    find_flags,
    may_differ,
    name_sureness,
    read_unit,
)
from allalike.report.pictures import describe_pictures
from allalike.report.tasks import Survey, survey_tasks
from allalike.report.words import cite, describe_agreement, list_figures, list_scales, list_settings, say_left_out
from allalike.telling.answers import list_notes
from allalike.telling.truths import list_facts

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Block
    from allalike.engines import Run
    from allalike.report.material import Material

_ROOM_OF_TASK = 24  # bytes of a row, beside its id and its labels


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much of a result is shown.

    >>> Limits().workers
    500
    """

    workers: int = 500
    tasks: int = 10_000
    answers: int = 400_000
    costly_answers: int = 20_000
    table_size: int = 500_000
    task_size: int = 350_000
    worker_size: int = 300_000

    def share(self, run: Run) -> float:
        """Return which share of all answers is looked at."""
        cheap = run.encoding.n_classes or run.encoding.numeric
        most = self.answers if cheap else self.costly_answers
        return min(1.0, most / max(int(run.answer_counts.sum()), 1))


def describe(material: Material, limits: Limits | None = None) -> dict[str, Any]:
    """Return all that a page shows, as dictionaries, lists, texts and numbers.

    >>> import allalike
    >>> page = describe(allalike.discover([("ada", 1, "x"), ("bob", 1, "y"), ("eve", 1, "x")]).material())
    >>> page["data"]["people"]["names"], page["data"]["labels"]
    (['ada', 'eve', 'bob'], ['x', 'y'])
    """
    limits = limits or Limits()
    run = material.run
    share = limits.share(run)
    survey = survey_tasks(material.found.pieces(), limits.tasks, share)
    flags = find_flags(material)
    shown = choose_workers(material, flags, limits.workers)
    people, labels = People(material, shown), Labels(run.encoding)
    tasks, rows = _list_tasks(survey, labels, limits)
    block = pick_tasks(run, np.array(list(rows), np.uint64), share=share)
    judged = judge_answers(block, survey.sample, run.kernels, shown)
    if run.encoding.n_classes:
        for number in np.flatnonzero(find_constant(judged, len(flags))):
            flags[number].append("always the same answer")
    workers = _list_workers(material, shown, flags)
    workers |= _detail(material, judged, survey, people, labels, limits, shown)
    tasks["answered"] = detail_tasks(block, rows, people, labels, material.weighing.weight, limits.task_size)
    return _assemble(material, survey, people, labels, workers, tasks, flags, _neighbours(material, block, shown))


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
    from allalike.telling.truths import list_generations, remark_changes

    said = name_people(remark_changes(material.summary), material, people)
    return {"changes": said, "generations": list_generations(material.summary)}


def _list_workers(material: Material, shown: npt.NDArray[np.intp], flags: list[list[str]]) -> dict[str, Any]:
    """Return the columns of the table of workers."""
    table, unit = material.workers, read_unit(material)
    wanted = {"answers": "answers", "value": unit, "low": "low", "high": "high", "disparity": "disparity"}
    wanted |= {"weight": "weight", "signal": "signal"}
    columns = {
        key: [brief(value) for value in np.asarray(table[name], np.float64)[shown]]
        for key, name in wanted.items()
        if name in table
    }
    if material.effects is not None and np.isfinite(material.effects[shown]).any():
        columns["effect"] = [brief(value, 3) for value in material.effects[shown]]
    named = table["group"].tolist() if "group" in table else [""] * len(flags)
    groups = [named[number] for number in shown]
    return {"total": len(flags), **columns, "group": groups, "flags": [flags[number] for number in shown]}


def _detail(
    material: Material,
    judged: Judged,
    survey: Survey,
    people: People,
    labels: Labels,
    limits: Limits,
    shown: npt.NDArray[np.intp],
) -> dict[str, Any]:
    """Return what is shown of a worker on a click, and of how many answers it was found."""
    strongest, tasks = detail_workers(judged, survey.sample.tasks, people, labels, limits.worker_size)
    encoding = material.run.encoding
    n_labels = encoding.n_labels if encoding.n_classes else 0
    return {
        "looked_at": len(judged.worker),
        "disagreements": strongest,
        "disagreement_tasks": tasks,
        "confusions": table_of_confusions(judged, n_labels, shown, labels),
    }


def _list_tasks(survey: Survey, labels: Labels, limits: Limits) -> tuple[dict[str, Any], dict[int, int]]:
    """Return the columns of the table of tasks, and by the hash of its id the row of each whose answers may fit."""
    piece, budget = survey.shown, Budget(limits.table_size)
    names = [cut(str(task), MAX_NAME) for task in piece.tasks.tolist()]
    label, unweighted = labels.refer(piece.found["label"]), labels.refer(piece.found["unweighted"])
    kept, known = 0, 0
    for place, name in enumerate(names):
        highest = max(known, label[place] + 1, unweighted[place] + 1)
        room = count_bytes(name) + labels.ends[highest] - labels.ends[known]
        if not budget.take(room + _ROOM_OF_TASK):
            break
        kept, known = place + 1, highest
    labels.forget(known)
    limited = "low" in piece.found
    columns: dict[str, Any] = {
        "id": names[:kept],
        "label": label[:kept],
        "unweighted": unweighted[:kept],
        "answers": piece.answers[:kept].tolist(),
        "changed": np.flatnonzero(piece.found["changed"][:kept]).tolist(),
        "tied": np.flatnonzero(piece.found["tied"][:kept]).tolist(),
        "sure": [] if limited else [brief(value, 3) for value in piece.found["confidence"][:kept]],
    }
    for name in ("low", "high") if limited else ():
        columns[name] = [brief(value, 8) for value in piece.found[name][:kept]]
    if limited and not labels.encoding.domain.spelling.numbers:
        ends = [labels.encoding.decode(piece.found[name][:kept]).tolist() for name in ("low", "high")]
        columns["limits"] = ["" if low is None else f"{low} to {high}" for low, high in zip(*ends, strict=True)]
    for name in ("known", "abstained"):
        if name in piece.found:
            columns[name] = np.flatnonzero(piece.found[name][:kept]).tolist()
    n_detailed = count_detailed(piece.answers[:kept], limits.task_size)
    hashes = piece.tasks.hashes()[:n_detailed].tolist()
    return columns, dict(zip(hashes, range(n_detailed), strict=True))


def _neighbours(material: Material, block: Block, shown: npt.NDArray[np.intp]) -> dict[str, Any]:
    """Return the map and the matrix of workers; nothing where these would show differences that are not known."""
    if not may_differ(material) or len(material.run.problems.sizes) > 1:
        return {}
    return compare_workers(material, block, shown)
