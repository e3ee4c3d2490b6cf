"""Measure how often files are read right at once, and how often what is proposed instead is right.

Crowds whose answers are known are written as files in many disguises, and tables of tools with other names for their
columns. Each is read as `discover` reads it. Where it asks or stops, what it proposes is followed. Scores were chosen
on one half of the families of crowds and on the tables of tools; the figures that count are those of the other half.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from allalike import __version__
from allalike._core.blocks.block import Ties
from allalike.checks import check_answers
from allalike.discover import open_run
from allalike.errors import AllalikeError, DataWarning
from allalike.readers import scan
from allalike.readers.proposals import find_other_readings
from crowd_data import load
from disguises import DISGUISES, rename_columns
from gold_crowds import crowd_folder
from proposals_page import OUTCOMES, PAGE, write_figures, write_page
from public_data import use_data_beside_the_clone

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MAX_ANSWERS = 2000
CHOSEN_ON = (
    *("Chinese", "Medicine", "Science", "TRI1", "triangles_hart2018/Exp5", "snow_rte", "snow_wordsim"),
    *("snow_emotion/joy", "mvh_edge", "wrench_trec", "llmbar_llm_judges/Natural"),
)
REPORTED = (
    *("Pred.T1", "predict_mandal2020/T2", "ordinal_covid_truthfulness", "gdots", "sp_voting_rankings/movies"),
    *("crowdwsa2019/T1", "bench_dog", "bench_labelme", "bench_product", "zeroeval_gsm8k", "mmlu_biology"),
    *("faithbench", "tiny_imagenet_crowd", "triviaqa_judges"),
)
_TABLES = {  # of tools: what stands between columns, and those of worker, task and label, of which there may be several
    "mturk-batch.csv": (",", "WorkerId", "HITId", "Answer.emotion.label"),
    "toloka.tsv": (
        *("\t", "ASSIGNMENT:worker_id", "INPUT:image"),
        *(f"OUTPUT:{question}" for question in ("q1", "q2", "q3", "snowclone", "exploitable", "reaction")),
    ),
    "figure-eight-relations.csv": (",", "_worker_id", "_unit_id", "step_1_select_the_valid_relations"),
    "crowdtruth-rte.csv": (",", "!amt_worker_ids", "orig_id", "response"),
}
Rows = dict[tuple[str, str], str]  # what each worker said about each task


def read_crowd(name: str) -> pd.DataFrame:
    """Return worker, task and label of some whole tasks of a crowd, as texts."""
    path = crowd_folder() / f"{name}.npz"
    if path.is_file():
        with np.load(path) as held:
            columns = {"worker": held["W"], "task": held["T"], "label": held["L"]}
    else:
        answers = load(name).answers
        tasks = np.repeat(np.arange(len(answers.tasks)), np.diff(answers.starts))
        columns = {
            "worker": [
                str(worker).replace("/", "-") for worker in np.array(answers.workers.tolist(), object)[answers.worker]
            ],
            "task": np.array(answers.tasks.tolist(), object)[tasks],
            "label": [_shown(label) for label in answers.encoding.decode(answers.label).tolist()],
        }
    frame = pd.DataFrame({role: [str(value) for value in values] for role, values in columns.items()})
    frame = frame[frame["label"].str.strip() != ""].drop_duplicates(["worker", "task"])
    order = np.random.default_rng(0).permutation(frame["task"].unique())
    sizes = frame["task"].value_counts()[order].cumsum()
    return frame[frame["task"].isin(sizes.index[sizes <= _MAX_ANSWERS])].sample(frac=1, random_state=0)


def _shown(label: Any) -> str:
    return ">".join(map(str, label)) if isinstance(label, tuple | list) else str(label)


def _read(source: Any, how: Mapping[str, Any]) -> Rows:
    """Read as `discover` does, which stops at what is hardly meant; return what each worker said about each task."""
    answers = scan(source, **how)
    _, run = open_run(answers, None, engine="memory", ties=Ties())
    severe = [issue for issue in check_answers(run) if issue.severe]
    if severe:
        raise DataWarning(severe[0].text, proposals=find_other_readings(answers))
    found = answers.read()
    tasks = np.array([str(task) for task in found.tasks.tolist()], object)[
        np.repeat(np.arange(len(found.tasks)), np.diff(found.starts))
    ]
    workers = [str(worker) for worker in found.workers.tolist()]
    labels = map(_shown, found.encoding.decode(found.label).tolist())
    return {(workers[who], task): label for who, task, label in zip(found.worker, tasks, labels, strict=True)}


def _is_right(found: Rows, right: list[Rows]) -> bool:
    """Tell whether answers are those that were meant, in one of the columns that say the same."""
    return any(
        found.keys() == rows.keys() and all(_same(found[pair], label) for pair, label in rows.items()) for rows in right
    )


def _same(found: str, label: str) -> bool:
    if found.strip() == label.strip():
        return True
    try:
        return abs(float(found) - float(label)) <= 1e-9 * abs(float(label))
    except ValueError:
        return False


def follow(source: Any, right: list[Rows], verbose: str = "") -> str:
    """Read files, and what is proposed where that does not work; say which of it was right."""
    try:
        found = _read(source, {})
    except (AllalikeError, DataWarning) as error:
        asked = error
        proposals = [proposal.options for proposal in getattr(error, "proposals", ())]
    else:
        outcome = OUTCOMES[0] if _is_right(found, right) else OUTCOMES[-1]
        if verbose and outcome != OUTCOMES[0]:
            print(f"  {verbose}: {outcome}", file=sys.stderr)
        return outcome
    for place, settles in enumerate(proposals):
        try:
            if _is_right(_read(source, settles), right):
                if verbose and place:
                    print(f"  {verbose}: place {place + 1}, first was {proposals[0]}", file=sys.stderr)
                return OUTCOMES[1] if place == 0 else OUTCOMES[2]
        except (AllalikeError, DataWarning):
            continue
    if verbose:
        print(f"  {verbose}: none of {proposals} :: {str(asked)[:300]}", file=sys.stderr)
    return OUTCOMES[3]


def _rows(frame: pd.DataFrame) -> Rows:
    return {(who, what): said for who, what, said in frame.itertuples(index=False, name=None)}


def _say_the_same(one: pd.Series[str], other: pd.Series[str]) -> bool:
    return bool((one.factorize()[0] == other.factorize()[0]).all())


def _disguised(name: str, folder: Path, only: str) -> Iterator[tuple[str, Any, list[Rows]]]:
    crowd = read_crowd(name)
    for place, (disguise, write) in enumerate(DISGUISES.items()):
        if only in disguise:
            yield disguise, write(crowd, folder / str(place)), [_rows(crowd[["worker", "task", "label"]])]


def _tables(folder: Path) -> Iterator[tuple[str, Any, list[Rows]]]:
    exports = Path(os.environ.get("ALLALIKE_EXPORTS", crowd_folder().parent / "exports"))
    for name, (mark, worker, task, *labels) in _TABLES.items():
        frame = pd.read_csv(exports / name, sep=mark, dtype=str, keep_default_na=False, index_col=False)
        same = [[each for each in frame if _say_the_same(frame[each], frame[role])] for role in (worker, task)]
        given = frame.drop_duplicates([worker, task])
        right = [_rows(given[list(roles)][given[roles[2]].str.strip() != ""]) for roles in product(*same, labels)]
        yield name, rename_columns(frame, folder / Path(name).stem), right


def measure(names: tuple[str, ...], only: str = "", verbose: bool = False) -> dict[str, Counter[str]]:
    """Count the outcomes of each disguise."""
    counts: dict[str, Counter[str]] = {}
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            for disguise, source, right in _disguised(name, Path(folder), only):
                said = f"{name}, {disguise}" if verbose else ""
                counts.setdefault(disguise, Counter())[follow(source, right, said)] += 1
    return counts


def measure_tables(verbose: bool = False) -> dict[str, Counter[str]]:
    """Count the outcomes of tables of tools."""
    with tempfile.TemporaryDirectory() as folder:
        return {
            name: Counter([follow(source, right, name if verbose else "")])
            for name, source, right in _tables(Path(folder))
        }


def _find_version() -> str:
    """Name what is measured: the version, and the commit."""
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return f"{__version__} {found.stdout.strip()}"


def main() -> None:
    """Measure, and print or write what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=("chosen", "reported", "tables"), help="one part alone")
    parser.add_argument("--only", default="", help="a part of the names of disguises")
    parser.add_argument("--name", help="one crowd")
    parser.add_argument("--write", action="store_true", help="write the figures and the page")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    use_data_beside_the_clone()
    warnings.simplefilter("ignore")
    counts: dict[str, dict[str, Counter[str]]] = {}
    for half, names in {"chosen": CHOSEN_ON, "reported": REPORTED}.items():
        if options.half in (half, None):
            counts[half] = measure((options.name,) if options.name else names, options.only, options.verbose)
    if options.half in ("tables", None):
        counts["tables"] = measure_tables(options.verbose)
    for half, files in counts.items():
        for file, found in files.items():
            print(half, file, *(found[outcome] for outcome in OUTCOMES), sep="\t")
    if options.write:
        write_figures(counts, _find_version())
        PAGE.write_text(write_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
