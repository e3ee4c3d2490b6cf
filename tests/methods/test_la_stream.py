"""LA decides tasks one after the other, and the rest in stretches; more answers give what all give at once."""

from __future__ import annotations

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
@pytest.mark.parametrize("method", [LA(passes=1), LA()], ids=["LA-1", "LA-2"])
@pytest.mark.parametrize("walked", [30, 200_000])
def test_the_order_in_which_answers_came_does_not_matter(
    method: LA, walked: int, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(label_aggregation, "_WALKED_ANSWERS", walked)
    parts = cut(crowd("categorical", seed=5, n=9, m=80, missing=0.4), 3, 6)
    check(parts, domain="categorical", method=method, engine=engine)


def test_a_walk_through_no_task_decides_all_in_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_aggregation, "_WALKED_ANSWERS", 1e-9)
    drawn = [(worker, task, label) for task in "ab" for worker, label in zip("xyz", (1, 1, 2), strict=True)]
    result = allalike.discover(drawn, method=LA(passes=1))
    assert result.truth["label"].tolist() == [1, 1]
    assert result.update([("x", "c", 1), ("z", "c", 2)]).truth["label"].tolist() == [1, 1, 1]
