"""Rankings: tables of comparisons, ballots of one election, and PrefLib files."""

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import allalike
from allalike.domains.rankings.ranking import Ranking
from allalike.domains.rankings.text import read_ranking
from allalike.errors import ColumnError, InputError, TooLargeError
from allalike.readers.reshaping.comparisons import Columns, write_comparisons
from allalike.readers.sources import open_table

COLUMNS = Columns("left", "right", "winner")
NAMES = ["x", " y", "left", "tie", "a>b", "[z]", "\u00e4", "10", "c,d"]


def compare(left: str, right: str, winner: str | None) -> str | None:
    """Write one comparison, as the page of labels says it."""
    if winner is None or not winner.strip():
        return None
    a, b, said = left.strip(), right.strip(), winner.strip()
    strict = [a, b] if said == a else [b, a] if said == b else None
    if strict is None:
        strict = {"left": [a, b], "model_a": [a, b], "right": [b, a]}.get(said.lower())
    places: Any = strict or [[a, b]]
    if any(mark in a + b for mark in "<>=~{}[,;|"):
        return json.dumps(places, ensure_ascii=False)
    return ">".join(places) if strict else "=".join((a, b))


@pytest.mark.parametrize("kind", ["list", "arrow", "dictionary"])
def test_comparisons_are_written_as_a_loop_writes_them(kind: str) -> None:
    rng = np.random.default_rng(0)
    rows: list[tuple[str, str, str | None]] = []
    for _ in range(400):
        a, b = (NAMES[k] for k in rng.permutation(len(NAMES))[:2])
        said = [a, b, "Left", "RIGHT", "model_a", "tie", "Tie (bothbad)", "draw", "", " ", None][rng.integers(11)]
        rows.append((a, b, said))
    columns: list[Any] = [list(column) for column in zip(*rows, strict=True)]
    if kind != "list":
        columns = [pa.chunked_array([column[:150], column[150:]], pa.string()) for column in columns]
    if kind == "dictionary":
        columns = [column.dictionary_encode() for column in columns]
    assert write_comparisons(columns, COLUMNS, str).to_pylist() == [compare(*row) for row in rows]
    numbers: list[Any] = [[1, 2], [2, 10], [2, 10]]
    given_as = numbers if kind == "list" else [pa.array(column) for column in numbers]
    assert write_comparisons(given_as, COLUMNS, str).to_pylist() == ["2>1", "10>2"]
    assert write_comparisons([[], [], []], COLUMNS, str).to_pylist() == []


@pytest.mark.parametrize(
    "text", ["a>", "a>b>a", "a>a=b", "a=a", "a,b", "{a,b", "a<b", "", ">".join(map(str, range(1001)))]
)
def test_texts_that_are_no_rankings_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="item|ranks|best first|tied items"):
        read_ranking(text)


BALLOTS = ["tea>milk>ale", "tea>milk>ale", "milk>tea>ale", "tea>ale>milk", "tea>milk>ale"]


@pytest.mark.parametrize(
    ("names", "mark"),
    [
        (["voter", "ranking"], ">"),
        (["voter", "ranking"], "; "),
        (["Voter ID", "Ballot"], ", "),
        (["Voter ID", "Ballot"], "json"),
        (["ballot_id", "preferences"], "|"),
    ],
)
def test_ballots_of_voters_are_one_task(names: list[str], mark: str, tmp_path: Path) -> None:
    orders = [ballot.split(">") for ballot in BALLOTS]
    rows = [(f"v{n}", json.dumps(order) if mark == "json" else mark.join(order)) for n, order in enumerate(orders)]
    with (tmp_path / "ballots.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([names, *rows])
    result = allalike.discover(tmp_path / "ballots.csv")
    assert result.truth["label"].tolist() == [["tea", "milk", "ale"]]
    assert result.truth["answers"].tolist() == [5]
    columns = {"worker": names[0], "task": "all ballots", "label": names[1]}  # as the note has it
    assert "all ballots" in " ".join(result.notes)
    assert allalike.read(tmp_path / "ballots.csv", columns=columns).n_tasks == 1


@pytest.mark.parametrize(
    "columns",
    [
        {"voter": [*"wxyz"], "preference": ["tea", "milk", "tea", "ale"]},  # no orders
        {"voter": [*"wwxx"], "ranking": BALLOTS[:4]},  # of more than one election
        {"voter": [*"wxyz"], "precinct": [1, 1, 2, 2], "ranking": BALLOTS[:4]},  # which may be the task
        {"judge": [*"wxyz"], "note": [f"so > so, and {n} > {n}" for n in range(4)]},  # not called a ranking
    ],
)
def test_other_tables_without_a_task_are_asked_about(columns: dict[str, list[Any]]) -> None:
    with pytest.raises(ColumnError):
        allalike.read(columns)


ITEMS = ("tea", "milk", "ale")
HEADER = "# DATA TYPE: soc\n" + "".join(f"# ALTERNATIVE NAME {n}: {name}\n" for n, name in enumerate(ITEMS, start=1))
CATEGORIES = (
    HEADER.replace("soc", "cat")
    + "# NUMBER CATEGORIES: 3\n"
    + "".join(f"# CATEGORY NAME {n}: {name}\n" for n, name in enumerate(("Yes", "Maybe", "No"), start=1))
)


def load(path: Path, text: str) -> dict[tuple[Any, Any], Any]:
    """Return what each worker says of each task of a PrefLib file."""
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    table = open_table(path)
    workers, tasks, labels = (table.load([name])[name].to_pylist() for name in ("worker", "task", "label"))
    return dict(zip(zip(workers, tasks, strict=True), labels, strict=True))


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_preflib_file_has_a_worker_for_each_voter(tmp_path: Path, ending: str) -> None:
    said = load(tmp_path / f"drinks.soc{ending}", HEADER + "2: 2,1,3\n10: 1, 2, 3\n")
    assert list(said)[:2] == [("drinks:01", "drinks"), ("drinks:02", "drinks")]
    assert list(said.values()) == ["milk>tea>ale"] * 2 + ["tea>milk>ale"] * 10
    path = tmp_path / f"drinks.cat{ending}"
    assert load(path, CATEGORIES + "2: 1, {}, {2, 3}\n1: {},{1,3},{}\n") == {
        **{(f"drinks:{n}", item): said for n in (1, 2) for item, said in zip(ITEMS, ("Yes", "No", "No"), strict=True)},
        **{("drinks:3", item): "Maybe" for item in ("tea", "ale")},
    }
    assert allalike.read(path).domain == allalike.Ordinal(levels=("No", "Maybe", "Yes"))


def test_several_preflib_files_are_several_tasks_and_names_are_kept_apart(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.soc").write_text(HEADER + "2: 2,1,3\n1: 1,2,3\n")
    answers = allalike.read(str(tmp_path / "*.soc"))
    assert (answers.domain.name, answers.n_answers, answers.tasks.tolist()) == ("ranking", 6, ["one", "two"])
    for names, label in (("xx", ("2", "1")), ("", ("2", "1")), (["a>b", "c, d"], ("c, d", "a>b"))):
        head = "".join(f"# ALTERNATIVE NAME {n}: {name}\n" for n, name in enumerate(names, start=1))
        assert [Ranking()._parse(said) for said in load(tmp_path / "v.soc", f"{head}1: 2,1\n").values()] == [label]


def test_two_categories_are_classes_and_no_answer_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.cat").write_text("# CATEGORY NAME 1: Yes\n# CATEGORY NAME 2: No\n2: 1,{2,3}\n1: {2,3},1\n")
    assert allalike.read(tmp_path / "a.cat").domain.name == "categorical"
    (tmp_path / "b.cat").write_text(CATEGORIES.replace("Maybe", "No answer") + "2: 1,2,3\n1: 3,1,2\n")
    answers = allalike.read(tmp_path / "b.cat")
    assert (answers.domain.name, answers.n_answers) == ("categorical", 6)


BAD = {
    "soc": ["1: 1,{2,3}", "1: 1,2", "1: 1,2,3,4", "1: 1,2,2", "1,2,3", "1: a,b,c", "", "# NUMBER VOTERS: 7\n2: 1,2,3"],
    "cat": [
        *("1: 1,2", "1: 1,2,3,{}", "1: 1,{1,2},3", "1: 1,2,9", "1: 1 2,3,{}", "1: {1,2,3", "x: 1,2,3", ""),
        *("99999999999999999999: 1,2,3", "5: {},{},{}", "# CATEGORY NAME 3: Absent\n5: {},{},{1,2}"),
        *("# NUMBER VOTERS: 7\n2: 1,2,3", "# DATA TYPE: toc\n2: 1,2,3", "# NUMBER CATEGORIES: 999\n2: 1,2,3"),
    ],
}


@pytest.mark.parametrize(("ending", "lines"), [(ending, lines) for ending, bad in BAD.items() for lines in bad])
def test_a_bad_preflib_file_is_refused_by_name(ending: str, lines: str, tmp_path: Path) -> None:
    path = tmp_path / f"v.{ending}"
    path.write_text({"soc": HEADER, "cat": CATEGORIES}[ending] + lines + "\n")
    with pytest.raises(InputError, match=rf"v\.{ending}"):
        allalike.read(path)


@pytest.mark.parametrize("text", ["999999999999: 1,2\n", "50000000: 1,2,3\n"])
def test_too_many_answers_are_refused_before_they_are_made(text: str, tmp_path: Path) -> None:
    (tmp_path / "v.cat").write_text(CATEGORIES + text.replace("1,2\n", "1,2,3\n"))
    (tmp_path / "v.soc").write_text(text.replace("50000000:", "500000000:"))
    for name in ("v.cat", "v.soc"):
        with pytest.raises(TooLargeError):
            allalike.read(tmp_path / name)


@pytest.mark.long
def test_ten_voters_err_as_much_as_is_known_where_ties_favour_the_truth(data: Path) -> None:
    known = json.loads((data / "dots_puzz_preflib" / "SOURCE.json").read_text())["verification"]
    rng = np.random.default_rng(0)
    for file in ("00024-00000001", "00025-00000002"):
        [(name, facts)] = [item for item in known.items() if item[0].startswith(file)]
        votes = allalike.read(next((data / "dots_puzz_preflib" / "datasets").rglob(f"{file}.soc")))
        labels = votes.encoding.decode(votes.label).tolist()
        chosen = [rng.choice(len(labels), 10, replace=False) for _ in range(2000)]
        rows = [(worker, task, labels[k]) for task, voters in enumerate(chosen) for worker, k in enumerate(voters)]
        gold = dict.fromkeys(range(2000), name.split(".soc ")[1].split("/"))
        results = [
            allalike.discover(rows, domain=Ranking(), method="UA", ties=ties, gold=gold) for ties in ("first", "random")
        ]
        first, drawn = (result.summary["gold"]["error"] for result in results)
        assert 6 * first == pytest.approx(facts["borda_of_10_random_voters_mean_KT"], abs=0.08)
        assert drawn > first  # the truth is the natural order of the items


def test_kemeny_of_many_items_is_a_search_and_no_worse_than_borda(data: Path) -> None:
    folder = data / "meir_aaai23" / "data" / "non_synthetic" / "Rankings" / "buildings"
    table = np.loadtxt(folder / "buildings_height.csv", delimiter=",")
    rows = [(worker, "buildings", order) for worker, order in enumerate(table)]
    kemeny = allalike.discover(rows, domain=Ranking(rule="kemeny"))
    assert kemeny.summary["domain"]["exact"] is False
    assert kemeny.truth["support"][0] >= allalike.discover(rows, domain=Ranking()).truth["support"][0]
