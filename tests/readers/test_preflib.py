"""Rankings and categories in PrefLib files, and real ones with known statistics."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import allalike
from allalike.answers import Answers
from allalike.domains.rankings.ranking import Ranking
from allalike.errors import InputError, TooLargeError
from allalike.readers import read_gold
from allalike.readers.formats.preflib import open_soc
from allalike.readers.sources import open_table

HEADER = "# DATA TYPE: soc\n# ALTERNATIVE NAME 1: tea\n# ALTERNATIVE NAME 2: milk\n# ALTERNATIVE NAME 3: ale\n"


def load_soc(path: Path, text: str) -> dict[str, list[Any]]:
    path.write_text(text)
    table = open_soc(path)
    return {name: values.to_pylist() for name, values in table.load(table.names).items()}


def test_a_preflib_file_has_a_worker_for_each_voter(tmp_path: Path) -> None:
    table = load_soc(tmp_path / "drinks.soc", HEADER + "2: 2,1,3\n10: 1, 2, 3\n")
    assert table["worker"][:2] == ["drinks:01", "drinks:02"]
    assert table["task"] == ["drinks"] * 12
    assert table["label"] == ["milk>tea>ale"] * 2 + ["tea>milk>ale"] * 10


def test_a_preflib_file_may_be_packed(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "drinks.soc.gz", "wt") as file:
        file.write(HEADER + "1: 2,1,3\n")
    assert open_soc(tmp_path / "drinks.soc.gz").load(["task"])["task"].to_pylist() == ["drinks"]


def test_names_of_alternatives_are_kept_apart(tmp_path: Path) -> None:
    path = tmp_path / "v.soc"
    assert load_soc(path, "# ALTERNATIVE NAME 1: x\n# ALTERNATIVE NAME 2: x\n1: 2,1\n")["label"] == ["2>1"]
    assert load_soc(path, "1: 2,1\n")["label"] == ["2>1"]
    strange = load_soc(path, "# ALTERNATIVE NAME 1: a>b\n# ALTERNATIVE NAME 2: c, d\n1: 2,1\n")["label"]
    assert Ranking().parse(strange[0]) == ("c, d", "a>b")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("1: 1,{2,3}\n", "Line 5 of .* has ties: .* is called .toc, or .toi"),
        ("1: 1,2\n", "differ in 3. A file of orders with gaps is called .soi, or .toi"),
        ("1: 1,2,3,4\n", "differ in 4"),
        ("1: 1,2,2\n", "has alternative 2 twice"),
        ("1,2,3\n", "is not of the form 'voters: 1,2,3'"),
        ("1: a,b,c\n", "is not of the form 'voters: 1,2,3'"),
        ("", "holds no votes"),
        ("# NUMBER VOTERS: 7\n2: 1,2,3\n", "says that it has 7 voters, but its lines have 2"),
        ("# DATA TYPE: toc\n2: 1,2,3\n", "holds 'toc' data"),
    ],
)
def test_a_bad_preflib_file_gets_a_clear_error(lines: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "v.soc").write_text(HEADER + lines)
    with pytest.raises(InputError, match=message):
        open_soc(tmp_path / "v.soc")


def test_a_preflib_file_of_bytes_or_of_too_many_voters_is_refused(tmp_path: Path) -> None:
    (tmp_path / "v.soc").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read as PrefLib's text"):
        open_soc(tmp_path / "v.soc")
    (tmp_path / "v.soc").write_text("999999999999: 1,2\n")
    with pytest.raises(TooLargeError, match="999,999,999,999 voters"):
        open_soc(tmp_path / "v.soc")


def preflib(data: Path, name: str) -> Answers:
    table = open_soc(next((data / "dots_puzz_preflib" / "datasets").rglob(f"{name}.soc")))
    columns = table.columns({role: role for role in table.names})
    return Answers.of_columns(columns["worker"], columns["task"], columns["label"], Ranking(), repeats="error")


def levels(data: Path) -> dict[str, dict[str, float]]:
    source = json.loads((data / "dots_puzz_preflib" / "SOURCE.json").read_text())
    return {
        name.split(".soc ")[0]: {**known, "names": name.split(".soc ")[1]}
        for name, known in source["verification"].items()
    }


def test_dots_and_puzzles_have_their_known_statistics(data: Path) -> None:
    for name, known in levels(data).items():
        answers = preflib(data, name)
        truth = str(known["names"]).split("/")
        answers = read_gold({name: truth}, answers)
        result = allalike.discover(answers, method="UA")
        apart = 6 * answers.encoding.kernels.distance_between(
            answers.label, np.repeat(answers.gold_label, answers.n_answers, axis=0)
        )
        assert answers.n_answers == known["n_votes"]
        assert apart.mean() == pytest.approx(known["mean_worker_KT_vs_truth"], abs=6e-5)
        assert (apart == 0).mean() == pytest.approx(known["frac_votes_exactly_true"], abs=6e-5)
        assert result.summary["gold"]["error"] == known["borda_all_KT"] == 0


@pytest.mark.long
def test_ten_voters_err_as_much_as_is_known_where_ties_favour_the_truth(data: Path) -> None:
    rng = np.random.default_rng(0)
    for name in ("00024-00000001", "00025-00000002"):
        known = levels(data)[name]
        answers = preflib(data, name)
        labels = answers.encoding.decode(answers.label).tolist()
        chosen = [rng.choice(len(labels), 10, replace=False) for _ in range(2000)]
        rows = [(worker, task, labels[k]) for task, voters in enumerate(chosen) for worker, k in enumerate(voters)]
        gold = dict.fromkeys(range(2000), str(known["names"]).split("/"))
        results = [
            allalike.discover(rows, domain=Ranking(), method="UA", ties=ties, gold=gold) for ties in ("first", "random")
        ]
        first, drawn = (result.summary["gold"]["error"] for result in results)
        assert 6 * first == pytest.approx(known["borda_of_10_random_voters_mean_KT"], abs=0.08)
        assert drawn > first  # the truth is the natural order of the items


def test_the_building_rankings_have_their_known_statistics(data: Path) -> None:
    folder = data / "meir_aaai23" / "data" / "non_synthetic" / "Rankings" / "buildings"
    known = json.loads((data / "meir_aaai23" / "SOURCE.json").read_text())["verification"]["buildings"]
    table = np.loadtxt(folder / "buildings_height.csv", delimiter=",")
    truth = np.loadtxt(folder / "buildings_height_gt.csv", delimiter=",")
    rows = [(worker, "buildings", order) for worker, order in enumerate(table)]
    answers = read_gold({"buildings": truth}, allalike.read(rows, domain=Ranking()))
    result = allalike.discover(answers)
    apart = 300 * answers.encoding.kernels.distance_between(
        answers.label, np.repeat(answers.gold_label, len(rows), axis=0)
    )
    assert (answers.n_answers, result.summary["domain"]["longest"]) == (known["n"], known["n_items"])
    assert apart.mean() == pytest.approx(known["mean_KT"], abs=5e-4)
    assert 300 * result.summary["gold"]["unweighted_error"] == pytest.approx(known["borda_KT"])
    kemeny = allalike.discover(rows, domain=Ranking(rule="kemeny"))
    assert kemeny.summary["domain"]["exact"] is False
    assert kemeny.truth["support"][0] >= allalike.discover(rows, domain=Ranking()).truth["support"][0]


CATEGORIES = "# DATA TYPE: cat\n# NUMBER CATEGORIES: 3\n# CATEGORY NAME 1: Yes\n# CATEGORY NAME 2: Maybe\n"
CATEGORIES += (
    "# CATEGORY NAME 3: No\n# ALTERNATIVE NAME 1: tea\n# ALTERNATIVE NAME 2: milk\n# ALTERNATIVE NAME 3: ale\n"
)


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_of_categories_has_a_task_for_each_alternative(packed: bool, tmp_path: Path) -> None:
    path, text = tmp_path / f"drinks.cat{'.gz' if packed else ''}", CATEGORIES + "2: 1, {}, {2, 3}\n1: {},{1,3},{}\n"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    table = open_table(path)
    rows = zip(*(table.load([name])[name].to_pylist() for name in ("worker", "task", "label")), strict=True)

    assert allalike.read(path).domain == allalike.Ordinal(levels=("No", "Maybe", "Yes"))
    assert list(rows) == [
        *(("drinks:1", "tea", "Yes"), ("drinks:1", "milk", "No"), ("drinks:1", "ale", "No")),
        *(("drinks:2", "tea", "Yes"), ("drinks:2", "milk", "No"), ("drinks:2", "ale", "No")),
        *(("drinks:3", "tea", "Maybe"), ("drinks:3", "ale", "Maybe")),
    ]


def test_two_categories_are_classes_and_no_answer_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.cat").write_text("# CATEGORY NAME 1: Yes\n# CATEGORY NAME 2: No\n2: 1,{2,3}\n1: {2,3},1\n")
    assert allalike.read(tmp_path / "a.cat").domain.name == "categorical"
    (tmp_path / "b.cat").write_text(CATEGORIES.replace("Maybe", "No answer") + "2: 1,2,3\n1: 3,1,2\n")
    answers = allalike.read(tmp_path / "b.cat")
    assert (answers.domain.name, answers.n_answers) == ("categorical", 6)
    assert any("'No answer'" in remark for remark in answers.notes["remarks"])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("1: 1,2\n", "has 3 categories, but a line of it has 2. Write {}"),
        ("1: 1,2,3,{}\n", "has 3 categories, but a line of it has 4"),
        ("1: 1,{1,2},3\n", "has alternative 1 twice"),
        ("1: 1,2,9\n", "has alternative 9, which has no name"),
        ("1: 1 2,3,{}\n", "is not of the form"),
        ("1: {1,2,3\n", "is not of the form"),
        ("x: 1,2,3\n", "is not of the form"),
        ("99999999999999999999: 1,2,3\n", "is not of the form"),
        ("5: {},{},{}\n", "holds no votes"),
        ("# CATEGORY NAME 3: Absent\n5: {},{},{1,2}\n", "holds no votes"),
        ("", "holds no votes"),
        ("# NUMBER VOTERS: 7\n2: 1,2,3\n", "says that it has 7 voters, but its lines have 2"),
        ("# DATA TYPE: toc\n2: 1,2,3\n", "holds 'toc' data. Its name should end with .toc"),
        ("# NUMBER CATEGORIES: 999\n2: 1,2,3\n", "has 999 categories, and 100 are the most"),
    ],
)
def test_a_bad_file_of_categories_gets_a_clear_error(lines: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "v.cat").write_text(CATEGORIES + lines)
    with pytest.raises(InputError, match=message):
        allalike.read(tmp_path / "v.cat")


@pytest.mark.parametrize("count", ["999999999999", "50000000"])
def test_too_many_answers_in_categories_are_refused_before_they_are_made(count: str, tmp_path: Path) -> None:
    (tmp_path / "v.cat").write_text(CATEGORIES + f"{count}: 1,2,3\n")
    with pytest.raises(TooLargeError, match=r"At most 100,000,000"):
        allalike.read(tmp_path / "v.cat")
