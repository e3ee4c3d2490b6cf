"""What changed since an earlier panel: which judge, on which tasks, and the rate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, fisher_exact

import allalike
from allalike.api.judges.changes import adjust, compare_said, line_up
from allalike.api.judges.kept_verdicts import KeptVerdicts, read_earlier

RIGHT = (0.9, 0.85, 0.8, 0.85)


def draw(seed: int, *, tasks: int = 300, first: int = 0, harsh: int | None = None, only: str = "") -> pd.DataFrame:
    """Draw verdicts of four judges on tasks whose truths are the same in each draw; one may fail many good ones."""
    rng = np.random.default_rng(seed)
    truth = np.random.default_rng(99).random(first + tasks)[first:] < 0.6
    topic = np.where(np.arange(tasks) % 2, "art", "law")
    parts = []
    for judge, right in enumerate(RIGHT):
        said = np.where(rng.random(tasks) < right, truth, ~truth)
        if judge == harsh:
            said &= (rng.random(tasks) < 0.6) | (topic != only if only else False)
        parts.append(pd.DataFrame({"worker": f"j{judge}", "task": np.arange(first, first + tasks), "good": said}))
    table = pd.concat(parts, ignore_index=True)
    table["label"] = np.where(table.pop("good"), "pass", "fail")
    table["task"] = "t" + table["task"].astype(str)
    return table.assign(topic=np.tile(topic, len(RIGHT)))


def keep(table: pd.DataFrame, truth: dict[str, str] | None = None) -> KeptVerdicts:
    known = [(truth or {}).get(task, "") for task in table["task"]]
    columns = [table["worker"], table["task"], table["label"], known, table["topic"]]
    return KeptVerdicts(*(np.array(column, object) for column in columns))


def test_a_panel_is_steady_to_itself_and_a_redraw_is_no_drift(tmp_path: Path) -> None:
    allalike.jury(draw(0)).save(tmp_path / "out")
    for seed in (0, 1):
        panel = allalike.jury(draw(seed), since=tmp_path / "out")
        assert panel.summary["panel"]["drift"]["drifted"] == []
        assert not panel.judges["drifted"].any()
        assert (panel.judges["changed"].max() == 0) == (seed == 0)


@pytest.mark.parametrize("good", [None, "pass"])
@pytest.mark.parametrize("first", [0, 1000])
def test_who_became_harsh_is_found_on_the_same_tasks_and_on_others(
    tmp_path: Path, good: str | None, first: int
) -> None:
    allalike.jury(draw(0)).save(tmp_path / "out")
    panel = allalike.jury(draw(1, first=first, harsh=2), since=tmp_path / "out", good=good)
    drift = panel.summary["panel"]["drift"]
    assert drift["drifted"] == ["j2"]
    assert drift["shared_tasks"] == (0 if first else 300)
    assert panel.drift["found"].sum() == drift["found"]
    assert panel.drift["probability"].is_monotonic_increasing


def test_a_change_on_one_kind_of_task_is_found_there(tmp_path: Path) -> None:
    allalike.jury(draw(0, tasks=600), by="topic").save(tmp_path / "out")
    panel = allalike.jury(draw(1, tasks=600, harsh=1, only="art"), by="topic", since=tmp_path / "out")
    found = panel.drift[panel.drift["found"]]
    assert set(found["judge"]) == {"j1"}
    assert "art" in set(found["group"])
    assert "law" not in set(found["group"])


def test_probabilities_are_those_of_mcnemar_fisher_and_holm() -> None:
    truth = {f"t{task}": "pass" for task in range(0, 300, 3)}
    before, now = draw(0), draw(1, harsh=0)
    changes = compare_said(line_up(keep(before, truth), keep(now, truth)), ["pass"])
    then, later = (table[table["worker"] == "j0"].set_index("task")["label"] == "pass" for table in (before, now))
    up, down = int((later & ~then).sum()), int((then & ~later).sum())
    said = next(each for each in changes if (each.judge, each.what, each.group) == (0, "says good", ""))
    assert said.probability == pytest.approx(binomtest(up, up + down).pvalue)
    assert (said.before, said.now) == pytest.approx((then.mean(), later.mean()))
    other = draw(1, first=300, harsh=0)
    changes = compare_said(line_up(keep(before, truth), keep(other, {f"t{t}": "fail" for t in range(300, 400)})))
    right = next(each for each in changes if (each.judge, each.what, each.group) == (0, "right", ""))
    known = then[list(truth)], ~(other[other["worker"] == "j0"].set_index("task")["label"][:100] == "pass")
    table = np.array([[each.sum(), (~each).sum()] for each in known])
    assert right.probability == pytest.approx(fisher_exact(table).pvalue)
    drawn = np.random.default_rng(0).random(50) ** 4
    holm = [max(drawn[j] * (drawn >= drawn[j]).sum() for j in range(50) if drawn[j] <= drawn[i]) for i in range(50)]
    assert adjust(drawn) == pytest.approx(np.minimum(holm, 1))


@pytest.mark.long
def test_redraws_of_the_same_judges_raise_an_alarm_hardly_ever() -> None:
    alarms = 0
    for seed in range(40):
        changes = compare_said(line_up(keep(draw(2 * seed)), keep(draw(2 * seed + 1))))
        changes += compare_said(line_up(keep(draw(2 * seed)), keep(draw(2 * seed + 1, first=300))))
        alarms += bool((adjust(np.array([each.probability for each in changes])) < 0.01).any())
    assert alarms <= 2


def test_kept_verdicts_come_back_as_they_were(tmp_path: Path) -> None:
    table = draw(0, tasks=20).replace({"worker": {"j0": "=1+1", "j1": 'a "b", c'}})
    for how in ({"safe_csv": True}, {"format": "parquet"}, {}):
        allalike.jury(table, gold={"t3": "pass"}).save(tmp_path / "out", **how)
        kept = read_earlier(tmp_path / "out").verdicts
        rows = set(zip(kept.judge, kept.task, kept.label, strict=True))
        assert rows == set(zip(table["worker"], table["task"], table["label"], strict=True))
        assert set(kept.task[kept.truth == "pass"]) == {"t3"}
