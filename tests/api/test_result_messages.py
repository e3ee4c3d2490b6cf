"""Messages of Python calls: each names the cause and the remedy."""

import sys
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.naive_bayes import GaussianNB

import allalike
from allalike.errors import DataWarning
from allalike.methods import DTD, IPTD, OA, PTD, PTDAK
from allalike.readers.formats.read_errors import guard
from crowds.messages import Message
from crowds.samples import crowd
from files.tool_exports import annotation, result, write

pytestmark = pytest.mark.filterwarnings(f"ignore::{DataWarning.__module__}.{DataWarning.__name__}")
ROWS = [(who, f"t{task}", "xy"[(task + (who == "c")) % 2]) for who in "abc" for task in range(6)]
NUMBERS = [("a", 1, 1.5), ("b", 1, 2.5), ("c", 1, 2.0)]
JUDGES = {"judge": [*"aabb"], "item": [1] * 4, "verdict": [*"xyxx"], "shown": [*"pqpq"]}
PAIRS = {
    "judge": [*"aaaaaabbbbbb"],
    "item": [1, 1, 1, 1, 1, 1] * 2,
    "verdict": [*"ABABAB"] * 2,
    "shown": [*"pqpqpq"] * 2,
    "epoch": [1, 1, 2, 2, 3, 3] * 2,
}
LEVELS = {**PAIRS, "verdict": [1, 2, 3] * 4, "epoch": [*range(6)] * 2}
WORDS = [("ada", 1, "one word"), ("bob", 1, "two words"), ("eve", 1, "three")]
NAMES = ["worker", "task", "label"]
PAST = {"worker": ["a"], "answers": [9]}


def refuse(function: Callable[..., Any], *given: Any, **how: Any) -> Callable[[Path], Any]:
    """Return a call that needs no folder."""
    return lambda folder: function(*given, **how)


discover, compare, jury = (partial(refuse, each) for each in (allalike.discover, allalike.compare, allalike.jury))
read, weigh = partial(refuse, allalike.read), partial(refuse, allalike.weights_from_distances)
history = partial(discover, ROWS)


def explain(given: Any = ROWS, **what: Any) -> Callable[[Path], Any]:
    return lambda folder: allalike.discover(given, method="P-TD").explain(**what)


def save(given: Any, to: Any, **how: Any) -> Callable[[Path], Any]:
    """Return a call that saves a result for a tool and writes nothing."""

    def refused(folder: Path) -> None:
        try:
            allalike.discover(given, method="UA", **how).save(folder / "out", to=to)
        finally:
            assert not (folder / "out").exists()

    return refused


def save_export(name: str, content: Any, **how: Any) -> Callable[[Path], Any]:
    return lambda folder: save(write(folder / name, content), "label-studio", **how)(folder)


def load(given: Any = ROWS, *, answers: bool = True, **how: Any) -> Callable[[Path], Any]:
    """Return a call that loads a result, saved with these options."""

    def refused(folder: Path) -> None:
        allalike.discover(given, **{"method": "UA", **how}).save(folder / "out", answers=answers)
        allalike.load(folder / "out")

    return refused


def update(given: Any, more: Any, gold: Any = None, **how: Any) -> Callable[[Path], Any]:
    """Return a call that adds answers to a result."""
    return lambda folder: allalike.discover(given, **{"method": "UA", **how}).update(more, gold=gold)


def plan(budget: float = 5, given: Any = ROWS, domain: str = "categorical", **how: Any) -> Callable[[Path], Any]:
    return lambda folder: allalike.discover(given, domain=domain).plan(budget, **how)


def save_plan(folder: Path) -> None:
    (folder / "mine.csv").write_text("a,b\n", encoding="utf-8")
    allalike.discover(ROWS).plan(5).save(folder / "mine.csv")


def compare_with(save: Callable[[Path], Any], rows: Any = ROWS, **how: Any) -> Callable[[Path], Any]:
    """Return a call that compares a panel with what was saved before."""

    def refused(folder: Path) -> None:
        save(folder / "out")
        _ = allalike.jury(rows, baseline=folder / "out", **how).summary

    return refused


def panel(rows: Any = ROWS, **how: Any) -> Callable[[Path], Any]:
    return lambda folder: allalike.jury(rows, **how).save(folder)


def spoil_verdicts(folder: Path) -> None:
    allalike.jury(ROWS).save(folder)
    (folder / "details" / "state" / "answers-1.parquet").unlink()


def fit(y: Any) -> Callable[[Path], Any]:
    from allalike.integrations.sklearn import CrowdClassifier

    return lambda folder: CrowdClassifier(GaussianNB()).fit(np.zeros((9, 1)), y)


HTML = {"start": "/p[1]", "end": "/p[1]", "globalOffsets": {"start": 0, "end": 3}, "hypertextlabels": ["PER"]}
PAGES = [{"id": 7, "data": {"html": "Ada"}, "annotations": [annotation(1, result("hypertextlabels", HTML))]}]
SHORT = [
    {"text": "a", "id": 1, "mood": "sad", "annotator": who, "annotation_id": who, "lead_time": 1} for who in (4, 5)
]

READING = [
    Message("mixed labels", discover([("a", 1, "x"), ("b", 1, 2)]), ("mixed types", "row 2")),
    Message("mixed workers", discover([("a", 1, "x"), (7, 1, "x")]), ("mixed types", "7 in row 2", "in quotes")),
    Message("short row", discover([("a", 1, "x"), ("b", 1)]), ("Row 2", "(worker, task, label)")),
    Message("no rows", discover([]), ("no answers",)),
    Message("a missing worker", discover([("a", 1, "x"), (None, 1, "x")]), ("Row 2 has no worker",)),
    Message("a missing label", discover([("a", 1, "x"), ("b", 1, None)]), ("Row 2 has no label", "missing")),
    Message("infinity", discover([("a", 1, 1.5), ("b", 1, float("inf"))]), ("row 2", "inf")),
    Message("too large", discover([("a", 1, 1e200), ("b", 1, 1.5)]), ("row 1", "1e+200")),
    Message("unhashable", discover([(w, 1, bytearray(b"x")) for w in "ab"]), ("cannot be compared",)),
    Message("a number", discover(5), ("cannot be read from int",)),
    Message("a matrix", discover(np.zeros((2, 4))), ("tasks or workers", "wide=")),
    Message("rows or a matrix", read(np.array([[1, 2, 1], [2, 1, 1]])), ("array.tolist()",)),
    Message("no labels", discover(pd.DataFrame({"worker": ["a"], "task": [1], "label": [np.nan]})), ("No row has",)),
    Message("no columns", discover(pd.DataFrame({"x": [1]})), ("Cannot tell which column", "'x'")),
    Message("nested labels", discover(pa.table({"worker": ["a"], "task": [1], "label": [[[[1]]]]})), ("lists",)),
    Message("uneven columns", discover({"worker": ["a", "b"], "task": [1], "label": ["x"]}), ("different lengths",)),
    Message("memory", lambda f: guard(f / "a.csv", "CSV", lambda: pa.allocate_buffer(1 << 62)), ("memory", "a.csv")),
    Message("tool of rows", read(ROWS, tool="toloka"), ("tool is for files",)),
    Message("columns of no matrix", read(pd.DataFrame(NUMBERS, columns=NAMES), include=("label",)), ("wide='tasks'",)),
    Message("already read", discover(allalike.read(NUMBERS), domain="real"), ("already read",)),
    Message("frame", lambda folder: allalike.discover(ROWS).tables_as("spark"), ("'spark'", "pandas, polars, arrow")),
]
OPTIONS = [
    Message("ridge", discover(NUMBERS, method=PTDAK(ridge=-1)), ("ridge is -1",)),
    Message("mu of numbers", discover(NUMBERS, method=PTDAK(mu="exact")), ("'mu'", "real labels")),
    Message("max_iter", lambda folder: IPTD(max_iter=0), ("max_iter is 0",)),
    Message("rounds", lambda folder: DTD(rounds=0), ("rounds is 0",)),
    Message("chance of numbers", discover(NUMBERS, method=PTD(weighting="chance")), ("no chance level",)),
    Message("faults of some", discover(NUMBERS, method=OA(faults={"a": 1.0})), ("2 workers", "'b'")),
    Message("negative faults", discover(NUMBERS, method=OA(faults={"a": -1.0, "b": 1.0, "c": 1.0})), ("at least 0",)),
    Message("classes", lambda folder: allalike.Categorical(classes=0), ("classes is 0",)),
    Message("blocks", lambda folder: allalike.Memory(block_answers=0), ("block_answers is 0",)),
    Message("min_confidence", discover(ROWS, min_confidence=90), ("90", "between 0 and 1")),
    Message("no confidence", discover(NUMBERS, domain="real", min_confidence=0.9), ("estimate the confidence",)),
    Message("soft labels", lambda f: allalike.discover(ROWS, method="P-TD").save(f, probabilities=True), ("P-TD",)),
    Message("an address", lambda f: allalike.discover(ROWS, method="UA").save("hdfs://host/out"), ("hdfs://host/out",)),
    Message("a name with a zero", lambda f: allalike.discover(ROWS, method="UA").save(f / "a\0b"), ("nul",)),
    Message("bias of classes", lambda folder: allalike.discover(ROWS).bias(), ("only numbers have a bias",)),
    Message("quality", lambda folder: allalike.discover(NUMBERS, domain="real").quality, ("real", "precision")),
    Message("asymmetric", weigh([[0, 1], [2, 0]]), ("not symmetric",)),
    Message("similarities", weigh([[0, -1], [-1, 0]]), ("similarity=True",)),
    Message("infinite distances", weigh([[0, np.inf], [np.inf, 0]]), ("infinite",)),
    Message("no square", weigh([[0, 1]]), ("one row and one column per worker",)),
    Message("names of workers", weigh(np.zeros((2, 2)), workers=["a"]), ("1 ids", "2 rows")),
    Message("answers needed", weigh(np.zeros((2, 2)), method="P-TD-AK"), ("needs answers, not distances",)),
    Message("methods", compare(ROWS, methods="PTD"), ("Did you mean 'P-TD'",)),
    Message("nameless method", compare(ROWS, methods="P-TD,,UA"), ("'' is not the name of a method",)),
    Message("two oracles", compare(ROWS, methods=[OA(faults={}), OA(faults={"a": 1.0})]), ("Two different", "OA")),
    Message("not served", compare(WORDS, domain="text", methods="P-TD-AK"), ("P-TD-AK does not accept text labels",)),
    Message("gold of no answer", discover(ROWS, gold={"x1": "x"}), ("None of the 1 tasks with gold labels",)),
    Message("gold too large", discover(NUMBERS, domain="real", gold={1: 1e200}), ("row 1", "1e+200")),
    Message("gold map", discover(ROWS, gold={"t1": "y"}, gold_map="{1}"), ("{1}",)),
    Message("oracle without gold", discover(ROWS, method="OA", gold={"t1": "y"}, use_gold=False), ("OA",)),
    Message("history", history(history=3), ("history of type int cannot be read",)),
    Message("history in words", history(history=pd.DataFrame({**PAST, "error_rate": ["x"]})), ("contain numbers",)),
    Message("history above 1", history(history=pd.DataFrame({**PAST, "error_rate": [1.5]})), ("at most 1",)),
    Message("negative history", history(history=pd.DataFrame({**PAST, "rmse": [-1.0]})), ("'a'",)),
    Message("no history", history(history="nowhere.csv"), ("nowhere.csv cannot be read",)),
    Message(
        "method of history", history(history=pd.DataFrame({**PAST, "mean_error": [0.1]}), method="iP-TD"), ("auto",)
    ),
]
EXPLAINING = [
    Message("no worker", explain(worker="aa"), ("'aa'", "Did you mean 'a'")),
    Message("no task", explain(task=77), ("No task is called 77",)),
    Message("neither", explain(), ("a task or a worker",)),
    Message("a problem per task", explain(allalike.read(ROWS).per_task(), worker="a"), ("with per_task()",)),
    Message("agreement per task", lambda f: allalike.discover(allalike.read(ROWS).per_task()).agreement, ("per_task",)),
    Message("saved without answers", load(answers=False), ("without its answers", "as requested")),
    Message(
        "a distance in Python", load(domain=allalike.Custom(distance=lambda a, b: a != b)), ("without its answers",)
    ),
    Message("faults in Python", load(method=OA(faults=dict.fromkeys("abc", 0.1))), ("without its answers",)),
    Message(
        "ids of dates", load([(date(2026, 1, ord(w) % 9 + 1), *rest) for w, *rest in ROWS]), ("values of type date",)
    ),
    Message("ids of no type", load([(complex(ord(w)), *rest) for w, *rest in ROWS]), ("without its answers",)),
    Message("chart of gold", lambda folder: allalike.discover(ROWS).plot.gold(), ("gold labels",)),
    Message("chart", lambda f: allalike.discover(ROWS * 9).plot.confidence().save(f / "a.png"), ("a.svg",)),
]
WRITING = [
    Message("rankings", save([(w, 1, ["x", "y"]) for w in "abc"], "coco", domain="ranking"), ("ranking", "coco")),
    Message("form", save(ROWS, "label-studio(form=drafts)"), ("'drafts'", "predictions, annotations")),
    Message("no option", save(ROWS, "doccano(form=drafts)"), ("no option 'form'",)),
    Message(
        "texts", save([(w, "t1", [(0, 3, "PER")]) for w in "ab"], "doccano", domain="spans"), ("text of task 't1'",)
    ),
    Message("sizes", save([("a", "a.jpg", [[0, 0, 1, 1]])], "label-studio", domain="boxes"), ("size", "'a.jpg'")),
    Message("XML", save([(w, "bell\a.jpg", "x") for w in "ab"], "cvat", domain="categorical"), ("x07", "XML")),
    Message("volumes", save([(w, "t1", np.ones((2, 2, 2), bool)) for w in "ab"], "coco", domain="bitmap"), ("volume",)),
    Message("short export", save_export("min.json", SHORT, domain="categorical"), ("Label Studio as JSON",)),
    Message("pages", save_export("pages.json", PAGES, domain="spans"), ("control", "hypertextlabels")),
]
JURY = [
    Message("verdicts", jury(JUDGES, verdicts="A,B"), ("'A', 'B'", "'x', 'y'")),
    Message("all good", jury(JUDGES, duplicates="first", positive=["x", "y"]), ("every label",)),
    Message("no good", jury(ROWS, positive="xx"), ("'xx'", "'x'")),
    Message("good of scores", jury(NUMBERS, domain="real", positive="high"), ("'>=4'",)),
    Message("good of rankings", jury([(w, 1, "x>y") for w in "abc"], domain="ranking", positive="x>y"), ("levels",)),
    Message("gold_drawn", jury(ROWS, gold_drawn="truth"), ("positive=",)),
    Message("by", jury(ROWS, positive="x", by="nothing"), ("no column 'nothing'", "'label'")),
    Message("two groups", jury(JUDGES, duplicates="first", positive="x", by="judge"), ("two groups of 'judge'",)),
    Message("order", jury(PAIRS, order="nothing"), ("no column 'nothing'",)),
    Message("orders", jury(PAIRS, order="epoch"), ("3 different values",)),
    Message("about without order", jury(PAIRS, verdicts_name="places"), ("Name the column",)),
    Message("about", jury(PAIRS, order="shown", verdicts_name="people"), ("'people'",)),
    Message("order and sample", jury(PAIRS, order="shown", sample="shown"), ("both 'shown'",)),
    Message("what verdicts name", jury(PAIRS, order="shown", sample="epoch"), ("'A' may name an answer",)),
    Message("samples of levels", jury(LEVELS, domain="ordinal", sample="epoch"), ("domain='real'",)),
    Message("tie", jury(PAIRS, order="shown", sample="epoch", verdicts_name="answers", tie="C"), ("tie is 'C'",)),
    Message("quorum", jury(ROWS, quorum=-1), ("quorum is -1",)),
    Message("read before", jury(allalike.read(ROWS), order="shown"), ("already read",)),
    Message("keep", jury(ROWS, retain=2), ("retain is 2",)),
    Message("confidence of scores", jury(NUMBERS, domain="real", min_confidence=0.9), ("classes", "Leave it out")),
    Message("a crowd", jury([(judge, 1, "xy"[judge % 2]) for judge in range(101)]), ("101 workers",)),
    Message("price of nobody", jury(ROWS, prices={"a": 1, "z": 2}), ("'z'", "judges are")),
    Message("prices of some", jury(ROWS, prices={"a": 1}), ("'b', 'c'", "for every judge")),
    Message("negative price", jury(ROWS, prices={"a": -1}), ("'a' is -1", "0 or more")),
    Message("list of prices", jury(ROWS, prices=[1, 2]), ("worker and price",)),
    Message("no orders", lambda folder: allalike.jury(ROWS).orders, ("orders",)),
    Message("since nothing", compare_with(lambda folder: None), ("no result in",)),
    Message("since a result", compare_with(lambda f: allalike.discover(ROWS).save(f)), ("not a panel summary",)),
    Message("spoiled verdicts", compare_with(spoil_verdicts), ("answers-1.parquet is missing",)),
    Message(
        "other judges",
        compare_with(panel([("z" + w, *rest) for w, *rest in ROWS])),
        ("no judge in common", "Its judges are"),
    ),
    Message(
        "other type", compare_with(panel(NUMBERS, domain="real"), [("a", 1, 2)], domain="ordinal"), ("real", "ordinal")
    ),
    Message("panel updated", lambda f: (panel()(f), allalike.update(f, ROWS)), ("panel", "allalike jury")),
]
TEXTS = [("ada", "007", "x"), ("bob", "007", "x")]
UPDATING = [
    Message("more classes", update(ROWS, [("e", "t1", "z")], domain="categorical(classes=2)"), ("3 distinct labels",)),
    Message("not served any more", update(ROWS, [("e", "t1", "z")], method="IBP"), ("IBP", "labels of 3 classes")),
    Message("gold of no answer", update(ROWS, [("e", "t1", "y")], {"t77": "y"}), ("None of the 1 tasks with gold",)),
    Message("texts", update(NUMBERS, [("e", "t9", 1.5)]), ("tasks of the new", "'t9' is string, 1 is int64")),
    Message("numbers", update(TEXTS, [(8.5, "007", "x")]), ("workers", "8.5 is double, 'ada' is string")),
    Message("objects", update(TEXTS, [("ada", (1, 2), "x")]), ("different type",)),
    Message("other labels", update(TEXTS, allalike.read([("ada", 1, 2.5)])), ("labels so far are categ",)),
    Message("per task", update(allalike.read(ROWS).per_task(), [("e", "t1", "x")]), ("with per_task()",)),
    Message("more per task", update(ROWS, allalike.read(ROWS).per_task()), ("with per_task()",)),
    Message("nothing", update(ROWS, []), ("There are no answers",)),
]
KEPT = ("real", "date", "vector", "place", "ranking")  # of which no error rate is known
PLANNING = [
    *(Message(f"plan of {one}", plan(5, crowd(one, seed=0), one), ("error rate", one, "next_tasks()")) for one in KEPT),
    Message("no task with two answers", plan(5, [("ada", 1, "x"), ("bob", 2, "y")]), ("No task has two answers",)),
    Message("price of a stranger", plan(prices={"zoe": 1.0}), ("'zoe', who has no answers", "'anyone'")),
    Message("no prices", plan(prices={}), ("no worker to ask",)),
    Message("little money", plan(0.5), ("budget 0.5 is too small",)),
    Message("answers for nothing", plan(prices={"anyone": 0}), ("'anyone' is 0. Give a price above 0",)),
    Message("price", plan(price=0), ("price is 0",)),
    Message("batch", plan(batch=0), ("batch is 0",)),
    Message("max_per_worker", plan(max_per_worker=1.5), ("max_per_worker is 1.5",)),
    Message("min_gain", plan(min_gain=-1.0), ("min_gain is -1",)),
    Message("a file of others", save_plan, ("mine.csv exists already",)),
    Message(
        "a curve of numbers", lambda folder: allalike.discover(NUMBERS).learning_curve(), ("accuracy of these labels",)
    ),
    Message("tasks below none", lambda folder: allalike.discover(ROWS).next_tasks(-1), ("n is -1", "at least 0")),
]
CLASSIFIER = [
    Message("no answers", fit(np.full((9, 3), -1)), ("no answers",), ValueError),
    Message(
        "rows of answers", fit(pd.DataFrame({"worker": "a", "task": range(9), "label": 1})), ("column",), ValueError
    ),
    Message("samples", fit(np.zeros((10, 3))), ("inconsistent numbers",), ValueError),
    Message("infinite answers", fit(np.full((9, 3), np.inf)), ("infinity",), ValueError),
]


@pytest.mark.parametrize(
    "message",
    [*READING, *OPTIONS, *EXPLAINING, *WRITING, *JURY, *UPDATING, *PLANNING, *CLASSIFIER],
    ids=lambda message: message.name,
)
def test_a_message_names_cause_and_remedy(message: Message, tmp_path: Path) -> None:
    message.check(tmp_path)


def test_a_package_that_is_not_installed_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(allalike.AllalikeError, match=r"pip install 'allalike\[polars\]'"):
        _ = allalike.discover(ROWS, method="UA").tables_as("polars").truth
