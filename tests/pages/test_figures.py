"""A figure is measured once: where prose quotes one, it is that of the page which a program writes."""

import re
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import NamedTuple

import pytest

from allalike.datasets import DATASETS

ROOT = Path(__file__).parents[2]
NUMBER = r"[\d,]+(?:\.\d+)?"


class Cell(NamedTuple):
    """A number in a table, or its inverse."""

    page: str
    section: str
    row: str
    column: str
    inverse: bool = False

    def read(self) -> Decimal:
        for table in tables(self.page, self.section):
            heads, *rows = table
            if self.column in heads:
                for row in rows:
                    if row[0] == self.row:
                        number = first_number(row[heads.index(self.column)])
                        return 1 / number if self.inverse else number
        raise LookupError(f"{self.page} has no {self.row!r}, {self.column!r} in {self.section!r}")


class Sentence(NamedTuple):
    """A number in a sentence, where {} stands for it."""

    page: str
    words: str

    def read(self) -> Decimal:
        (number,) = numbers_in(self.page, self.words)
        return first_number(number)


Quoted = tuple[str, str, *tuple[Cell | Sentence, ...]]  # a page, its sentence with {}, and what holds each figure


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def tables(page: str, section: str) -> list[list[list[str]]]:
    """Return the tables below a heading, as rows of cells; the first row has the heads."""
    _, _, rest = f"\n{text_of(page)}".partition(f"# {section}\n")
    lines = re.split(r"^#+ ", rest, maxsplit=1, flags=re.MULTILINE)[0]
    found = re.findall(r"(?:^\|.*\n?)+", lines, flags=re.MULTILINE)
    cells = [[[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()] for table in found]
    return [[heads, *rows] for heads, _, *rows in cells]


def first_number(text: str) -> Decimal:
    """Return the number in 83.0, **83.0**, 15 (2) or 4.10 GB."""
    found = re.search(NUMBER, text)
    assert found, text
    return Decimal(found[0].replace(",", ""))


def numbers_in(page: str, words: str) -> tuple[str, ...]:
    """Return what stands at {} in a sentence of a page."""
    pattern = re.escape(" ".join(words.split())).replace(r"\{\}", f"({NUMBER})")
    found = list(re.finditer(pattern, " ".join(text_of(page).split())))
    assert len(found) == 1, f"{page} has {len(found)} times: {words}"
    return found[0].groups()


LEADERBOARD, BENCHMARKS = (f"docs/evidence/{name}.md" for name in ("LEADERBOARD", "BENCHMARKS"))
CHOOSING, PANELS = "docs/guide/CHOOSING.md", "docs/evidence/PANELS.md"
KINDS = (CHOOSING, "Kinds of crowds")
SPEED = (BENCHMARKS, "Speed")
JUDGES = (PANELS, "The panel and others", "llmbar_llm_judges")

QUOTED: list[Quoted] = [
    (
        "README.md",
        "three workers who are right 95 % of the time and nine who are right 35 %, majority vote gets {} % of the "
        "tasks wrong, `allalike` {} %",
        Cell(*KINDS, "three experts among nine others", "majority vote"),
        Cell(*KINDS, "three experts among nine others", "`auto`"),
    ),
    (
        "README.md",
        "On {} crowds that were not used for tuning, the default is right {} % of the time, majority vote {} %",
        Sentence(LEADERBOARD, "On {} further crowds that were not used"),
        Sentence(LEADERBOARD, "it was right in {} % of the tasks (majority vote"),
        Sentence(LEADERBOARD, "of the tasks (majority vote {} %, MACE"),
    ),
    (
        "README.md",
        "three copy a fourth: {} % wrong by majority vote, {} % with `allalike`",
        Cell(*KINDS, "three copy a fourth", "majority vote"),
        Cell(*KINDS, "three copy a fourth", "`auto`"),
    ),
    (
        "README.md",
        "{} times faster (Dawid-Skene), {} times (majority vote)",
        Cell(*SPEED, "DS / crowd-kit's DawidSkene, 1 million answers, CPU", "value", inverse=True),
        Cell(*SPEED, "UA / crowd-kit's MajorityVote, 1 million answers, CPU", "value", inverse=True),
    ),
    (
        "docs/guide/CROWDKIT.md",
        "is {} times faster than crowd-kit's `DawidSkene` and {} times faster than its `OneCoinDawidSkene`",
        Cell(*SPEED, "DS / crowd-kit's DawidSkene, 1 million answers, CPU", "value", inverse=True),
        Cell(*SPEED, "DS-1 / crowd-kit's OneCoinDawidSkene, 1 million answers, CPU", "value", inverse=True),
    ),
    (
        "docs/guide/FAILURES.md",
        "majority vote is right {} % of the time, iP-TD 46.3 %, and OA",
        Cell(*JUDGES, "UA"),
    ),
    ("docs/guide/FAILURES.md", "fifty gold labels lift it to {} %", Cell(*JUDGES, "gold 50")),
    (PANELS, "fifty gold labels lift it from {} to {} %", Cell(*JUDGES, "gold 0"), Cell(*JUDGES, "gold 50")),
    (
        "docs/guide/JURY.md",
        "fifty gold labels lift the panel from {} to {} %",
        Cell(*JUDGES, "gold 0"),
        Cell(*JUDGES, "gold 50"),
    ),
    (
        "docs/science/METHODS.md",
        "takes the vote and is right {} % of the time. With fifty gold labels it is right {} % of the time",
        Cell(*JUDGES, "UA"),
        Cell(*JUDGES, "gold 50"),
    ),
]


@pytest.mark.parametrize("quoted", QUOTED, ids=lambda quoted: f"{quoted[0]}: {quoted[1]}")
def test_a_figure_in_prose_is_the_one_that_was_measured(quoted: Quoted) -> None:
    page, words, *sources = quoted
    for number, source in zip(numbers_in(page, words), sources, strict=True):
        shown = Decimal(number.replace(",", ""))
        assert source.read().quantize(shown, ROUND_HALF_UP) == shown, f"{page} says {number}: {source}"


def test_the_page_of_data_says_how_many_data_sets_there_are() -> None:
    assert numbers_in("docs/guide/DATA.md", "allalike datasets list # {} of them") == (str(len(DATASETS)),)
