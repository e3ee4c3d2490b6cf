"""Records whose fields are weighed apart: the whole method runs for each field, as if it were the label."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import allalike
from allalike import METHODS, Disk, Memory, Record
from allalike.engines import Engine
from allalike.errors import GoldError, OptionError, UnsupportedError
from crowds.field_records import GOLD, KINDS, check_alone, goods
from crowds.samples import Row
from running.program import call

APART = Record(KINDS, weights="field")
SERVE_ALL = ["auto", "UA", "OA", "P-TD", "iP-TD", "D-TD", "EXP", "TOP2", "MAS"]
DRAWN = ("EBCC",)  # its start is drawn by hashes of tasks, which fields have of their own
OTHERS = ("OA", "IBP", "EVD", "GTM", "KDE")  # for gold, two classes, numbers
pytestmark = pytest.mark.filterwarnings(
    "ignore::allalike.errors.DataWarning", "ignore::allalike.errors.ConvergenceWarning"
)


@pytest.mark.parametrize(
    "engine",
    [Memory(block_answers=1), *(pytest.param(each, marks=pytest.mark.long) for each in (Memory(), Disk(partitions=3)))],
    ids=["blocks", "memory", "disk"],
)
def test_each_field_is_weighed_as_if_it_were_the_label(engine: Engine) -> None:
    check_alone(goods(), KINDS, "P-TD", engine)


@pytest.mark.long
@pytest.mark.parametrize(
    ("method", "known"), [(name, known) for name in SERVE_ALL for known in (False, True) if known or name != "OA"]
)
def test_each_field_is_weighed_as_if_it_were_the_label_by_every_method(method: str, known: bool) -> None:
    check_alone(goods(), KINDS, method, Memory(block_answers=1), GOLD if known else None)


@pytest.mark.long
@pytest.mark.parametrize("method", [name for name in METHODS if name not in (*DRAWN, *OTHERS)])
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
    workers = found.workers.set_index("worker")
    assert workers.loc["bob", "weight.name"] == 0
    assert workers["weight.price"].tolist() == pytest.approx([0.3, 0.3, 0.3, 0.1])
    assert workers.loc["kim", "weight.name"] == pytest.approx(1 / 3)
    assert found.truth["name"].tolist() == [f"n{task % 4}" for task in range(12)]
    said = 0.9 * np.arange(12) - 0.1 * (9 * np.arange(12) + 9)  # three with 0.3, and kim with 0.1
    assert found.truth["price"].tolist() == pytest.approx(said.tolist())
    assert found.summary["domain"]["weights"] == "field"


@pytest.mark.long
def test_fields_of_any_kind_may_be_empty_in_whole_blocks() -> None:
    kinds = {"said": "text", "where": "boxes", "order": "ranking", "level": "ordinal"}
    full = {"said": "a b c", "where": [[0, 0, 2, 2]], "order": "x>y>z", "level": 3}
    rows = [(worker, task, {name: full[name]}) for task, name in enumerate(full) for worker in ("ada", "bob", "eve")]
    found = allalike.discover(rows, domain=Record(kinds, weights="field"), engine=Memory(block_answers=1))
    assert [list(label) for label in found.truth["label"]] == [[name] for name in full]
    assert found.truth["level"].tolist()[-1] == 3


@pytest.mark.parametrize(
    "engine", [Memory(), pytest.param(Disk(partitions=2), marks=pytest.mark.long)], ids=["memory", "disk"]
)
def test_later_answers_are_weighed_as_if_they_had_been_there(engine: Engine) -> None:
    rows = goods()
    first, later = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    whole = allalike.discover(rows, domain=APART, method="P-TD", ties="first")
    grown = allalike.discover(first, domain=APART, method="P-TD", ties="first", engine=engine).update(later)
    pd.testing.assert_frame_equal(grown.workers, whole.workers)
    assert grown.truth["label"].tolist() == whole.truth["label"].tolist()


@pytest.mark.long
def test_gold_that_a_method_learned_from_is_not_what_it_is_judged_by() -> None:
    rows = goods()
    truths = {task: dict(label) for _, task, label in rows}
    honest, learned = (
        allalike.discover(rows, domain=APART, gold=truths, method=method) for method in ("auto(use_gold=False)", "auto")
    )
    assert learned.summary["gold"]["error"] == pytest.approx(honest.summary["gold"]["error"])
    assert learned.truth["known"].all()


def test_fields_are_weighed_where_every_task_is_a_problem_of_its_own() -> None:
    rows = [row for row in goods() if row[1] < "t0004"]
    whole = allalike.read(rows, domain=APART).per_task()
    sizes = [(worker, task, label["size"]) for worker, task, label in rows if "size" in label]
    found, alone = (
        allalike.discover(answers, method="P-TD").workers.set_index(["task", "worker"])
        for answers in (whole, allalike.read(sizes, domain="real").per_task())
    )
    assert found.loc[alone.index, "weight.size"].tolist() == pytest.approx(alone["weight"].tolist())


@pytest.mark.parametrize("rule", ["medoid", "best worker"])
def test_a_rule_that_takes_whole_records_is_refused(rule: str) -> None:
    with pytest.raises(OptionError, match=f"weights is 'field', but the rule '{rule}' takes a whole record"):
        Record(KINDS, weights="field", rule=rule)


def test_a_history_of_whole_records_is_refused() -> None:
    past = pd.DataFrame({"worker": ["w001"], "answers": [10], "error_rate": [0.1]})
    with pytest.raises(UnsupportedError, match="A history says how good workers are on the whole"):
        allalike.discover(goods(), domain=APART, history=past)


def test_the_program_writes_a_weight_for_each_field(tmp_path: Path) -> None:
    rows = [{"worker": worker, "task": task, **label} for worker, task, label in goods()]
    pd.DataFrame(rows).drop(columns="tags").to_csv(tmp_path / "goods.csv", index=False)
    fields = ["--label", "colour", "--label", "size"]
    done = call("discover", "goods.csv", *fields, "--domain", "record(weights=field)", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "weighed in each field alone; their weight is the mean over the fields" in " ".join(done.stdout.split())
    workers = pd.read_csv(tmp_path / "allalike-out" / "workers.csv")
    assert {"weight.colour", "weight.size", "fault.colour", "fault.size"} <= {*workers.columns}
    assert workers["weight"].tolist() == pytest.approx((workers["weight.colour"] + workers["weight.size"]) / 2)
    truth = pd.read_csv(tmp_path / "allalike-out" / "truth.csv")
    assert {"colour", "colour.confidence", "size", "size.confidence"} <= {*truth.columns}
    told = call("explain", "allalike-out", "task", "t0004", folder=tmp_path)
    assert told.returncode == 0, told.stderr


@pytest.mark.long
def test_what_is_seen_and_compared_knows_fields_that_are_weighed_apart(tmp_path: Path) -> None:
    found = allalike.discover(goods(), domain=APART, gold=GOLD)
    assert found.report(tmp_path / "page.html").exists()
    assert "w003" in str(found.explain(worker="w003"))
    compared = allalike.compare(goods(), domain=APART, gold=GOLD)
    assert {"UA", "P-TD", "iP-TD"} <= {*compared.table["method"]}


def test_a_worker_who_left_a_field_empty_disturbs_nobody_who_filled_it() -> None:
    rows: list[Row] = [("ada", 1, {"x": "a"}), ("bob", 1, {"y": "u v w"}), ("eve", 1, {"x": "b", "y": "u v w"})]
    found = allalike.discover(rows, domain=Record("x:categorical, y:text", weights="field"))
    assert found.truth["y"].tolist() == ["u v w"]
    assert found.workers["weight.y"].tolist() == [0.0, 0.5, 0.5]


def test_a_field_without_a_known_truth_is_named_where_one_is_needed() -> None:
    with pytest.raises(GoldError, match="The field 'size': OA needs known truths"):
        allalike.discover(goods(), domain=APART, method="OA", gold={"t0004": {"colour": "red", "tags": ["new"]}})


def test_auto_knows_truths_of_tasks_that_one_worker_answered() -> None:
    found = allalike.discover([("ada", 0, 1.0), ("bob", 1, 3.0)], domain="real", gold={0: 2.0})
    assert found.workers["weight"].tolist() == [0.5, 0.5]
