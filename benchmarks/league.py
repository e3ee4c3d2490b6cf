"""Play the league: every method, and those of crowd-kit, on all public data at hand; write ``docs/evidence/LEAGUE.md``.

``make league`` runs it, which takes an hour or two. With ``--figures`` it keeps what it has measured in a file, and
measures only what is not there yet. With ``--only`` it plays on some data sets, and puts their tables into the page
that is there: name all of a table.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from dataclasses import asdict
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import psutil
import scipy.sparse
import scipy.special
import scipy.stats  # here, so that no clock counts the imports

from allalike import OA, PTD, AllalikeError, Memory, Method
from allalike._core.blocks.block import Ties
from allalike.datasets import DATASETS, source_of
from allalike.datasets.downloads import find_folder
from allalike.engines import make_ready
from allalike.methods.base import without_gold
from allalike.methods.composed import serves, weigh
from allalike.readers import read_gold
from allalike.result.summaries import find_truths
from crowd_data import load
from league_figures import OURS, Data, Figure, League
from league_page import renew_tables, write_page
from league_rivals import are_orders, frame_of, rivals_of
from limited import Limited
from public_data import use_data_beside_the_clone
from unseen_scores import find_calibration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from allalike.answers import Answers
    from allalike.engines import TaskTable

    Playing = Callable[[], "Outcome"]

__all__ = [
    "AGAIN",
    "SEEDS",
    "Outcome",
    "calibrate",
    "choose",
    "correlate",
    "describe",
    "measure",
    "play",
    "play_ours",
    "play_theirs",
]

SEEDS = 5  # draws of ties, of which the average counts
LIMIT = 120.0  # seconds of CPU

AGAIN = {  # data that are in the league already in another reading, or would tell no methods apart, and why
    "predict_mandal2020/T?": "the forecasts of Pred.T1 to T4 as numbers. Whether something happened is a class, and "
    "the paper reads them so.",
    "snow_emotion/*": "the seven ratings of EMO, one by one. One crowd gave them all, and counts once.",
    "EMO.first": "twenty of the hundred headlines of EMO.",
    "TRI?.trials": "every single trial of the second experiment, of which TRI2 takes the mean over repetitions: a "
    "guess that is repeated ten times is one opinion.",
    "TRANSL": "crowdwsa2019/T1 as the paper has it, where a worker who answers a task twice is two. The three texts of "
    "crowdwsa2019 are read alike instead.",
    "bounding_boxes_braylan/boxes": "the same boxes, compared by how much they overlap.",
    "bubil_crowd_segmentation/*": "the sets of bubil_crowd_segmentation, one by one; those of its pictures whose truth "
    "has no exact place are not in the league.",
    "llmbar_llm_judges/*": "the parts of llmbar_llm_judges. The same judges answered all of them, and count once.",
    "sp_voting_rankings/*": "the parts of sp_voting_rankings. Largely the same workers answered them, and count once.",
}


def choose() -> tuple[list[str], list[str]]:
    """Return the data sets of the league, and those that would be in it if they were here."""
    wanted = [name for name in DATASETS if not any(fnmatch(name, pattern) for pattern in AGAIN)]
    here = [name for name in wanted if find_folder(source_of(name))]
    return here, [name for name in wanted if name not in here]


def describe(name: str, answers: Answers) -> Data:
    """Say what the page shows of a data set; rankings with ties or gaps are a kind of their own."""
    loose = answers.domain.name == "ranking" and not are_orders(answers)
    return Data(
        name=name,
        domain="ranking with gaps" if loose else answers.domain.name,
        classes=answers.encoding.n_classes,
        workers=len(answers.workers),
        tasks=len(answers.tasks),
        answers=answers.n_answers,
        gold=len(answers.gold_task),
        alike=correlate(answers),
    )


def correlate(answers: Answers) -> float:
    """Return the rank correlation, over workers, of disparity and distance to gold, where both are known."""
    run = make_ready(Memory().load(answers))
    disparity, fault = PTD().weigh(run).disparity, OA().weigh(run).fault
    known = ~(np.isnan(disparity) | np.isnan(fault))
    return float(scipy.stats.spearmanr(disparity[known], fault[known]).statistic)


class Outcome(NamedTuple):
    """How far from gold a method was, how many CPU seconds it took, and how far its confidences are from the truth."""

    error: float
    seconds: float
    calibration: float | None = None


def play_ours(method: Method, answers: Answers, limit: float = LIMIT) -> Outcome:
    """Play a method for each draw of ties, and average; slow methods have fewer draws."""
    found: list[TaskTable] = []
    begin = time.process_time()
    while len(found) < SEEDS and time.process_time() - begin <= limit / SEEDS:
        run = make_ready(Memory().load(answers, Ties(len(found))))
        found.append(find_truths(run, weigh(without_gold(method), run)))
    seconds = (time.process_time() - begin) / len(found)
    sure = fmean(map(calibrate, found)) if answers.domain.name == "categorical" else None
    return Outcome(fmean(table.mean("gold") for table in found), seconds, sure)


def calibrate(found: TaskTable) -> float:
    """Return the expected calibration error of the confidences, over the tasks whose truth is known."""
    confidence, gold = (found.joined().found[name] for name in ("confidence", "gold"))
    return find_calibration(confidence[~np.isnan(gold)], gold[~np.isnan(gold)] == 0)


def play_theirs(solve: Callable[[Any], Any], answers: Answers) -> Outcome:
    """Play a method of crowd-kit."""
    frame = frame_of(answers)
    begin = time.process_time()
    truth = solve(frame)
    seconds = time.process_time() - begin
    on = getattr(answers.domain, "on", None)  # the value that a mask's pixels have where it is read
    ids = answers.tasks.tolist()
    known = {ids[task]: truth[task] if on is None else truth[task] == bool(on) for task in answers.gold_task.tolist()}
    found = read_gold(known, answers)
    return Outcome(float(found.encoding.kernels.distance_between(found.gold_label, answers.gold_label).mean()), seconds)


def measure(data: str, method: str, playing: Playing, process: Limited, limit: float = LIMIT) -> Figure:
    """Play one method on one data set, in another process, or say why it could not."""
    try:
        outcome = process.call(playing, seconds=limit)
    except (AllalikeError, TimeoutError) as reason:
        return Figure(data=data, method=method, failure=str(reason))
    except Exception as reason:  # whatever goes wrong in crowd-kit is its result
        return Figure(data=data, method=method, failure=f"{type(reason).__name__}: {reason}")
    return Figure(data=data, method=method, **outcome._asdict())


def play(
    name: str, known: Mapping[tuple[str, str], Figure], process: Limited, limit: float = LIMIT
) -> tuple[Data, Iterator[Figure]]:
    """Describe a data set, and play all methods on it that can be; what is known already is not measured."""
    answers = load(name).answers
    ours = {method: playing for method, playing in OURS.items() if serves(playing, answers.encoding)}
    playing = {method: partial(play_ours, playing, answers, limit) for method, playing in ours.items()}
    theirs = {method: partial(play_theirs, solve, answers) for method, solve in rivals_of(answers).items()}
    every: dict[str, Playing] = {**playing, **theirs}
    found = (known.get((name, one)) or measure(name, one, begin, process, limit) for one, begin in every.items())
    return describe(name, answers), found


def _read(path: Path | None) -> dict[tuple[str, str], Figure]:
    if path is None or not path.exists():
        return {}
    figures = [Figure(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(figure.data, figure.method): figure for figure in figures}


def _keep(path: Path | None, figure: Figure) -> None:
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(figure)) + "\n")


def play_all(kept: Path | None, process: Limited, limit: float, only: list[str] | None = None) -> League:
    """Play every method on every data set, or only on some."""
    known, (names, missing) = _read(kept), choose()
    data, figures = [], []
    for name in names if only is None else only:
        described, found = play(name, known, process, limit)
        data.append(described)
        for figure in found:
            figures.append(figure)
            if (name, figure.method) not in known:
                _keep(kept, figure)
                shown = figure.failure or f"error {figure.error:.4f}, {figure.seconds:.2f} s"
                print(f"{name}: {figure.method}: {shown}", file=sys.stderr, flush=True)
    return League(data=data, figures=figures, again=AGAIN, missing=missing, limit=limit, seeds=SEEDS)


def main() -> None:
    """Play, and write the page beside its place before it is renamed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/evidence/LEAGUE.md"), help="the page to write")
    parser.add_argument("--figures", type=Path, help="keep figures here, and do not measure those that it has")
    parser.add_argument("--limit", type=float, default=LIMIT, help="CPU seconds that a method may take on a data set")
    parser.add_argument("--only", nargs="+", help="play on these data sets, and renew their tables")
    given = parser.parse_args()
    if given.output.exists() and not given.output.is_file():  # a device would become a file
        parser.error(f"{given.output} is no file")
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":  # or CPU time would count how long threads wait for each other
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    use_data_beside_the_clone()
    most = psutil.virtual_memory().total // 2
    resource.setrlimit(resource.RLIMIT_AS, (most, most))  # so that what needs too much memory fails alone
    beside = given.output.with_name(f".{given.output.name}")
    with Limited() as process:
        played = play_all(given.figures, process, given.limit, given.only)
    page = renew_tables(given.output.read_text(encoding="utf-8"), played) if given.only else write_page(played)
    beside.write_text(page, encoding="utf-8")
    beside.replace(given.output)


if __name__ == "__main__":
    main()
