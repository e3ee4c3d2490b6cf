"""Translations from Japanese, by Li and Fukumoto (2019)."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from allalike.domains import Text
from allalike.readers import read
from crowd_data.base import Parsed, Parser
from crowd_data.originals import count_repeats, read_columns, read_truths

if TYPE_CHECKING:
    from pathlib import Path

_COLUMNS = {"worker": "worker", "task": "sentence", "label": "workeranswer"}
_TEN_TRANSLATIONS_NOTE = (
    "T1 and T2 both have 100 sentences; T1 is taken. The paper has ten translations of each sentence, so every row"
    " counts: where a worker translated a sentence again, that is a worker of its own, such as 'worker70 (2)'. Texts"
    " are compared as the paper does, with capitals and split at spaces."
)


def _translations(folder: Path, *, part: str) -> Parsed:
    """Read a part; texts are compared by words in lower case, because gold texts are in lower case."""
    domain = Text(lower=True, tokens="words")
    answers = read(_file(folder, part, "label_anonymous"), columns=_COLUMNS, duplicates="last", domain=domain)
    return Parsed(answers, _truths(folder, part), count_repeats(answers, "last"))


def _ten_each(folder: Path) -> Parsed:
    seen: Counter[tuple[str, str]] = Counter()
    rows = []
    columns = read_columns(_file(folder, "T1", "label_anonymous"), *_COLUMNS.values())
    for worker, sentence, text in zip(*columns, strict=True):
        seen[worker, sentence] += 1
        times = seen[worker, sentence]
        rows.append((worker if times == 1 else f"{worker} ({times})", int(sentence), text))
    return Parsed(read(rows, domain=Text()), _truths(folder, "T1"), _TEN_TRANSLATIONS_NOTE)


def _truths(folder: Path, part: str) -> dict[int, str]:
    return read_truths(_file(folder, part, "gt"), task="sentence", label="trueanswer")


def _file(folder: Path, part: str, what: str) -> Path:
    return folder / "data" / f"CrowdWSA2019_{part}_{what}.tsv"


TEXTS = (
    Parser("TRANSL", "crowdwsa2019", "translate a sentence to English, ten times each", _ten_each),
    Parser("crowdwsa2019/T1", "crowdwsa2019", "translate a sentence to English", partial(_translations, part="T1")),
    Parser(
        "crowdwsa2019/T2", "crowdwsa2019", "translate another sentence to English", partial(_translations, part="T2")
    ),
    Parser(
        "crowdwsa2019/J1", "crowdwsa2019", "translate a longer sentence to English", partial(_translations, part="J1")
    ),
)
