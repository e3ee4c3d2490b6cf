"""Disguises: crowds as files in which columns have other names and another order, beside columns that are no answers.

Each disguise writes a crowd into a folder and says what is to be read. The right reading is known, for the crowd is.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["DISGUISES", "rename_columns"]

_WORDS = [
    "river",
    "stone",
    "green",
    "small",
    "house",
    "under",
    "light",
    "open",
    "winter",
    "paper",
    "quiet",
    "road",
    "seven",
    "apple",
    "glass",
    "north",
]
_GERMAN = {
    "worker": "Bearbeiterin",
    "task": "Aufgabe",
    "label": "Antwort",
    "key": "Zeile",
    "time": "Zeitpunkt",
    "seconds": "Dauer",
    "text": "Wortlaut",
    "topic": "Thema",
    "country": "Land",
    "batch": "Los",
    "comment": "Bemerkung",
    "sure": "Sicherheit",
}
_SYNONYMS = {
    "worker": "annotator_id",
    "task": "item_id",
    "label": "rating",
    "key": "id",
    "time": "created_at",
    "seconds": "duration",
    "text": "text",
    "topic": "category",
    "country": "country",
    "batch": "batch",
    "comment": "comment",
    "sure": "confidence",
}
_OTHER_MEANINGS = {"worker": "who", "task": "stimulus", "label": "said", "topic": "task", "key": "id", "batch": "label"}


def _number(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)


def with_others(crowd: pd.DataFrame) -> pd.DataFrame:
    """Add what files have beside answers: keys, times, texts, what is told of tasks and workers, remarks."""
    rng = np.random.default_rng(len(crowd))
    rows = range(len(crowd))
    texts = {task: " ".join(_WORDS[_number(f"{task}{n}") % 16] for n in range(9)) for task in crowd["task"].unique()}
    begun = pd.Timestamp("2024-03-01") + pd.to_timedelta(np.cumsum(rng.integers(1, 90, len(crowd))), "s")
    return crowd.assign(
        key=[hashlib.sha256(str(row).encode()).hexdigest()[:12] for row in rows],
        time=begun.strftime("%Y-%m-%d %H:%M:%S"),
        seconds=rng.lognormal(3, 1, len(crowd)).round(2).astype(str),
        text=crowd["task"].map(texts),
        topic=["topic " + "ABCDE"[_number(str(task)) % 5] for task in crowd["task"]],
        country=[["NL", "IN", "US", "BR"][_number(str(worker)) % 4] for worker in crowd["worker"]],
        batch="batch 7",
        comment=[f"I am not sure about row {row}" if rng.random() < 0.1 else "" for row in rows],
        sure=rng.integers(1, 6, len(crowd)).astype(str),
    )


def _mixed(frame: pd.DataFrame) -> pd.DataFrame:
    """Put columns in another order."""
    return frame[sorted(frame.columns, key=lambda name: _number(f"{name} {len(frame)}"))]


def _unnamed(frame: pd.DataFrame) -> pd.DataFrame:
    return _mixed(frame).set_axis([f"c{place}" for place in range(1, frame.shape[1] + 1)], axis=1)


def _write(frame: pd.DataFrame, folder: Path, name: str = "answers.csv") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    frame.to_csv(folder / name, index=False)
    return str(folder / name)


def rename_columns(frame: pd.DataFrame, folder: Path) -> str:
    """Write a table in which no column has its name or place."""
    return _write(_unnamed(frame), folder)


def _own_names(crowd: pd.DataFrame, folder: Path) -> Any:
    return _write(_mixed(with_others(crowd)), folder)


def _synonyms(crowd: pd.DataFrame, folder: Path) -> Any:
    return _write(_mixed(with_others(crowd)).rename(columns=_SYNONYMS), folder)


def _german(crowd: pd.DataFrame, folder: Path) -> Any:
    return _write(_mixed(with_others(crowd)).rename(columns=_GERMAN), folder)


def _three_unnamed(crowd: pd.DataFrame, folder: Path) -> Any:
    return _write(_unnamed(crowd), folder)


def _unnamed_among_others(crowd: pd.DataFrame, folder: Path) -> Any:
    return _write(_unnamed(with_others(crowd).drop(columns="sure")), folder)


def _wrong_names(crowd: pd.DataFrame, folder: Path) -> Any:
    return _write(_mixed(with_others(crowd)).rename(columns=_OTHER_MEANINGS), folder)


def _two_questions(crowd: pd.DataFrame, folder: Path) -> Any:
    """Ask a second question, to which a fifth of the answers are those of another row."""
    rng = np.random.default_rng(1)
    other = np.where(rng.random(len(crowd)) < 0.2, crowd["label"].sample(frac=1, random_state=1), crowd["label"])
    frame = with_others(crowd).assign(second=other).drop(columns="sure")
    return _write(_mixed(frame).rename(columns={**_GERMAN, "label": "Frage 1", "second": "Frage 2"}), folder)


def _matrix(crowd: pd.DataFrame, rows: str, columns: str) -> pd.DataFrame:
    return crowd.pivot_table(index=rows, columns=columns, values="label", aggfunc="first").reset_index()


def _wide_tasks(crowd: pd.DataFrame, folder: Path) -> Any:
    return _write(_matrix(crowd, "task", "worker").rename(columns={"task": "item"}), folder)


def _wide_workers(crowd: pd.DataFrame, folder: Path) -> Any:
    return _write(_matrix(crowd, "worker", "task").rename(columns={"worker": "name"}), folder)


def _file_each(crowd: pd.DataFrame, folder: Path) -> Any:
    for worker, part in with_others(crowd).rename(columns=_SYNONYMS).groupby("annotator_id"):
        _write(part.drop(columns=["annotator_id", "country"]), folder, f"{worker}.csv")
    return str(folder)


def _unnamed_file_each(crowd: pd.DataFrame, folder: Path) -> Any:
    for worker, part in with_others(crowd).rename(columns=_GERMAN).groupby("Bearbeiterin"):
        _write(part.drop(columns=["Bearbeiterin", "Land", "Sicherheit"]), folder, f"{worker}.csv")
    return [str(path) for path in sorted(folder.iterdir())]


def _weekly(crowd: pd.DataFrame, folder: Path) -> Any:
    frame = with_others(crowd).rename(columns=_GERMAN)
    for week, rows in enumerate(np.array_split(np.arange(len(frame)), 4)):
        _write(frame.iloc[rows], folder, f"week-{week}.csv")
    return str(folder / "*.csv")


def _hive(crowd: pd.DataFrame, folder: Path) -> Any:
    """Write Parquet files in folders that say whose they are."""
    for worker, part in with_others(crowd).rename(columns=_GERMAN).groupby("Bearbeiterin"):
        inner = folder / f"Bearbeiterin={worker}"
        inner.mkdir(parents=True)
        part.drop(columns=["Bearbeiterin"]).to_parquet(inner / "part-0.parquet", index=False)
    return str(folder)


def _sheets(crowd: pd.DataFrame, folder: Path) -> Any:
    """Write a book of Excel with a sheet of notes before the answers, and one of workers behind them."""
    folder.mkdir(parents=True)
    frame = with_others(crowd)
    with pd.ExcelWriter(folder / "book.xlsx") as book:
        pd.DataFrame({"Notes": ["made in spring", "see the sheet of answers"]}).to_excel(
            book, sheet_name="Read me", index=False
        )
        _mixed(frame).rename(columns=_GERMAN).to_excel(book, sheet_name="Antworten", index=False)
        people = frame[["worker", "country"]].drop_duplicates()
        people.to_excel(book, sheet_name="People", index=False)
    return str(folder / "book.xlsx")


def _nested(crowd: pd.DataFrame, folder: Path) -> Any:
    """Write a record for each task, with a list of who said what."""
    folder.mkdir(parents=True)
    records = [
        {
            "stimulus": task,
            "given": [{"who": row.worker, "said": row.label, "when": row.time} for row in part.itertuples()],
        }
        for task, part in with_others(crowd).groupby("task")
    ]
    path = folder / "answers.jsonl"
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return str(path)


DISGUISES: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "own names among others": _own_names,
    "synonyms among others": _synonyms,
    "German among others": _german,
    "three columns without names": _three_unnamed,
    "without names among others": _unnamed_among_others,
    "names that mean others": _wrong_names,
    "two questions": _two_questions,
    "a matrix, one row per task": _wide_tasks,
    "a matrix, one row per worker": _wide_workers,
    "a file for each worker": _file_each,
    "the same in German": _unnamed_file_each,
    "weekly files": _weekly,
    "a Hive folder of Parquet": _hive,
    "Excel with three sheets": _sheets,
    "nested JSON": _nested,
}
