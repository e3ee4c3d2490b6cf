"""Rankings: dots and puzzles of Mao, Procaccia and Chen (2013), buildings, misinformed crowds, and translations.

Items are often numbered in their true order, so breaking ties by number would leak the truth. `allalike` breaks ties at
random.
"""

from __future__ import annotations

import json
from functools import partial
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from allalike.domains import Categorical, Ranking
from allalike.readers import read
from allalike.rules.strengths import fit_strengths
from crowd_data.base import Parsed, Parser
from crowd_data.originals import bare_rows, count_repeats, read_columns

if TYPE_CHECKING:
    from pathlib import Path

_MERGED_PUZZLES_NOTE = (
    "PrefLib merges the forty puzzles of a level and drops who answered which: every vote is a worker of its own, and"
    " the level is one task."
)
_TREATMENTS = ("4", "5", "6")  # in which workers ranked all four options
_SUBJECTS = {"1": "geography", "2": "movies", "3": "paintings"}
_MISLED_CROWDS_NOTE = (
    "Only the votes of treatments 4 to 6 rank all options. Many of these crowds are misled: on paintings they are"
    " farther from the truth than chance."
)

_TRANSLATIONS_NOTE = (
    "Five of thirteen systems are ranked for a sentence, with ties. All sentences are one task, where the rankings of"
    " a worker add up; the truth is the researchers' order of the twelve systems that they judged."
)


def _level(folder: Path, *, file: str) -> Parsed:
    """Read a level of dots or puzzles, whose items are numbers of dots or moves, fewest first."""
    answers = read(folder / "datasets" / file, domain=Ranking())
    items = answers.encoding.decode(answers.label[:1])[0]
    return Parsed(answers, {answers.tasks[0]: sorted(items, key=int)}, _MERGED_PUZZLES_NOTE)


def _buildings(folder: Path) -> Parsed:
    """Read orders of 25 buildings, in rows without a header; items are written as 4.0."""
    files = folder / "data" / "non_synthetic" / "Rankings" / "buildings"
    orders, truths = (
        [[int(float(item)) for item in row] for row in bare_rows(files / f"buildings_height{end}.csv")]
        for end in ("", "_gt")
    )
    rows = [(worker, "buildings", order) for worker, order in enumerate(orders, 1)]
    return Parsed(read(rows, domain=Ranking()), {"buildings": truths[0]})


def _which_has_more(folder: Path) -> Parsed:
    """Read answers a or b to 25 questions, one row per worker."""
    files = folder / "data" / "non_synthetic"
    answers, truths = (bare_rows(files / f"dots_k25_n41{end}.csv") for end in ("", "_GT"))
    rows = [(worker, task, label) for worker, row in enumerate(answers, 1) for task, label in enumerate(row, 1)]
    return Parsed(read(rows, domain=Categorical(classes=2)), dict(enumerate(truths[0], 1)))


def _surprising(folder: Path, *, subject: str | None = None) -> Parsed:
    """Read the votes that rank all four options; options are listed in their true order."""
    path = folder / "data" / "question_responses.csv"
    names = ("workerId", "treatment", "domain", "question", "response", "options")
    rows, gold = [], {}
    for worker, treatment, code, question, response, options in zip(*read_columns(path, *names), strict=True):
        if treatment in _TREATMENTS and subject in (None, _SUBJECTS[code]):
            task = f"{_SUBJECTS[code]}/{question}"
            rows.append((int(worker), task, json.loads(response)[0]))
            gold[task] = json.loads(options)
    answers = read(rows, domain=Ranking(), duplicates="first")
    return Parsed(answers, gold, f"{_MISLED_CROWDS_NOTE} {count_repeats(answers)}")


def _translations(folder: Path) -> Parsed:
    """Read crowd rankings of systems, with ties; gold is the researchers' Bradley-Terry order."""
    names = ["judgeId", *(f"system{k}{what}" for what in ("Id", "rank") for k in range(1, 6))]
    rows: dict[str, list[tuple[str, str, dict[str, int]]]] = {"turker": [], "researcher": []}
    for file in ("sample-fr-en-train.csv", "sample-fr-en-test.csv"):
        for worker, *cells in zip(*read_columns(folder / "data" / file, *names), strict=True):
            ranks = {name.split(".")[2]: int(rank) for name, rank in zip(cells[:5], cells[5:], strict=True)}
            rows[worker.split("_")[0]].append((worker, "fr-en", ranks))
    truth = _order_by_strength([ranks for _, _, ranks in rows["researcher"]])
    return Parsed(read(rows["turker"], domain=Ranking()), {"fr-en": truth}, _TRANSLATIONS_NOTE)


def _order_by_strength(rankings: list[dict[str, int]]) -> list[str]:
    """Return all items ordered by strength."""
    items = sorted({item for ranks in rankings for item in ranks})
    counts = np.zeros((1, len(items), len(items)))
    for ranks in rankings:
        for one, other in permutations(ranks, 2):
            share = 0.5 if ranks[one] == ranks[other] else float(ranks[one] < ranks[other])
            counts[0, items.index(one), items.index(other)] += share
    return [items[place] for place in np.argsort(-fit_strengths(counts)[0][0])]


def _dots(level: int, number: int) -> Parser:
    parse = partial(_level, file=f"00024 - dots/00024-0000000{number}.soc")
    return Parser(f"DOTS{level}", "dots_puzz_preflib", f"four pictures by their dots, {level} apart", parse)


def _puzzles(level: int, number: int) -> Parser:
    parse = partial(_level, file=f"00025 - puzzle/00025-0000000{number}.soc")
    return Parser(f"PUZZ{level}", "dots_puzz_preflib", f"four puzzles by moves to go, at least {level}", parse)


def _subject(name: str) -> Parser:
    parse = partial(_surprising, subject=name)
    return Parser(f"sp_voting_rankings/{name}", "sp_voting_rankings", f"four options about {name} in order", parse)


RANKINGS = (
    _dots(3, 1),
    _dots(5, 2),
    _dots(7, 3),
    _dots(9, 4),
    _puzzles(5, 2),
    _puzzles(7, 3),
    _puzzles(9, 4),
    _puzzles(11, 1),
    Parser("BUILD.ranking", "meir_aaai23", "25 buildings by their height", _buildings),
    Parser("gdots", "meir_aaai23", "which of two pictures has more dots", _which_has_more),
    Parser("sp_voting_rankings", "sp_voting_rankings", "four places, movies or paintings in order", _surprising),
    *map(_subject, _SUBJECTS.values()),
    Parser("rankings_ties_wmt13", "rankings_ties_wmt13", "systems by how well they translate", _translations),
)
