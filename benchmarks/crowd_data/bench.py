"""Benchmarks of truth inference: class labels from three public collections.

In the collection of Li, Rubinstein and Cohn (2019) a worker may answer a task twice. The first answer counts here;
most published accuracies count every row.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from allalike.domains import Categorical
from allalike.readers import read
from crowd_data.base import Parsed, Parser
from crowd_data.originals import count_repeats, read_truths, typed_table

if TYPE_CHECKING:
    from pathlib import Path

_SYSTEMS_NOTE = "The ten workers answered every task: they are most likely systems that took part, not single persons."
_OTHER_DOGS_NOTE = "These are other dogs than those that the paper calls DOGS, which Shah and Zhou asked about."


def _survey(folder: Path, *, classes: int, note: str = "") -> Parsed:
    """Read data of the survey of Zheng, Li, Li, Shan and Cheng (2017)."""
    columns = {"worker": "worker", "task": "question", "label": "answer"}
    answers = read(folder / "answer.csv", columns=columns, domain=Categorical(classes=classes))
    return Parsed(answers, read_truths(folder / "truth.csv", task="question", label="truth"), note)


def _at_scale(folder: Path, *, classes: int, repeats: bool = False) -> Parsed:
    """Read data of Li, Rubinstein and Cohn (2019), in which ids and labels are numbers from 0."""
    columns = {"worker": "worker", "task": "item", "label": "label"}
    answers = read(folder / "label.csv", columns=columns, domain=Categorical(classes=classes))
    gold = read_truths(folder / "truth.csv", task="item", label="truth")
    return Parsed(answers, gold, count_repeats(answers) if repeats else "")


def _bare(folder: Path, *, classes: int, note: str = "") -> Parsed:
    """Read data without headers."""
    table = typed_table(folder / "answer.csv", "task", "worker", "label", header=False)
    truth = typed_table(folder / "truth.csv", "task", "label", header=False)
    gold = dict(zip(truth["task"].to_pylist(), truth["label"].to_pylist(), strict=True))
    return Parsed(read(table, domain=Categorical(classes=classes)), gold, note)


BENCHMARKS = (
    Parser("bench_adult", "bench_adult", "how adult a web page is", partial(_at_scale, classes=4, repeats=True)),
    Parser("bench_bluebird", "bench_bluebird", "which of two birds a picture shows", partial(_survey, classes=2)),
    Parser("bench_dog", "bench_dog", "which breed a dog is", partial(_survey, classes=4, note=_OTHER_DOGS_NOTE)),
    Parser("bench_face", "bench_face", "what a face expresses", partial(_survey, classes=4)),
    Parser("bench_fact_eval", "bench_fact_eval", "whether a fact holds", partial(_at_scale, classes=3, repeats=True)),
    Parser("bench_labelme", "bench_labelme", "which kind of scene a picture shows", partial(_bare, classes=8)),
    Parser("bench_product", "bench_product", "whether two products are the same", partial(_survey, classes=2)),
    Parser("bench_relevance", "bench_relevance", "how relevant a page is", partial(_at_scale, classes=4, repeats=True)),
    Parser("bench_sentiment", "bench_sentiment", "whether a tweet is positive", partial(_at_scale, classes=2)),
    Parser("bench_sp", "bench_sp", "whether a sentence is positive", partial(_at_scale, classes=2)),
    Parser(
        "bench_trec2011", "bench_trec2011", "whether a page is relevant", partial(_bare, classes=2, note=_SYSTEMS_NOTE)
    ),
    Parser(
        "bench_zencrowd_all", "bench_zencrowd_all", "whether a link fits", partial(_at_scale, classes=2, repeats=True)
    ),
)
