"""Records: several fields of different label types, with one weight per worker or per field."""

import json
from dataclasses import replace
from datetime import date
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import allalike
from allalike import METHODS, Categorical, Disk, Memory, Ordinal, Real, Record
from allalike.engines import Engine, make_ready
from crowds.field_records import GOLD, KINDS, check_alone, goods
from crowds.plain_distances import jaccard
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
APART = Record(KINDS, weights="field")
BLOCKS = Memory(block_answers=1)
SERVE_ALL = ["auto", "UA", "OA", "P-TD", "iP-TD", "D-TD", "EXP", "TOP2", "MAS"]
OTHERS = ("OA", "IBP", "EVD", "GTM", "KDE", "EBCC")  # need gold, two classes or numbers; EBCC starts at random
pytestmark = pytest.mark.filterwarnings(
    "ignore::allalike.errors.DataWarning", "ignore::allalike.errors.ConvergenceWarning"
)


def test_three_goods_are_as_far_apart_as_by_hand() -> None:
    answers = allalike.read(GOODS, domain=COLOUR_AND_SIZE)
    apart = answers.encoding.kernels.distance_between(answers.label[[0, 0, 1]], answers.label[[1, 2, 2]])
    assert apart.tolist() == [1 / 4, 1, 1]
    result = allalike.discover(answers, method="P-TD")
    assert result.workers["disparity"].tolist() == pytest.approx([1 / 2, 1 / 2, 1])
    assert result.workers["weight"].tolist() == pytest.approx([1 / 2, 1 / 2, 0])
    assert result.truth["colour"].tolist() == ["red"]
    assert result.workers["mean_error.colour"].tolist() == [0, 0, 1]
    assert np.isnan(result.workers["mean_error.size"][2])
    drawn = {allalike.discover(answers, method="P-TD", seed=seed).truth["size"][0] for seed in range(9)}
    assert drawn == {2, 3}


def plain_distance(left: dict[str, Any], right: dict[str, Any], unit: float, size: float) -> tuple[float, float]:
    """Return the weighted distance of two records of the crowd, and the total weight of their common fields."""
    parts = [(float(left["colour"] != right["colour"]), 1.0), (jaccard(left["tags"], right["tags"]), 1.0)]
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
    mean = whole[["colour.confidence", "tags.confidence"]].mean(axis=1)
    assert whole["confidence"].tolist() == pytest.approx(mean.tolist())


@pytest.mark.parametrize("nothing", [None, "", "  ", float("nan")])
def test_what_is_absent_null_or_empty_is_no_answer_of_the_field(nothing: Any) -> None:
    rows = [*GOODS[:2], ("eve", 1, {"colour": "blue", "size": nothing})]
    given, absent = (allalike.discover(each, domain=COLOUR_AND_SIZE, method="P-TD") for each in (rows, GOODS))
    pd.testing.assert_frame_equal(given.workers, absent.workers)


def test_two_who_share_no_field_are_no_peers() -> None:
    rows = [("ada", 1, {"x": "a"}), ("bob", 1, {"y": "a"}), ("eve", 1, {"x": "a", "y": "b"})]
    answers = allalike.read(rows, domain=Record({"x": "categorical", "y": "categorical"}))
    assert np.isnan(answers.encoding.kernels.distance_between(answers.label[[0]], answers.label[[1]])).all()
    assert allalike.discover(answers, method="P-TD").workers["disparity"].tolist() == pytest.approx([0, 1, 0.5])


@every_engine
def test_fields_that_few_or_none_filled_are_no_trouble(engine: Engine) -> None:
    domain = Record({"colour": "categorical", "size": "real", "year": "real", "vector": "vector"})
    result = allalike.discover(GOODS, domain=domain, method="iP-TD", engine=engine)
    assert result.truth["label"].tolist() == [{"colour": "red", "size": 2.5}]
    assert result.truth["year"].isna().all()
    assert result.workers["mean_error.vector"].isna().all()
    few = [(w, t, {**r, "spot": [1.0, 4.0], "order": "a>b"} if t == "t0007" else r)
           for w, t, r in crowd("record", seed=6, n=5, m=30)]  # fmt: skip
    domain = Record({"colour": "categorical", "size": "real", "tags": "set", "spot": "vector", "order": "ranking"})
    found, whole = (allalike.discover(few, domain=domain, method="iP-TD", engine=each) for each in (engine, Memory()))
    assert found.workers["weight"].tolist() == pytest.approx(whole.workers["weight"].tolist())
    assert found.truth["label"].tolist()[7]["spot"] == pytest.approx([1, 4])
    assert found.truth["order"].notna().sum() == 1


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


def test_fields_are_recognised_one_by_one_and_ignored_when_asked() -> None:
    rows = [(w, t, {"who": f"p{t}", "height": 100.5 + 7 * t + w / 9, "ok": True}) for w in range(4) for t in range(9)]
    guessed = allalike.discover(rows).summary["guessed"]["domain"]
    assert guessed == 'record(fields="who:categorical, height:real, ok:categorical")'
    assert "ok" not in allalike.discover(rows, domain=Record("who, height", ignore="ok")).truth.columns


def test_fields_may_be_dates_and_directions() -> None:
    rows = [("ada", 1, {"day": date(2024, 1, 1), "wind": 350}), ("bob", 1, {"day": date(2024, 1, 3), "wind": 10})]
    found = allalike.discover(rows, domain=Record("day:date, wind:circular"), method="UA")
    assert (found.truth["day"].tolist(), found.truth["wind"].tolist()) == ([date(2024, 1, 2)], [0])
    [written] = found.run.encoding.decode(found.found.joined().found["label"]).arrow().to_pylist()
    assert json.loads(written) == {"day": "2024-01-02", "wind": 0.0}


def test_known_truths_may_be_records_in_part_and_in_columns() -> None:
    rows = crowd("record", seed=9, n=6, m=12)
    gold: dict[str, dict[str, Any]] = {
        "t0000": {"colour": "green"},
        "t0001": {"colour": "red", "size": 12.5, "tags": ["new"]},
    }
    known = allalike.discover(rows, domain=kind("record"), gold=gold).truth.set_index("task").loc[list(gold)]
    assert known["colour"].tolist() == ["green", "red"]
    assert known["size"].tolist()[1] == 12.5
    assert known["tags.confidence"].tolist()[0] < 1 == known["tags.confidence"].tolist()[1]
    table = {"task": ["t0000", "t0001"], "colour": ["green", "red"], "size": [None, 12.5]}
    domain = Record("colour:categorical, size:real", ignore="tags")
    again = {task: {name: value for name, value in truth.items() if name != "tags"} for task, truth in gold.items()}
    short, same = (allalike.discover(rows, domain=domain, gold=each, method="P-TD") for each in (table, again))
    assert short.summary["gold"] == same.summary["gold"]


@pytest.mark.parametrize("rule", ["medoid", "best worker"])
def test_a_chosen_record_is_one_that_was_given(rule: str) -> None:
    rows = crowd("record", seed=10, n=5, m=9, missing=0.3)
    truth = allalike.discover(rows, domain=replace(kind("record"), rule=rule), method="P-TD").truth
    for task, record in zip(truth["task"], truth["label"], strict=True):
        assert record in [label for _, where, label in rows if where == task]


@pytest.mark.parametrize("rule", ["medoid", "best worker"])
def test_a_field_that_a_chosen_record_lacks_is_no_error_of_those_who_filled_it(rule: str) -> None:
    rows = [("ada", 1, {"x": "a"}), ("bob", 1, {"x": "a"}), ("eve", 1, {"x": "b", "span": [[0, 4]]})]
    domain = Record("x:categorical, span:spans", rule=rule)
    workers = allalike.discover(rows, domain=domain, method="UA", seed=1).workers
    assert workers["mean_error.x"].notna().all()
    filled = allalike.discover(rows[2:], domain=domain, method="UA").workers["mean_error.span"]
    assert filled.tolist() == [0.0]


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


def test_numbers_are_capped_at_their_mean_difference() -> None:
    rows = [("ada", 1, {"x": 0.0}), ("bob", 1, {"x": 1.0}), ("eve", 1, {"x": 8.0})]
    loaded = Memory().load(allalike.read(rows, domain=Record({"x": Real()})))
    run = make_ready(loaded)
    [block] = loaded.blocks
    apart = run.kernels.distance_between(block.label[[0, 0, 1]], block.label[[1, 2, 2]])
    assert apart.tolist() == pytest.approx([1 / ((1 + 7 + 8) / 3), 1, 1])


def test_the_program_reads_fields_of_columns_and_writes_one_column_each(tmp_path: Path) -> None:
    tables(tmp_path)
    done = call("discover", "columns.csv", "--fields", "colour, size:real(rule=median), tags:set", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    truth = pd.read_csv(tmp_path / "allalike-out" / "truth.csv")
    assert {"label", "colour", "colour.confidence", "size", "tags", "tags.confidence"} <= {*truth.columns}
    workers = pd.read_csv(tmp_path / "allalike-out" / "details" / "workers.csv")
    assert {"mean_error.colour", "mean_error.size", "mean_error.tags"} <= {*workers.columns}
    assert call("explain", "allalike-out", "task", "t0004", folder=tmp_path).returncode == 0
    fields = ["--label", "co*", "--label", "size", "--domain", "record(weights=field)", "--quiet", "-o", "two"]
    assert call("discover", "columns.csv", *fields, folder=tmp_path).returncode == 0
    assert {"colour", "size"} <= {*pd.read_csv(tmp_path / "two" / "truth.csv").columns}
    workers = pd.read_csv(tmp_path / "two" / "details" / "workers.csv")
    assert workers["weight"].tolist() == pytest.approx((workers["weight.colour"] + workers["weight.size"]) / 2)
    wrong = call("discover", "columns.csv", "--fields", "colour", "--domain", "real", folder=tmp_path)
    assert (wrong.returncode, "--fields" in wrong.stderr) == (2, True)


@pytest.mark.slow
def test_times_of_flights_are_found_as_is_known(data: Path) -> None:
    answers, gold = with_gold(data, "records_flights"), parsed(data, "records_flights").gold
    assert sum(map(len, answers.encoding.decode(answers.label).tolist())) == 7074
    assert sum(map(len, gold.values())) == 400
    for weights, share in (("worker", 0.91), ("field", 0.7625)):
        encoding = replace(answers.encoding, domain=replace(answers.domain, weights=weights))  # type: ignore[call-arg]
        found = allalike.discover(answers.under(encoding), method="iP-TD", ties="first").summary["gold"]
        assert 1 - found["unweighted_error"] == pytest.approx(0.8025)
        assert 1 - found["error"] == pytest.approx(share)


@pytest.mark.parametrize(("method", "engine", "gold"), [
    ("P-TD", BLOCKS, None),
    *(pytest.param("P-TD", each, None, marks=pytest.mark.long) for each in (Memory(), Disk(partitions=3))),
    *(pytest.param(name, BLOCKS, GOLD, marks=pytest.mark.long) for name in SERVE_ALL),
    *(pytest.param(name, BLOCKS, None, marks=pytest.mark.long) for name in SERVE_ALL if name not in ("OA", "P-TD")),
])  # fmt: skip
def test_each_field_is_weighed_as_if_it_were_the_label(method: str, engine: Engine, gold: Any) -> None:
    check_alone(goods(), KINDS, method, engine, gold)


@pytest.mark.long
@pytest.mark.parametrize("method", [name for name in METHODS if name not in OTHERS])
def test_methods_for_classes_serve_records_of_classes_field_by_field(method: str) -> None:
    rows = [
        (w, t, {"x": r["colour"], "y": "new" if "new" in r["tags"] else "old"}) for w, t, r in goods() if "tags" in r
    ]
    check_alone(rows, {"x": "categorical", "y": "categorical"}, method, Memory())


def test_a_worker_who_is_good_at_prices_and_bad_at_names_counts_there_only() -> None:
    rows = [
        (worker, task, {"name": f"n{task % 4}" if worker != "bob" else f"n{(task + 1) % 4}", "price": float(price)})
        for task in range(12)
        for worker, price in (("ada", task), ("bob", task), ("eve", task), ("kim", -9 * task - 9))
    ]
    found = allalike.discover(rows, domain=Record("name:categorical, price:real", weights="field"), method="P-TD")
    assert found.workers["weight.name"].tolist() == pytest.approx([1 / 3, 0, 1 / 3, 1 / 3])
    assert found.workers["weight.price"].tolist() == pytest.approx([0.3, 0.3, 0.3, 0.1])
    assert found.truth["name"].tolist() == [f"n{task % 4}" for task in range(12)]
    said = 0.9 * np.arange(12) - 0.1 * (9 * np.arange(12) + 9)  # weights: three with 0.3, kim with 0.1
    assert found.truth["price"].tolist() == pytest.approx(said.tolist())


@pytest.mark.long
def test_fields_of_any_kind_may_be_empty_in_whole_blocks() -> None:
    kinds = {"said": "text", "where": "boxes", "order": "ranking", "level": "ordinal"}
    full = {"said": "a b c", "where": [[0, 0, 2, 2]], "order": "x>y>z", "level": 3}
    rows = [(worker, task, {name: full[name]}) for task, name in enumerate(full) for worker in ("ada", "bob", "eve")]
    found = allalike.discover(rows, domain=Record(kinds, weights="field"), engine=Memory(block_answers=1))
    assert [list(label) for label in found.truth["label"]] == [[name] for name in full]


@pytest.mark.parametrize("engine", [Memory(), pytest.param(Disk(partitions=2), marks=pytest.mark.long)], ids=str)
def test_later_answers_are_weighed_as_if_they_had_been_there(engine: Engine) -> None:
    rows = goods()
    first, later = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    whole = allalike.discover(rows, domain=APART, method="P-TD", ties="first")
    grown = allalike.discover(first, domain=APART, method="P-TD", ties="first", engine=engine).update(later)
    pd.testing.assert_frame_equal(grown.workers, whole.workers)
    assert grown.truth["label"].tolist() == whole.truth["label"].tolist()


@pytest.mark.long
def test_gold_that_a_method_learned_from_is_not_what_it_is_judged_by(tmp_path: Path) -> None:
    rows = goods()
    truths = {task: dict(label) for _, task, label in rows}
    honest, learned = (
        allalike.discover(rows, domain=APART, gold=truths, method=method) for method in ("auto(use_gold=False)", "auto")
    )
    assert learned.summary["gold"]["error"] == pytest.approx(honest.summary["gold"]["error"])
    assert learned.truth["is_gold"].all()
    assert learned.report(tmp_path / "page.html").exists()
    compared = allalike.compare(rows, domain=APART, gold=GOLD)
    assert {"UA", "P-TD", "iP-TD"} <= {*compared.table["method"]}


def test_fields_are_weighed_where_every_task_is_a_problem_of_its_own() -> None:
    rows = [row for row in goods() if row[1] < "t0004"]
    sizes = [(worker, task, label["size"]) for worker, task, label in rows if "size" in label]
    found, alone = (
        allalike.discover(allalike.read(each, domain=domain).per_task(), method="P-TD")
        for each, domain in ((rows, APART), (sizes, "real"))
    )
    one, other = (result.workers.set_index(["task", "worker"]) for result in (found, alone))
    assert one.loc[other.index, "weight.size"].tolist() == pytest.approx(other["weight"].tolist())


def test_a_worker_who_left_a_field_empty_disturbs_nobody_who_filled_it() -> None:
    rows: list[Row] = [("ada", 1, {"x": "a"}), ("bob", 1, {"y": "u v w"}), ("eve", 1, {"x": "b", "y": "u v w"})]
    found = allalike.discover(rows, domain=Record("x:categorical, y:text", weights="field"))
    assert found.truth["y"].tolist() == ["u v w"]
    assert found.workers["weight.y"].tolist() == [0.0, 0.5, 0.5]
