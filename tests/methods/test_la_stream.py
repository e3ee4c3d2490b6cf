"""LA decides tasks one after the other, and the rest in stretches; more answers give what all give at once."""

import pytest

import allalike
from allalike import LA
from allalike.engines import Engine
from allalike.methods import label_aggregation
from crowds.samples import crowd
from running.updates import both_engines, check, cut


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
    assert allalike.discover(drawn, method=LA(passes=1)).truth["label"].tolist() == [1, 1]
