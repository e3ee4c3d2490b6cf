"""Records: several fields of kinds of their own, one fault, one weight."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import allalike
from allalike import Categorical, Disk, Memory, Ordinal, Real, Record
from allalike.engines import Engine, make_ready
from allalike.errors import ColumnError, GoldError, InputError, LabelError, OptionError
from crowds.samples import Row, crowd, kind
from files.parsed_data_sets import parsed, with_gold
from running.program import call

ENGINES = [Memory(), Memory(block_answers=5), Disk(partitions=3)]
every_engine = pytest.mark.parametrize("engine", ENGINES, ids=["memory", "blocks", "disk"])
GOODS: list[Row] = [
    ("ada", 1, {"colour": "red", "size": 3}),
    ("bob", 1, {"colour": "red", "size": 2}),
    ("eve", 1, {"colour": "blue"}),
]


COLOUR_AND_SIZE = Record({"colour": Categorical(), "size": Ordinal(levels=[1, 2, 3])})


@pytest.mark.filterwarnings("ignore::allalike.errors.DataWarning")
def test_three_goods_are_as_far_apart_as_by_hand() -> None:
    answers = allalike.read(GOODS, domain=COLOUR_AND_SIZE)
    apart = answers.encoding.kernels.distance_between(answers.label[[0, 0, 1]], answers.label[[1, 2, 2]])
    assert apart.tolist() == [1 / 4, 1, 1]
    result = allalike.discover(answers, method="P-TD")
    assert result.workers["disparity"].tolist() == pytest.approx([1 / 2, 1 / 2, 1])
    assert result.workers["weight"].tolist() == pytest.approx([1 / 2, 1 / 2, 0])
    [truth] = result.truth["label"]
    assert truth["colour"] == "red"
    assert truth["size"] in (2, 3)
    assert result.workers["fault.colour"].tolist() == [0, 0, 1]
    assert np.isnan(result.workers["fault.size"][2])
    drawn = {allalike.discover(answers, method="P-TD", seed=seed).truth["size"][0] for seed in range(9)}
    assert drawn <= {2, 3}


def plain_distance(left: dict[str, Any], right: dict[str, Any], unit: float, size: float) -> tuple[float, float]:
    """Return the weighted distance of two records of the crowd, and the weight of what both filled."""
    parts = [(float(left["colour"] != right["colour"]), 1.0)]
    tags = [set(record["tags"]) for record in (left, right)]
    parts.append((1 - len(tags[0] & tags[1]) / len(tags[0] | tags[1]) if tags[0] | tags[1] else 0.0, 1.0))
    if "size" in left and "size" in right:
        parts.append((min(1.0, abs(left["size"] - right["size"]) / unit), size))
    return sum(distance * weight for distance, weight in parts), sum(weight for _, weight in parts)


@pytest.mark.parametrize("importance", [{}, {"size": 3}])
@every_engine
def test_disparity_pools_fields_as_a_plain_loop_does(engine: Engine, importance: dict[str, int]) -> None:
    rows = crowd("record", seed=4, n=6, m=10, missing=0.4)
    pairs = [(a, b) for a, b in permutations(rows, 2) if a[1] == b[1]]
    gaps = [abs(a[2]["size"] - b[2]["size"]) for a, b in pairs if "size" in a[2] and "size" in b[2]]
    sums: dict[str, list[float]] = {worker: [0.0, 0.0] for worker, _, _ in rows}
    for (worker, _, left), (_, _, right) in pairs:
        parts = plain_distance(left, right, float(np.mean(gaps)), importance.get("size", 1))
        sums[worker] = [total + part for total, part in zip(sums[worker], parts, strict=True)]
    domain = Record("colour:categorical, size:real, tags:set", importance=importance)
    result = allalike.discover(rows, domain=domain, method="P-TD", engine=engine)
    found = dict(zip(result.workers["worker"], result.workers["disparity"], strict=True))
    assert found == pytest.approx({worker: distance / weight for worker, (distance, weight) in sums.items()})
    assert result.summary["domain"]["fields"]["size"]["unit"] == pytest.approx(np.mean(gaps), rel=1e-5)


def test_each_field_is_decided_as_it_would_be_alone() -> None:
    rows = crowd("record", seed=5, n=7, m=15, missing=0.3)
    whole = allalike.discover(rows, domain=kind("record"), method="UA", ties="first").truth
    for name, domain in (("colour", "categorical"), ("size", "real"), ("tags", "set")):
        alone = [(worker, task, record[name]) for worker, task, record in rows if name in record]
        truth = allalike.discover(alone, domain=domain, method="UA", ties="first").truth.set_index("task")
        here = whole[whole["task"].isin(truth.index)]
        assert here[name].tolist() == truth["label"].tolist()
        if name != "size":
            assert here[f"{name}.confidence"].tolist() == pytest.approx(truth["confidence"].tolist())
    assert whole["confidence"].tolist() == pytest.approx(
        whole[["colour.confidence", "tags.confidence"]].mean(axis=1).tolist()
    )


@pytest.mark.filterwarnings("ignore::allalike.errors.DataWarning")
@pytest.mark.parametrize("nothing", [None, "", "  ", float("nan")])
def test_what_is_absent_null_or_empty_is_no_answer_of_the_field(nothing: Any) -> None:
    rows = [*GOODS[:2], ("eve", 1, {"colour": "blue", "size": nothing})]
    given, absent = (allalike.discover(each, domain=COLOUR_AND_SIZE, method="P-TD") for each in (rows, GOODS))
    pd.testing.assert_frame_equal(given.workers, absent.workers)


@pytest.mark.filterwarnings("ignore::allalike.errors.DataWarning")
def test_two_who_share_no_field_are_no_peers() -> None:
    rows = [("ada", 1, {"x": "a"}), ("bob", 1, {"y": "a"}), ("eve", 1, {"x": "a", "y": "b"})]
    domain = Record({"x": "categorical", "y": "categorical"})
    answers = allalike.read(rows, domain=domain)
    assert np.isnan(answers.encoding.kernels.distance_between(answers.label[[0]], answers.label[[1]])).all()
    result = allalike.discover(answers, method="P-TD")
    assert result.workers["disparity"].tolist() == pytest.approx([0, 1, 0.5])
    assert result.truth[["x", "y"]].iloc[0].tolist()[0] == "a"


@pytest.mark.filterwarnings("ignore::allalike.errors.DataWarning")
def test_a_field_that_nobody_filled_stays_empty() -> None:
    domain = Record({"colour": "categorical", "size": "real", "year": "real", "vector": "vector"})
    for engine in ENGINES:
        result = allalike.discover(GOODS, domain=domain, method="iP-TD", engine=engine)
        assert result.truth["label"].tolist() == [{"colour": "red", "size": 2.5}]
        assert result.truth["year"].isna().all()
        assert result.workers["fault.vector"].isna().all()


def test_a_field_that_few_filled_is_the_same_in_all_parts() -> None:
    rows = crowd("record", seed=6, n=5, m=30)
    few = [
        (worker, task, {**record, "spot": [1.0, float(len(worker))], "order": "a>b"} if task == "t0007" else record)
        for worker, task, record in rows
    ]
    domain = Record({"colour": "categorical", "size": "real", "tags": "set", "spot": "vector", "order": "ranking"})
    found = [allalike.discover(few, domain=domain, method="iP-TD", engine=engine) for engine in ENGINES]
    for other in found[1:]:
        assert other.workers["weight"].tolist() == pytest.approx(found[0].workers["weight"].tolist())
        assert other.truth["label"].tolist()[7]["spot"] == pytest.approx([1, 4])
        assert other.truth["order"].notna().sum() == 1


def tables(folder: Path) -> dict[str, Any]:
    """Write the same records as mappings, as JSON in a text file, as JSON lines, and as columns."""
    rows = crowd("record", seed=7, n=5, m=12, missing=0.2)
    texts = [(worker, task, json.dumps(record)) for worker, task, record in rows]
    pd.DataFrame(texts, columns=["worker", "task", "label"]).to_csv(folder / "texts.csv", index=False)
    lines = [json.dumps({"worker": worker, "task": task, "label": record}) for worker, task, record in rows]
    (folder / "lines.jsonl").write_text("\n".join(lines), encoding="utf-8")
    wide = [{"worker": w, "task": t, **record, "tags": json.dumps(record["tags"])} for w, t, record in rows]
    pd.DataFrame(wide).to_csv(folder / "columns.csv", index=False)
    return {"rows": rows, "frame": pd.DataFrame(wide)} | {p.name: p for p in sorted(folder.iterdir())}


@pytest.mark.parametrize("engine", [Memory(), Disk(partitions=2)], ids=["memory", "disk"])
def test_records_are_the_same_however_they_come(engine: Engine, tmp_path: Path) -> None:
    domain = Record("colour, size, tags:set")
    found = {name: allalike.discover(source, domain=domain, method="iP-TD", engine=engine)
             for name, source in tables(tmp_path).items()}  # fmt: skip
    for name, result in found.items():
        assert result.summary["guessed"]["domain"] == 'record(fields="colour:categorical, size:real, tags:set")', name
        assert result.truth["label"].tolist() == found["rows"].truth["label"].tolist(), name
        assert result.workers["weight"].tolist() == pytest.approx(found["rows"].workers["weight"].tolist()), name


def test_kinds_are_guessed_field_by_field_and_records_are_recognised() -> None:
    rows = [(w, t, {"who": f"p{t}", "height": 100.5 + 7 * t + w / 9, "ok": True}) for w in range(4) for t in range(9)]
    summary = allalike.discover(rows).summary
    assert summary["guessed"]["domain"] == 'record(fields="who:categorical, height:real, ok:categorical")'
    lists = [(w, t, {"tags": ["a", "b"][: 1 + (w + t) % 2], "ok": True}) for w in range(4) for t in range(9)]
    with pytest.raises(LabelError, match=r"The field 'tags': The labels look like lists.*tags:set, ok"):
        allalike.discover(lists)


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ({"colour": "red", "weight": 3}, r"row 2 does not fit: it has a field 'weight'.*ignore=\['weight'\]"),
        ({"colour": None, "size": ""}, "row 2 does not fit: none of its fields is filled"),
        ("red", "row 2 does not fit: it is no JSON object"),
        ({"colour": "red", "size": "large"}, "The field 'size': .*'large'.* is not a number"),
    ],
)
def test_a_label_that_does_not_fit_is_named_with_its_row(label: Any, message: str) -> None:
    text = not isinstance(label, dict)
    first = {"colour": "blue", "size": "3" if not text and label.get("size") == "large" else 3}
    rows = [("ada", 1, json.dumps(first) if text else first), ("bob", 1, label)]
    with pytest.raises(InputError, match=message):
        allalike.read(rows, domain=Record("colour:categorical, size:real"))


def test_fields_that_are_to_be_ignored_are() -> None:
    rows = [(worker, task, {**record, "note": worker}) for worker, task, record in crowd("record", seed=8, n=4, m=9)]
    found = allalike.discover(rows, domain=Record("colour:categorical, size:real, tags:set", ignore="note"))
    assert "note" not in found.truth.columns


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"fields": "a:reel"}, "The field 'a': No domain is called 'reel'.* Known domains: categorical"),
        ({"fields": "a, a"}, "The field 'a' is named twice"),
        ({"fields": 3}, "fields is 3. Write it as"),
        ({"fields": "a:set(separator="}, "cannot be read"),
        ({"fields": {"a": "record"}}, "a record in a record"),
        ({"fields": "a", "importance": {"b": 2}}, "importance has 'b', which is none of the fields: a"),
        ({"fields": "a", "importance": {"a": 0}}, r"is 0. Leave the field out with ignore=\['a'\]"),
    ],
)
def test_fields_that_make_no_sense_are_refused(how: dict[str, Any], message: str) -> None:
    with pytest.raises((OptionError, LookupError), match=message):
        Record(**how)


def test_a_table_with_some_of_the_fields_is_refused() -> None:
    table = {"worker": ["ada", "bob"], "task": [1, 1], "colour": ["red", "red"]}
    with pytest.raises(ColumnError, match="has no column 'size', but other fields"):
        allalike.read(table, domain=Record("colour, size"))


def test_known_truths_may_be_records_in_part_and_in_columns() -> None:
    rows = crowd("record", seed=9, n=6, m=12)
    gold: dict[str, dict[str, Any]] = {
        "t0000": {"colour": "green"},
        "t0001": {"colour": "red", "size": 12.5, "tags": ["new"]},
    }
    result = allalike.discover(rows, domain=kind("record"), gold=gold)
    known = result.truth.set_index("task").loc[list(gold)]
    assert known["colour"].tolist() == ["green", "red"]
    assert known["size"].tolist()[1] == 12.5
    assert known["size"].notna().all()
    assert known["tags.confidence"].tolist()[0] < 1 == known["tags.confidence"].tolist()[1]
    table = {"task": ["t0000", "t0001"], "colour": ["green", "red"], "size": [None, 12.5]}
    domain = Record("colour:categorical, size:real", ignore="tags")
    short = allalike.discover(rows, domain=domain, gold=table, method="P-TD").summary["gold"]
    again = {task: {name: value for name, value in truth.items() if name != "tags"} for task, truth in gold.items()}
    assert short == allalike.discover(rows, domain=domain, gold=again, method="P-TD").summary["gold"]
    with pytest.raises(GoldError, match="The gold does not fit. .*has a field 'shape'"):
        allalike.discover(rows, domain=kind("record"), gold={"t0000": {"shape": 1}})


@pytest.mark.parametrize("rule", ["medoid", "best worker"])
def test_a_chosen_record_is_one_that_was_given(rule: str) -> None:
    rows = crowd("record", seed=10, n=5, m=9, missing=0.3)
    result = allalike.discover(rows, domain=replace(kind("record"), rule=rule), method="P-TD")
    given = {(task, json.dumps(record, sort_keys=True)) for _, task, record in rows}
    found = zip(result.truth["task"], result.truth["label"], strict=True)
    assert all((task, json.dumps(record, sort_keys=True)) in given for task, record in found)


def test_a_field_may_be_called_like_a_column_of_the_table_of_truths() -> None:
    rows = [(w, t, {"task": "a", "label": "b", "tied": w}) for w in range(3) for t in range(4)]
    domain = Record({"task": "categorical", "label": "categorical", "tied": "real"})
    truth = allalike.discover(rows, domain=domain, method="UA").truth
    assert truth["task"].tolist() == [0, 1, 2, 3]
    assert truth["label"].tolist() == [{"task": "a", "label": "b", "tied": 1.0}] * 4
    assert truth["field.label"].tolist() == ["b"] * 4
    assert not truth["tied"].any()


def test_equal_ties_of_two_fields_are_drawn_apart() -> None:
    rows = [(w, t, {"x": "ab"[w % 2], "y": "ab"[w % 2]}) for w in range(4) for t in range(40)]
    truth = allalike.discover(rows, domain=Record({"x": "categorical", "y": "categorical"}), method="UA").truth
    assert truth["tied"].all()
    assert 8 < (truth["x"] == truth["y"]).sum() < 32


def test_the_program_reads_fields_of_columns_and_writes_one_column_each(tmp_path: Path) -> None:
    tables(tmp_path)
    done = call("discover", "columns.csv", "--fields", "colour, size:real(rule=median), tags:set", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Recognised: the labels are record(" in done.stderr
    truth = pd.read_csv(tmp_path / "allalike-out" / "truth.csv")
    assert {"label", "colour", "colour.confidence", "size", "tags", "tags.confidence"} <= {*truth.columns}
    workers = pd.read_csv(tmp_path / "allalike-out" / "workers.csv")
    assert {"fault.colour", "fault.size", "fault.tags"} <= {*workers.columns}
    told = call("explain", "allalike-out", "task", "t0004", folder=tmp_path)
    assert (told.returncode, "red" in told.stdout or "blue" in told.stdout or "green" in told.stdout) == (0, True)
    asked = ["discover", "columns.csv", "--label", "co*", "--label", "size", "--domain", "record", "--quiet"]
    assert call(*asked, "-o", "two", folder=tmp_path).returncode == 0
    assert {"colour", "size"} <= {*pd.read_csv(tmp_path / "two" / "truth.csv").columns}
    wrong = call("discover", "columns.csv", "--fields", "colour", "--domain", "real", folder=tmp_path)
    assert (wrong.returncode, "--fields names the fields of records, but --domain is real" in wrong.stderr) == (2, True)


def test_numbers_of_a_run_are_capped_at_their_mean_difference() -> None:
    rows = [("ada", 1, {"x": 0.0}), ("bob", 1, {"x": 1.0}), ("eve", 1, {"x": 8.0})]
    loaded = Memory().load(allalike.read(rows, domain=Record({"x": Real()})))
    run = make_ready(loaded)
    [block] = loaded.blocks
    unit = (1 + 7 + 8) / 3
    apart = run.kernels.distance_between(block.label[[0, 0, 1]], block.label[[1, 2, 2]])
    assert apart.tolist() == pytest.approx([1 / unit, 1, 1])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::allalike.errors.ConvergenceWarning")
def test_times_of_flights_are_found_as_is_known(data: Path) -> None:
    answers, gold = with_gold(data, "records_flights"), parsed(data, "records_flights").gold
    assert sum(map(len, answers.encoding.decode(answers.label).tolist())) == 7074
    assert sum(map(len, gold.values())) == 400
    for weights, share in (("worker", 0.91), ("field", 0.7625)):
        encoding = replace(answers.encoding, domain=replace(answers.domain, weights=weights))  # type: ignore[call-arg]
        found = allalike.discover(answers.under(encoding), method="iP-TD", ties="first").summary["gold"]
        assert 1 - found["unweighted_error"] == pytest.approx(0.8025)
        assert 1 - found["error"] == pytest.approx(share)
