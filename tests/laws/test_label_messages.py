"""Messages of label types and methods: every error names its cause and a remedy."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

import allalike
from allalike import Custom, Disk, Points, Ranking, Record, Spark, Tree, theory
from allalike.errors import LabelError
from allalike.simulation import Copiers, Normal, simulate
from crowds.field_records import KINDS, goods
from crowds.messages import Message
from crowds.samples import crowd, kind

Call = Callable[[Path], object]
NEST = "[" * 100_000
PARENTS = {"owl": "bird", "bird": "animal"}
NAMES = Points(radius=1, names=["nose", "chin"])
COLOUR_AND_SIZE = Record("colour:categorical, size:real")


def labelled(domain: Any, *labels: Any, **how: Any) -> Call:
    """Give labels to one task, each by a different worker."""
    rows = [(f"w{number}", 1, label) for number, label in enumerate(labels)]
    return lambda folder: allalike.discover(rows, domain=domain, **{"method": "UA", **how})


def made(name: str, **options: Any) -> Call:
    return lambda folder: getattr(allalike, name)(**options)


def discovered(rows: Any, **how: Any) -> Call:
    return lambda folder: allalike.discover(rows, **how)


# Label type, a valid label and an invalid one in row 2 (or only an invalid one), and words of the message.
LABELS: list[tuple[Any, tuple[Any, ...], tuple[str, ...]]] = [
    ("circular", ("12", "north"), ("row 2", "north", "number")),
    *(
        ("place", (good, bad), ("row 2",))
        for good, bad in [([1, 2], [91, 0]), ([1, 2], [1, 2, 3]), ("[1, 2]", "here"), ([1, 2], [float("nan"), 1])]
    ),
    ("tree", ("a/b", "a//b"), ("row 2", "empty")),
    (Tree(parents=PARENTS), ("owl", "emu"), ("row 2", "parents")),
    ("set", ("[]", "a;b"), ("row 2", "separator")),
    ("set", ("[]", '["a", "b"'), ("row 2", "JSON")),
    ("set", ("[]", '["a", 1]'), ("row 2", "different types")),
    ("set", ("[]", "[1.5]"), ("row 2", "neither text nor a whole number")),
    ("set", ("[]", '["\\ud800"]'), ("row 2", "valid text")),
    ("set", ("[]", '[["a", 1], [1, "a"]]'), ("row 2", "cannot be sorted")),
    ("set", (3, 3), ("must be a list",)),
    ("set", (["a"], [1]), ("'a' is text", "1 is a whole number")),
    ("set", ([("a", 1)], [("b", "c")]), ("is text", "1 is a whole number")),
    ("interval", ("[]", "[[5, 3]]"), ("row 2", "ends before")),
    ("interval", ("[]", "[[0, NaN]]"), ("row 2", "not finite")),
    ("interval", ("[]", "[[0, 1e200]]"), ("row 2", "too large")),
    ("interval", ("[]", "[[true, 4]]"), ("row 2", "not a number")),
    ("interval", ("[]", "[0, 4]"), ("row 2", "[start, end]")),
    ("interval", ("[]", "[[0, 4]"), ("row 2", "JSON")),
    ("interval", ("[]", '{"start": 0}'), ("row 2", "JSON list")),
    ("interval", ("[]", "[[0, 9007199254740993]]"), ("row 2", "2**53")),
    ("interval", (3, 4), ("list of intervals",)),
    ("vector", ("[1, 2]", "[1.0, NaN]"), ("row 2", "not finite")),
    ("vector", ("[1, 2]", "[1.0, 1e200]"), ("row 2", "1e200", "rescale")),
    ("vector", ("[1, 2]", "[1.0]"), ("row 2", "1 numbers", "2")),
    ("vector", ("[1, 2]", "[]"), ("row 2", "at least one number")),
    ("vector", ("[1, 2]", '[1.0, "2"]'), ("row 2", "list of numbers")),
    ("vector", ("[1, 2]", "1.0 2.0"), ("row 2", "JSON")),
    *(("vector", (bad, bad), ("list of",)) for bad in (2.5, {"a": 1}, np.array([[1.0]]), np.array([None, 1.0]), 1j)),
    ("vector(distance=cosine)", ([1.0, 0.0], [0.0, -0.0]), ("row 2", "zero")),
    ("ranking", ("a>b>c", "a>b>a"), ("row 2", "'a' twice")),
    ("ranking", ("a>b>c", "a>>b"), ("row 2", "no item")),
    ("ranking", ("a>b>c", "[]"), ("row 2", "0 items")),
    ("ranking", ("a>b>c", '["a", true]'), ("row 2", "neither the name nor the number")),
    ("ranking", ("a>b>c", '["a", "b"'), ("row 2", "JSON")),
    ("ranking", ("a>b>c", "a,b,c"), ("row 2", "best first", "'>'")),
    ("ranking", ("a>b>c", ">".join(map(str, range(1001)))), ("row 2", "1,001", "1,000")),
    ("ranking", ("a>b>c", "a>b={c"), ("row 2", "a>{b,c}")),
    ("ranking", ("a>b>c", '{"a": 1, "b": "x"}'), ("row 2", "'b'", "number")),
    ("ranking", ("a>b>c", '{"a": 1,'), ("row 2", "JSON")),
    ("ranking", (4, 5), ("list of items", "a>b>c")),
    ("text", (2.5, 2.5), ("row 1", "not text")),
    ("text", ("short", "word " * 1_000_000), ("row 2", "5,000,000", "1 MB")),
    ("text(distance=edit)", ("short", "word " * 30_000), ("row 2", "150,000", "0.1 MB")),
    ("date", ("2024-01-01", "2023-02-29"), ("row 2", "does not exist", "2023-02-29")),
    ("date", ("2024-01-01T10:00", "2024-01-01T10:00+25:00"), ("row 2", "does not exist")),
    ("date", ("0000-01-01",), ("year 0",)),
    ("date", ("-0044-03-15",), ("0001 to 9999",)),
    ("date", ("20240101",), ("ISO date", "2024-02-29")),
    ("date", ("2024-01-01", "2024-01-03T10:00"), ("row 2", "without an offset", "dates")),
    ("date", ("2024-01-01T10:00", "2024-01-01T10:00Z"), ("row 2", "with an offset", "one form")),
    ("date", (pd.Timestamp("2024-01-01"), pd.NaT), ("Row 2", "no label")),
    (COLOUR_AND_SIZE, ({"colour": "red"}, {"colour": "red", "weight": 3}), ("row 2", "'weight'", "ignore=['weight']")),
    (COLOUR_AND_SIZE, ({"colour": "red"}, {"colour": None, "size": ""}), ("row 2", "none of its fields")),
    (COLOUR_AND_SIZE, ('{"colour": "red"}', "red"), ("row 2", "JSON object")),
    (COLOUR_AND_SIZE, ({"size": "3"}, {"size": "large"}), ("'size'", "'large'", "not a number")),
    ("probability", (70, 70), ("row 1", "percent", "100")),
    ("probability", ("70%", "70%"), ("row 1", "percent", "100")),
    ("probability", (-0.1, 0.5), ("row 1", "between 0 and 1")),
    ("probability", ("nan", "0.5"), ("row 1", "nan", "as missing")),
    ("probability", ([0.5, 0.4], [0.5, 0.5]), ("row 1", "0.9", "1")),
    ("probability", ([], []), ("row 1", "no options")),
    ("probability", ("likely", "likely"), ("row 1", "a forecast is a probability")),
    ("probability", (True, True), ("row 1", "Boolean")),
    ("probability", ({0.5: 1.0}, {0.5: 1.0}), ("row 1", "neither text nor a whole number")),
    ("probability", ('{"a": 0.5, "a": 0.5}', '{"a": 1}'), ("row 1", "twice")),
    ("probability", ('{"a": 1.0', '{"a": 1}'), ("row 1", "JSON")),
    ("probability", ({"\ud800": 1.0}, {"\ud800": 1.0}), ("row 1", "valid text")),
    ("probability", ("0.5", "0.6", "[0.5, 0.5]"), ("row 3", "list", "number")),
    ("probability", ({"a": 0.5, "b": 0.5}, {"a": 0.5, "c": 0.5}), ("'a', 'b'", "'a', 'c'")),
    ("boxes", ("[]", "cat"), ("row 2", "JSON list")),
    ("boxes", (7, 7), ("row 1", "list", "box")),
    ("boxes", ([], [[0, 0, 1]]), ("row 2", "four numbers")),
    ("boxes", ([], [[0, 0, 1, float("nan")]]), ("row 2", "not finite")),
    ("boxes", ([], [[0, 0, 1, "x"]]), ("row 2", "not a number")),
    ("boxes", ([], [[5, 5, 2, 9]]), ("row 2", "width, height", "form=xywh")),
    ("boxes", ([], [{"x1": 5, "y1": 0, "x2": 1, "y2": 1}]), ("row 2", "ends before")),
    ("boxes", ([], [[0, 0, 1, 1, 0.93]]), ("row 2", "0.93", "class")),
    ("boxes", ([], [[0, 0, 1, 1, "a"], [0, 0, 1, 1]]), ("row 2", "only some")),
    ("boxes", ([], [{"bbox": [0, 0, 1, 1], "rectanglelabels": ["a", "b"]}]), ("row 2", "one class")),
    ("boxes", ([], [{"bbox": [0, 0, 1, 1], "rotation": 30}]), ("row 2", "30 degrees")),
    ("boxes", ([], [{"middle": 3}]), ("row 2", "sides")),
    ("boxes", ([], [{"bbox": [0, 0, -1, 1]}]), ("row 2", "below 0")),
    ("boxes", ([], [[0, 0, 1, 1]] * 10_001), ("row 2", "10,001", "option most")),
    ("boxes", ([], [[0, 0, 1, 1]], [[0, 0, 1, 1, "a"]]), ("row 3", "a class", "no class")),
    ("boxes", ([[0, 0, 1, 1, "a"]], [[0, 0, 1, 1, 3]]), ("class 3", "class 'a'")),
    ("spans", ([[0, 2, "PER"]], [[4, 4, "PER"]]), ("row 2", "empty or reversed")),
    ("spans", ([[0, 2, "PER"]], [[0.5, 2, "PER"]]), ("row 2", "whole number")),
    ("spans", ([[0, 2, "PER"]], [[0, float("nan"), "PER"]]), ("row 2", "not finite")),
    ("spans", ([[0, 2, "PER"]], [[0, "2", "PER"]]), ("row 2", "not a number")),
    ("spans", ([[0, 2, "PER"]], [[0, 2, 0.5]]), ("row 2", "the tag 0.5")),
    ("spans", ([[0, 2, "PER"]], [[0, 2, "PER", 1]]), ("row 2", "a span must be")),
    ("spans", ([{"start": 0, "end": 2, "labels": ["PER", "LOC"]}],), ("row 1", "one tag")),
    ("spans", ([{"x": 0}],), ("row 1", "start and end")),
    ("spans", ('[[0, 2, "PER"]]', "Anna met Bob"), ("row 2", "JSON list")),
    ("spans", ([[0, 2, "PER"]], ["O", "B-PER"]), ("row 2", "tags of tokens")),
    (Points(radius=1), ([[0, 2]], [[0, float("inf")]]), ("row 2", "not finite")),
    (Points(radius=1), ([[0, 2]], [["1", 2]]), ("row 2", "not a number")),
    (Points(radius=1), ([[0, 2]], [[0, 0], [0, 0, 0]]), ("row 2", "2 and 3 coordinates")),
    (Points(radius=1), ([[0, 2]], [{"y": 1}]), ("row 2", "no coordinates")),
    (Points(radius=1), ([[0, 2]], [[]]), ("row 2", "no coordinates")),
    (Points(radius=1), ([[0, 2]], [{"keypoints": [1, 2, 2]}]), ("row 2", "names=[")),
    (Points(radius=1), ([[0, 2]], [0, 2]), ("2 coordinates", "row 2")),
    (NAMES, ([[0, 2, "nose"]], [[1, 2, "nose"], [3, 4, "nose"]]), ("row 2", "two points 'nose'")),
    (NAMES, ([[0, 2, "nose"]], [[1, 2, "ear"]]), ("row 2", "nose, chin")),
    (NAMES, ([[0, 2, "nose"]], [1, 2]), ("row 2", "need 6")),
    (Points(), ([[0, 0], [30, 40]], [[1, 1], [90, 90]]), ("radius", "domain='points(radius=50)'")),
    ("ordinal(levels=[poor, good])", ("good", "god"), ("row 2", "poor", "'good'")),
    ("ordinal", (1.0, 2.0, 2.5), ("row 3", "whole number", "levels=[")),
    ("ordinal", (0, 5000), ("0 to 5000", "real")),
    ("bitmap", ("nonsense",), ("row 1", "table of pixels")),
    ("bitmap", ('{"size": [2, 2], "counts":',), ("row 1", "line 1")),
    ("bitmap", ([[1, 0], [1]],), ("row 1", "different lengths")),
    ("bitmap", (np.zeros((2, 2, 3)),), ("row 1", "rows and columns")),
    ("bitmap", (np.zeros((0, 3)),), ("row 1", "0 x 3")),
    ("bitmap", (np.array([[np.nan, 1]]),), ("row 1", "finite")),
    ("bitmap", ({"size": [2, 2]},), ("row 1", "'size' and 'counts'")),
    ("bitmap", ({"size": [2, 2.5], "counts": [4]},), ("row 1", "height, width")),
    ("bitmap", ({"size": [-2, -2], "counts": [4]},), ("row 1", "-2 x -2")),
    ("bitmap", ({"size": [10**6, 10**6], "counts": [10**12]},), ("row 1", "100 million")),
    ("bitmap", ({"size": [2, 2], "counts": [5, -1]},), ("row 1", "2 x 2")),
    ("bitmap", ({"size": [2, 2], "counts": [1.5, 2.5]},), ("row 1", "whole numbers")),
    ("bitmap", ({"size": [2, 2], "counts": "\u00e4"},), ("row 1", "cannot be read")),
    ("bitmap", ({"size": [2, 2], "counts": "o" * 20 + "0"},), ("row 1", "larger")),
    ("bitmap", ({"size": [2, 2], "counts": "9" * 5_000_000},), ("row 1", "2 x 2")),
    ("bitmap", (np.ones((4, 5)), np.ones((5, 4))), ("4 x 5", "5 x 4")),
    *(
        (Custom(distance=apart), (1, 2, 3), (word,))
        for apart, word in [
            (lambda a, b: a - b, "negative"),
            (lambda a, b: 1.0, "to itself"),
            (lambda a, b: float(a > b), "symmetric"),
            (lambda a, b: float("nan"), "nan"),
            (lambda a, b: a / 0, "ZeroDivisionError"),
            (lambda a, b: "far", "ValueError"),
        ]
    ),
    (Custom(distance=np.zeros((2, 2))), (0, 2), ("row 2", "from 0 to 1")),
    (Custom(distance=np.zeros((2, 2))), (0, -1), ("row 2", "number of a row")),
]
OPTIONS: list[tuple[Any, dict[str, Any], tuple[str, ...]]] = [
    ("Circular", {"period": -1}, ("period", "more than 0")),
    ("Tree", {"separator": ""}, ("separator",)),
    ("Tree", {"parents": {"a": "b", "b": "a"}}, ("parents", "'a' is its own ancestor")),
    ("Tree", {"parents": {"a": 1}}, ("parents", "names to names")),
    ("Set", {"separator": 3}, ("separator",)),
    ("Ordinal", {"levels": "poor"}, ("list all levels",)),
    ("Ordinal", {"levels": [1, "1"]}, ("'1' twice",)),
    ("Probability", {"sharpen": 0}, ("sharpen",)),
    ("Text", {"tokens": "letters"}, ("letters", "spaces, words")),
    ("Text", {"lower": "yes"}, ("lower", "yes")),
    ("Text", {"distance": "bleu"}, ("bleu", "gleu, edit, tokens")),
    ("Ranking", {"rule": "bordaa"}, ("bordaa", "borda")),
    ("Bitmap", {"on": "black"}, ("on", "black")),
    ("Bitmap", {"fill": 1}, ("fill", "1")),
    ("Boxes", {"quorum": 1}, ("quorum",)),
    ("Boxes", {"overlap": 2}, ("overlap",)),
    ("Boxes", {"form": "yx"}, ("form", "xywh")),
    ("Points", {"radius": 0}, ("radius",)),
    ("Points", {"names": ["a", "a"]}, ("names",)),
    ("Custom", {}, ("distance",)),
    *(
        ("Custom", {"distance": wrong}, ("distance",))
        for wrong in ([[0, 1], [2, 0]], [[0, -1], [-1, 0]], [[0, 1]], "x")
    ),
    ("Record", {"fields": "a:reel"}, ("'a'", "reel", "categorical")),
    ("Record", {"fields": "a, a"}, ("'a'", "twice")),
    ("Record", {"fields": 3}, ("fields", "3")),
    ("Record", {"fields": "a:set(separator="}, ("cannot be parsed",)),
    ("Record", {"fields": {"a": "record"}}, ("record in a record",)),
    ("Record", {"fields": "a", "importance": {"b": 2}}, ("importance", "'b'", "a")),
    ("Record", {"fields": "a", "importance": {"a": 0}}, ("0", "ignore=['a']")),
    ("Record", {"fields": KINDS, "weights": "field", "rule": "medoid"}, ("weights", "medoid")),
]
TWO = [(worker, task, label) for task, label in ((1, "a>b"), (2, "c>d")) for worker in "xy"]
FORECASTS = [(worker, task, {"a": 0.4, "b": 0.6}) for worker in "xyz" for task in (1, 2)]
APART = Record(KINDS, weights="field")
VECTORS = [("ada", 1, [1.0, 0.0]), ("bob", 1, [0.0, 1.0])]
GRADES = [("ada", "t0", 1), ("bob", "t0", 4), ("ada", "t1", 2), ("bob", "t1", 4)]
OPTIONS += [
    ("CRH", {"normaliser": "mean"}, ("normaliser", "sum, max")),
    ("CATD", {"alpha": 1.5}, ("alpha", "less than 1")),
    ("CATD", {"alpha": 1e-200}, ("alpha", "1e-06")),
    ("GTM", {"s0": 0}, ("s0", "1e-12")),
    ("DS1", {"clip": 0.5}, ("clip", "0.5")),
    ("EVD", {"diagonal": "zero"}, ("diagonal", "lsq, loglsq, iterate, raw")),
    ("KDE", {"tol": -1}, ("tol", "-1")),
    ("TOP2", {"size": 1}, ("size", "at least 2")),
    ("TOP2", {"size": 3, "method": "pair"}, ("pair", "size")),
    ("EXP", {"chance": "half"}, ("chance", "classes, mean")),
    ("MAS", {"dim": 0}, ("dim", "0")),
    ("LA", {"passes": 3}, ("passes", "3")),
    ("MACE", {"form": "gibbs"}, ("form", "gibbs")),
]


def short_of_memory(method: str, where: str = "engines.base") -> Call:
    """Run a method with almost no free memory."""
    answers = crowd("categorical", seed=8, n=9)

    def run(folder: Path) -> object:
        with patch(f"allalike.{where}.free_memory", lambda: 1 << 10):
            return allalike.discover(answers, domain="categorical", method=method)

    return run


NUMBERS, CLASSES = [("ada", 1, 2.5), ("bob", 1, 3.5)], [("ada", 1, "x"), ("bob", 1, "y"), ("eve", 1, "z")]
SEEN = {"history": pd.DataFrame({"worker": ["w001"], "answers": [10], "error_rate": [0.1]})}
COLUMNS = {"worker": ["ada", "bob"], "task": [1, 1], "colour": ["red", "red"]}
BOXES = [[0, 0, 1, 1, "a"]], [[0, 0, 1, 1, "b"]]
TWICE = [("ada", 1, "a>b"), ("ada", 1, "b>a"), ("bob", 1, "a>b")]
MIXED = [(f"w{n % 3}", n // 3, "2024-01-01T10:00Z" if n == 17 else "2024-01-01") for n in range(30)]
TAGS = [(w, t, {"tags": ["a", "b"][: 1 + (w + t) % 2], "ok": True}) for w in range(4) for t in range(9)]
OTHERS: list[tuple[str, Call, tuple[str, ...]]] = [
    ("gold of other items", discovered(TWO, domain="ranking", gold={2: "c>a"}), ("different items",)),
    ("other options", discovered(FORECASTS, domain="probability", gold={1: {"a": 0, "c": 1}}), ("different options",)),
    ("another form", discovered(FORECASTS, domain="probability", gold={1: 1}), ("number", "mapping")),
    ("another length", discovered(VECTORS, domain="vector", gold={1: [1.0, 2.0, 3.0]}), ("3 numbers", "2")),
    (
        "beyond the scale",
        discovered(GRADES, domain="ordinal", gold={"t1": 5}),
        ("5", "1 to 4", "levels=[1, 2, 3, 4, 5]"),
    ),
    ("another size", labelled("bitmap", np.ones((4, 5)), gold={1: np.ones((2, 2))}), ("4 x 5", "2 x 2")),
    ("another field", discovered(goods(), domain=kind("record"), gold={"t0000": {"shape": 1}}), ("gold", "'shape'")),
    ("no gold", discovered(goods(), domain=APART, method="OA", gold={"t0004": {"colour": "red"}}), ("'size'", "OA")),
    ("history of whole records", discovered(goods(), domain=APART, **SEEN), ("history",)),
    ("some of the fields", discovered(COLUMNS, domain=Record("colour, size")), ("'size'",)),
    ("minimax", labelled("ranking(rule=minimax)", "1>2>3>4>5>6>7>8>9"), ("9 items", "at most 8", "schulze")),
    *(
        (rule, labelled(Ranking(rule=rule), "a>b", "a>c"), ("positions", "all items"))
        for rule in ("stv", "veto", "bucklin")
    ),
    ("ties", labelled("ranking(distance=footrule)", "a>b=c", "a>c>b"), ("footrule", "ties")),
    ("P-TD-AK", labelled("ranking(distance=footrule)", "a>b", method="P-TD-AK"), ("P-TD-AK", "ranking")),
    ("IBP", labelled("boxes", *BOXES, method="IBP"), ("IBP", "two classes", "DS")),
    ("repeated rankings", discovered(TWICE, domain="ranking", duplicates="error"), ("task 1", "more than once")),
    ("repeated classes", discovered(TWICE, domain="categorical", duplicates="add"), ("added up",)),
    ("seconds", discovered([(w, 1, [[0.5, 1.25 + w, "bark"]]) for w in range(2)]), ("whole numbers",)),
    ("dates in parts", discovered(MIXED, domain="date", engine="disk"), ("row", "one form")),
    ("DS", discovered(NUMBERS, domain="real", method="DS"), ("DS", "real", "classes", "GTM")),
    ("three classes", discovered(CLASSES, domain="categorical", method="IBP"), ("IBP", "3 classes", "two")),
    ("KDE", discovered(CLASSES, domain="categorical", method="KDE"), ("KDE", "categorical")),
    ("CRH", discovered(CLASSES, domain="categorical", method="CRH(loss=absolute)"), ("loss", "numbers")),
    (
        "probabilities",
        lambda folder: allalike.discover(CLASSES, domain="categorical", method="UA").probabilities,
        ("UA", "probabilities"),
    ),
    (
        "confusions",
        lambda folder: allalike.discover(CLASSES, domain="categorical", method="UA").confusion("ada"),
        ("UA", "confusion"),
    ),
    ("memory of DS", short_of_memory("DS"), ("3 x 3", "9 workers", "DS-1")),
    ("memory of EBCC", short_of_memory("EBCC"), ("EBCC", "3 x 3", "9 workers")),
    ("memory of MACE", short_of_memory("MACE", "methods.mace"), ("MACE", "9 workers", "10 starts")),
    ("lists in a record", discovered(TAGS), ("'tags'", "lists", "tags:set")),
]
FOUR = [1, 1, 1, 1]
HAMMERS: Any = {"hammer_fault": 2, "spammer_fault": 1}
# A call without a folder, and words of the message.
CALLS: list[tuple[Callable[[], object], tuple[str, ...]]] = [
    (lambda: theory.expected_disparity(-1.0, 1.0), ("fault", "-1.0", "0 or more")),
    (lambda: theory.expected_disparity(float("nan"), 1.0), ("fault", "nan", "finite")),
    (lambda: theory.expected_disparity(1.0, [1.0, 2.0]), ("mean_fault", "one number")),  # type: ignore[arg-type]
    (lambda: theory.expected_disparity(1.0, 1.0, bias=[2, 0]), ("bias", "mean square 2", "fault is 1")),
    (lambda: theory.expected_disparity(np.ones(2), 1.0, bias=[1, 1]), ("bias", "shape", "one number")),
    (lambda: theory.expected_disparity(9.0, 9.0, bias=[1, 1], mean_bias=[1, 1, 1]), ("2", "3 tasks")),
    (lambda: theory.expected_disparity_one_coin(1.1, 0.5), ("fault", "0 to 1")),
    (lambda: theory.mallows_swaps(0.5, 1), ("items", "1")),
    (lambda: theory.metric_disparity_bounds(1.0, [[1.0]]), ("faults", "2 dimensions")),
    (lambda: theory.hammer_spammer_gap(0.5, **HAMMERS), ("spammer_fault", "1.0")),
    (lambda: theory.sample_size(1, 0.1, [1, 1, 1]), ("moments", "four")),
    (lambda: theory.sample_size(1, 0.1, [2, 1, 1, 1]), ("moments",)),
    (lambda: theory.deviation_chance(1, 1, 5, FOUR), ("workers", "1")),
    (lambda: theory.inverse_bounds(0.51), ("delta", "0 to 0.5")),
    (lambda: theory.cosine_to_squared(1.5), ("cosine", "-1 to 1")),
    (lambda: Normal(mean=0, sd=1, low=50, high=60).draw(3), ("bounds",)),
    (lambda: Copiers(number=5).appoint(5), ("5 workers", "0 can be copied")),
    (lambda: Copiers(fidelity=1.5), ("fidelity", "1.5")),
    (lambda: simulate("real SYN.N", workers=100_000, tasks=1_000_000), ("100,000,000,000", "too many")),
    (lambda: simulate("masks(height=2000, width=2000)", workers=10, tasks=100), ("4,000,000 values",)),
    (lambda: Disk(memory="much"), ("memory", "size")),
    (lambda: Disk(memory="1KB"), ("500 MB",)),
    (lambda: Spark(partitions=0), ("partitions", "0")),
    (lambda: allalike.discover(NUMBERS, domain="real", engine=Disk(work_dir="nowhere")), ("work folder", "nowhere")),
    (lambda: pickle.dumps(allalike.discover(NUMBERS, domain="real", engine=Disk())), ("result.save",)),
    (lambda: simulate("k=4 SYN", workers=0), ("workers", "0")),
    (lambda: simulate("k=4 SYN", workers=3, answers_per_task=4), ("answers_per_task is 4", "3 workers")),
    *(
        (lambda asked=asked: simulate(asked, workers=3), words)
        for asked, words in [
            ("SYN.N", ("real SYN.N", "ranking SYN.N")),
            ("malows", ("'mallows'",)),
            ("one-coin(k=3)", ("'k'", "population, classes")),
            ("one-coin(classes=1)", ("classes", "at least 2")),
            ("one-coin(population='uniform(high=2)')", ("between 0 and 1",)),
            ("one-coin(population='uniorm')", ("'uniform'",)),
            ("one-coin(population='normal(sd=0)')", ("sd", "finite")),
            ("one-coin(population='normal(low=1, high=0)')", ("low must be below high",)),
            ("one-coin(population='fixed(values=())')", ("values", "empty")),
            ("gaussian(reading='spread')", ("reading", "sd, variance")),
            ("intervals(length=3)", ("3 intervals", "length 3")),
            ("mallows(items=2000)", ("items", "1000")),
            ("masks(height=0)", ("height", "at least 1")),
        ]
    ),
]
MESSAGES = [
    *(Message(" ".join(words), labelled(domain, *labels), words) for domain, labels, words in LABELS),
    *(Message(" ".join(words), made(each, **options), words) for each, options, words in OPTIONS),
    *(Message(*row) for row in OTHERS),
    *(Message(" ".join(words), lambda folder, call=call: call(), words) for call, words in CALLS),  # type: ignore[misc]
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: ascii(message.name[:60]))
def test_a_message_names_the_cause_and_the_remedy(message: Message, tmp_path: Path) -> None:
    message.check(tmp_path)


@pytest.mark.parametrize("domain", ["set", "interval", "vector", "probability", "bitmap", "ranking"])
def test_a_message_about_a_huge_label_is_short(domain: str) -> None:
    with pytest.raises(LabelError, match="row 1 .*nested") as caught:
        allalike.discover([("ada", 1, NEST), ("bob", 1, NEST)], domain=domain)
    assert len(str(caught.value)) < 400
