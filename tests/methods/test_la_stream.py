"""LA decides tasks one after the other, and the rest in stretches; more answers give what all give at once."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import allalike
from allalike import LA
from allalike.engines import Engine
from allalike.methods import label_aggregation
from crowds.samples import Row, crowd, rows
from running.updates import assert_same, both_engines, cut

both_passes = pytest.mark.parametrize("method", [LA(passes=1), LA()], ids=["LA-1", "LA-2"])


def stream(parts: list[Any], **options: Any) -> Result:
    result = allalike.discover(parts[0], **options)
    for part in parts[1:]:
        result = result.update(part)
    return result


def order_by_hash(drawn: list[Row]) -> dict[Any, int]:
    """Return the hashes of tasks, in the order in which a fresh run takes them."""
    tasks = allalike.read(drawn, domain="categorical").tasks
    return dict(sorted(zip(tasks.tolist(), tasks.hashes().tolist(), strict=True), key=lambda pair: pair[1]))


def rows_of(answers: Answers) -> list[Row]:
    tasks = np.repeat(np.arange(len(answers.tasks)), np.diff(answers.starts))
    labels = answers.encoding.decode(answers.label)
    columns = answers.workers.take(answers.worker), answers.tasks.take(tasks), labels
    return list(zip(*(column.tolist() for column in columns), strict=True))


def in_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a fresh run walk through few answers, and decide most tasks in stretches."""
    monkeypatch.setattr(label_aggregation, "_WALKED_ANSWERS", 30)


@both_engines
@both_passes
def test_whole_tasks_in_their_order_make_one_stream_however_it_is_cut(method: LA, engine: Engine) -> None:
    """Among the later workers and classes are new ones, which come first in the order of names."""
    drawn = crowd("categorical", seed=5, n=9, m=80, missing=0.4)
    tasks = list(order_by_hash(drawn))
    late = set(tasks[40:])
    drawn += [(f"a{i}", task, label - 1) for i, (_, task, label) in enumerate(drawn) if task in late and i % 5 == 0]
    parts = [[row for row in drawn if row[1] in tasks[begin:end]] for begin, end in pairwise([0, 30, 31, 35, 60, 80])]
    expected = allalike.discover(drawn, domain="categorical", method=method)
    assert len(expected.workers) > 9
    assert_same(stream(parts, domain="categorical", method=method, engine=engine), expected)


@both_engines
@pytest.mark.parametrize("repeats", ["first", "last"])
def test_every_answer_is_judged_once_by_the_last_decision_on_its_task(
    repeats: str, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_stretches(monkeypatch)
    drawn = [*crowd("categorical", seed=6, n=9, m=60), *crowd("categorical", seed=7, n=9, m=60)[::4]]
    parts = cut(drawn, 5, 6)
    parts[3] += [("new", task, -1) for _, task, _ in parts[0][::7]]  # a class that comes before all others
    first = allalike.read(parts[0], domain="categorical", repeats=repeats)
    result = stream([first, *parts[1:]], method=LA(passes=1), engine=engine)
    truth = dict(zip(result.truth["task"], result.truth["label"], strict=True))
    together = allalike.read([row for part in parts for row in part], domain="categorical", repeats=repeats)
    right = [label == truth[task] for _, task, label in rows_of(together)]
    accuracy = (1 + np.bincount(together.worker, right)) / (2 + together.answer_counts)
    np.testing.assert_allclose(result.workers["fault"], 1 - accuracy, rtol=1e-12)


@both_engines
def test_what_one_pass_decided_stays_until_the_task_has_more_answers(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_stretches(monkeypatch)
    drawn = crowd("categorical", seed=8, n=9, m=120, missing=0.4)
    again = [("new", task, -1) for _, task, _ in drawn[::90]]
    before = allalike.discover(drawn, domain="categorical", method=LA(passes=1), engine=engine)
    after = before.update(again)
    named = after.truth["task"].isin([task for _, task, _ in again])
    same, others = (before.truth[~named], after.truth[~named]), (before.truth[named], after.truth[named])
    for name in ("task", "label", "tied"):
        assert same[0][name].equals(same[1][name]), name
    np.testing.assert_allclose(same[0]["confidence"], same[1]["confidence"], rtol=1e-12)
    assert not np.allclose(others[0]["confidence"], others[1]["confidence"])


@both_passes
def test_a_stream_of_answers_is_as_accurate_as_all_at_once(method: LA) -> None:
    """Over crowds in which who answered first was right until others came: this must be forgotten."""
    errors = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        truth, skill = rng.integers(4, size=200), rng.uniform(0.25, 0.9, 12)
        said = np.where(rng.random((12, 200)) < skill[:, None], truth, (truth + rng.integers(1, 4, (12, 200))) % 4)
        answered = rng.permuted(np.repeat([[True] * 5 + [False] * 7], 200, axis=0), axis=1).T
        parts = cut(rows(said, present=answered), 15, seed)
        options: dict[str, Any] = {
            "domain": "categorical",
            "method": method,
            "gold": {f"t{task:04d}": label for task, label in enumerate(truth.tolist())},
        }
        results = stream(parts, **options), allalike.discover([row for part in parts for row in part], **options)
        errors.append([result.summary["gold"]["error"] for result in results])
    streamed, whole = np.mean(errors, axis=0)
    assert streamed <= whole + 0.01
