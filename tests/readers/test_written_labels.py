"""Kinds that are known from how labels are written: each is read right, or asked about with a command that is right."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest

import allalike
from allalike import Engine
from allalike.domains.contract import spell_domain
from allalike.errors import InputError, LabelError
from allalike.readers.rating_scales import find_scale

WORKERS, TASKS = "abcde", 10


def cells(labels: Sequence[Any]) -> list[tuple[str, str, Any]]:
    """Return answers of five workers to ten tasks, with these labels over and over."""
    return [
        (w, f"t{t}", labels[(t * len(WORKERS) + n) % len(labels)]) for t in range(TASKS) for n, w in enumerate(WORKERS)
    ]


def written(path: Path, labels: Sequence[Any]) -> Path:
    """Write answers as text with columns, or as a sheet."""
    rows = [("worker", "task", "label"), *cells(labels)]
    if path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save(path)
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)
    return path


def spread(form: str, first: float = 45.0, step: float = 1.37) -> list[str]:
    """Return fifty numbers in a form."""
    return [form.format(first + step * place) for place in range(50)]


READ = {
    "per cent": (spread("{:.1f}%"), 'real(form="1234.5%")', 45.0),
    "per cent with a blank": (spread("{:.0f} %"), 'real(form="1234.5%")', 45.0),
    "few per cent": (["0%", "50%", "100%"], 'real(form="1234.5%")', 0.0),
    "dollars": (spread("${:.2f}", 11.45), 'real(form="$1234.5")', 11.45),
    "thousands": (spread("{:,.0f}", 45_511, 1370), 'real(form="1,234.5")', 45_511.0),
    "thousands beside smaller ones": (spread("{:,.0f}", 10, 137), 'real(form="1,234.5")', 10.0),
    "kilograms": (spread("{:.1f} kg"), 'real(form="1234.5 kg")', 45.0),
    "decimal commas": ([f"{45 + n}{',511' if n % 2 else ',5'}" for n in range(50)], 'real(form="1234,5")', 45.5),
    "euros": ([f"1.2{n:02d},25 €" for n in range(50)], 'real(form="1.234,5 €")', 1200.25),
    "sets": (["cat", "cat;dog", "dog;owl", "owl"], 'set(separator=";")', ["cat"]),
    "sets with commas": (["cat", "cat, dog", "dog, owl", "owl"], 'set(separator=",")', ["cat"]),
    "sets of numbers": (["1", "1,2", "1,2,3", "2,3"], 'set(separator=",")', ["1"]),
    "orders": (["cat;dog;owl", "dog;cat;owl", "owl;dog;cat"], 'ranking(separator=";")', ["cat", "dog", "owl"]),
    "places of words": (["0-0 1-6", "0-0", "0-1 1-6 2-2"], 'set(separator=" ")', ["0-0", "1-6"]),
    "days first": ([f"{13 + n % 15}/0{1 + n % 9}/2024" for n in range(50)], 'date(form="31/12/2024")', "13/01/2024"),
    "months first": ([f"0{1 + n % 9}/{13 + n % 15}/2024" for n in range(50)], 'date(form="12/31/2024")', "01/13/2024"),
    "years of two digits": ([f"{13 + n % 15}/0{1 + n % 9}/24" for n in range(50)], 'date(form="31/12/24")', "13/01/24"),
    "months before short years": (
        [f"{1 + n % 9}/{13 + n % 15}/24" for n in range(50)],
        'date(form="12/31/24")',
        "01/13/24",
    ),
    "short years first": ([f"24-0{1 + n % 9}-{1 + n % 28}" for n in range(50)], 'date(form="24-12-31")', "24-01-01"),
    "dots": ([f"{1 + n % 12:02d}.0{1 + n % 9}.2024" for n in range(50)], 'date(form="31.12.2024")', "01.01.2024"),
    "names of months": ([f"{1 + n % 28} Jan {1960 + n}" for n in range(50)], 'date(form="31 Dec 2024")', "01 Jan 1960"),
    "texts with a comma": (["Paris, France", "Rome, Italy", "Lyon, France"], "categorical", "Paris, France"),
    "final answers": (["1", "1,000", "2", "2,000", "12 apples"], "categorical", "1"),
    "texts of which one has a comma": (["a", "b", "c", "d", "e", "a, b"], "categorical", "a"),
    "codes": (["x17", "x18", "x19"], "categorical", "x17"),
    "codes with a letter": (["1a", "1b", "2a"], "categorical", "1a"),
    "generations": (["3G", "4G", "5G"], "categorical", "3G"),
}


@pytest.mark.parametrize("ending", [".csv", ".xlsx"])
@pytest.mark.parametrize(("labels", "spelled", "first"), READ.values(), ids=READ)
def test_labels_are_read_as_they_are_written(
    tmp_path: Path, ending: str, labels: list[str], spelled: str, first: object
) -> None:
    answers = allalike.read(written(tmp_path / f"answers{ending}", labels))
    assert answers.notes["guessed"]["domain"] == spelled
    assert allalike.read(cells(labels), domain=spelled).domain == answers.domain
    alone = allalike.discover([("a", 1, labels[0]), ("b", 1, labels[0])], domain=spelled, method="UA")
    assert alone.truth["label"].tolist() == [first]


KILOGRAMS = spread("{:.1f} kg")[:49]
MIXED_DAYS = [f"0{1 + n % 9}/{1 + n % 12}/{1960 + n}" for n in range(50)]
BOTH_ORDERS = [f"{1 + n % 28}/{28 - n % 28}/{1960 + n}" for n in range(50)]
THINGS = ["red;small", "red;large", "blue;small", "blue;large"]
THOUGHTS = [f"Case {n} was long, and after all of that I say {n % 7}" for n in range(50)]
VERDICTS = [f"Case {n} was long, and after all of that I choose it.\nAnswer: {'AB'[n % 2]}" for n in range(50)]
BARE_VERDICTS = [f"Case {n} was long, and after all of that: {'AB'[n % 2]}." for n in range(50)]

ASKED: dict[str, tuple[list[Any], dict[str, Any], str]] = {
    "two units": ([*KILOGRAMS, "99 lb"], {}, "different units"),
    "no unit": ([*KILOGRAMS, "99"], {"domain": 'real(form="1234.5 kg")'}, "none in"),
    "a word": ([*KILOGRAMS, "heavy"], {"abstain_label": "heavy"}, "'heavy' is not a number"),
    "bounds": (["<46", *spread("{:.1f}")[:49]], {"abstain_label": "<46"}, "Most different labels are numbers"),
    "brackets": (["(46.7)", *spread("{:.1f}")[:49]], {"abstain_label": "(46.7)"}, "Correct it, or exclude it"),
    "shares beside per cent": (
        [*spread("{:.0f}%")[:40], *spread("{:.3f}", 0.4, 0.01)[:10]],
        {"domain": 'real(form="1234.5%")'},
        "none in",
    ),
    "times": (["23:50", "00:10", "9:05 pm"], {}, "times of day, such as '"),
    "thousands or not": (["4500", *spread("{:,.0f}", 45_511)[:49]], {"domain": 'real(form="1234,5")'}, "ambiguous"),
    "money": (spread("{:.3f} €", 1.234), {"domain": 'real(form="1234.5 €")'}, "ambiguous"),
    "numbers or sets": (["1,2", "1,3", "2,3", "2"], {"domain": 'set(separator=",")'}, "may be numbers"),
    "numbers, hardly sets": (["1,5", "2,0", "3,5"], {"domain": 'real(form="1234,5")'}, "may be numbers"),
    "days or months": (MIXED_DAYS, {"domain": 'date(form="31/12/2024")'}, "ambiguous"),
    "days and months": (BOTH_ORDERS, {}, "no order"),
    "dates that recur": (["31/01/2024", "30/01/2024"], {"domain": 'date(form="31/12/2024")'}, "dates that recur"),
    "two things": (THINGS, {"domain": 'set(separator=";")'}, "may be sets"),
    "no opinion": (["never", "often", "always", "Don't know"], {"abstain_label": "Don't know"}, "levels of a scale"),
    "a code": ([-999, *(20 + n / 4 for n in range(49))], {"abstain_label": -999}, "-999, far from"),
    "a code of a scale": ([1, 2, 3, 4, 99], {"abstain_label": 99}, "99, far from"),
    "a code of years": ([9999, *range(1950, 1999)], {"abstain_label": 9999}, "9999, far from"),
    "numbers at the end": (THOUGHTS, {"domain": "categorical(extract=number)"}, "end in a number"),
    "letters at the end": (VERDICTS, {"domain": "categorical(extract=choice)"}, "end in a letter"),
    "bare letters": (BARE_VERDICTS, {"domain": r'categorical(extract="([A-Z])\W*$")'}, "end in a letter"),
}


@pytest.mark.parametrize("ending", [".csv", ".xlsx"])
@pytest.mark.parametrize(("labels", "options", "said"), ASKED.values(), ids=ASKED)
def test_what_is_unclear_is_asked_once(
    tmp_path: Path, ending: str, labels: list[Any], options: dict[str, Any], said: str
) -> None:
    path = written(tmp_path / f"answers{ending}", labels)
    with pytest.raises(LabelError, match=said) as asked:
        allalike.read(path)
    assert asked.value.options == options
    options = options or {"domain": "categorical"}
    left_out = sum(label == options.get("abstain_label") for _, _, label in cells(labels))
    assert allalike.read(path, **options).n_answers == 50 - left_out


def test_an_answer_that_is_left_out_may_leave_a_scale() -> None:
    labels = ["never", "often", "always", "Don't know"]
    found = allalike.read(cells(labels), abstain_label="Don't know").domain
    assert spell_domain(found) == 'ordinal(levels=("never", "often", "always"))'


@pytest.mark.parametrize("name", ["kilograms", "thousands", "sets", "orders", "days first"])
def test_engines_read_alike(engine: Engine, tmp_path: Path, name: str) -> None:
    labels, spelled, _ = READ[name]
    path = written(tmp_path / "answers.csv", labels)
    here, there = allalike.discover(path, method="UA"), allalike.discover(path, method="UA", engine=engine)
    assert there.summary["guessed"]["domain"] == spelled
    assert there.truth["label"].tolist() == here.truth["label"].tolist()


@pytest.mark.parametrize("name", ["two units", "bounds", "days or months", "a code", "numbers at the end"])
def test_engines_ask_alike(engine: Engine, tmp_path: Path, name: str) -> None:
    labels, options, said = ASKED[name]
    with pytest.raises(LabelError, match=said) as asked:
        allalike.discover(written(tmp_path / "answers.csv", labels), engine=engine)
    assert asked.value.options == options


def test_a_label_far_below_that_is_written_otherwise_is_named(engine: Engine, tmp_path: Path) -> None:
    labels = [f"{n / 8:.3f} kg" for n in range(40_000)]
    rows = [(f"w{n % 3}", f"t{n // 3}", label) for n, label in enumerate(labels)]
    rows[39_000] = ("w0", "t13000", "7 lb")
    path = tmp_path / "answers.csv"
    path.write_text("worker,task,label\n" + "".join(f"{w},{t},{label}\n" for w, t, label in rows))
    with pytest.raises(InputError, match="lb"):
        allalike.discover(path, engine=engine)


SCALES = """Strongly disagree;Disagree;Neither agree nor disagree;Agree;Strongly agree
never;rarely;sometimes;often;always
Poor;Fair;Good;Very good;Excellent
trifft nicht zu;trifft eher nicht zu;teils/teils;trifft eher zu;trifft zu
pas du tout d'accord;plutôt pas d'accord;plutôt d'accord;tout à fait d\u2019accord
nunca;a veces;siempre
mai;raramente;spesso;sempre
discordo totalmente;discordo;concordo;concordo totalmente
nooit;soms;altijd
zdecydowanie nie;raczej nie;raczej tak;zdecydowanie tak
никогда;иногда;часто;всегда
全くそう思わない;そう思わない;そう思う;強くそう思う
非常不同意;不同意;同意;非常同意
1 - Strongly disagree;2 - Disagree;5 - Strongly agree
very negative;negative;neutral;positive;very positive
strongly oppose;oppose;neutral;support
disagree;somewhat disagree;agree
trifft nicht zu;teils/teils;trifft zu"""
CLASSES = """yes;no;unsure | agree;disagree | good;Good;bad | cat;dog;often | positive;neutral;negative
Positive;NEUTRAL;Negative;other | 1 - negative;2 - neutral;3 - positive | favor;against;none
support;neutral;oppose | support;refute;not enough info | agree;disagree;unrelated | agree;undecided;disagree
stimme zu;weder noch;lehne ab | d\u2019accord;neutre;pas d'accord | de acuerdo;neutral;en desacuerdo
d'accordo;neutrale;in disaccordo | concordo;neutro;discordo | eens;neutraal;oneens
zgadzam się;neutralnie;nie zgadzam się | согласен;нейтрально;не согласен
そう思う;どちらとも言えない;そう思わない | 同意;中立;不同意"""


@pytest.mark.parametrize("scale", SCALES.splitlines())
def test_scales_in_words_are_in_their_order(scale: str) -> None:
    levels = scale.split(";")
    mixed = [levels[place] for place in np.random.default_rng(0).permutation(len(levels))]
    assert find_scale(mixed) == tuple(levels)
    domain = allalike.read(cells(mixed)).domain
    assert isinstance(domain, allalike.Ordinal)
    assert domain.levels == tuple(levels)


@pytest.mark.parametrize("labels", CLASSES.replace("\n", " | ").split(" | "))
def test_words_without_an_order_are_classes(labels: str) -> None:
    assert allalike.read(cells(labels.split(";"))).domain.name == "categorical"
