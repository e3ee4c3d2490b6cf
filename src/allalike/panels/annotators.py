"""Alternative annotator test of models that may replace human annotators.

The test is by Calderon, Reichart and Dror (The alternative annotator test for LLM-as-a-judge: how to statistically
justify replacing human annotators with LLMs. ACL 2025). Each human j is left out once. On each task that j and the
model labelled, both are compared with the other humans. The model wins or ties (W_f = 1) if its mean distance to their
labels is at most that of j, and j wins or ties (W_h = 1) in the opposite case. With d = W_h - W_f per task and a
cost-benefit margin epsilon, the null hypothesis for j is

    E d >= epsilon,

tested one-sided by Student's t or, with fewer than 30 tasks, by the Wilcoxon signed-rank test. The Benjamini-Yekutieli
procedure bounds the false discovery rate over humans at 0.05, because the tests are dependent. The **winning rate**
omega is the share of humans whose null hypothesis is rejected. If it is at least 0.5, the model may replace humans. The
**average advantage probability** rho compares models with each other: it is the mean over humans of the mean of W_f.
Epsilon is 0.2 for experts, 0.15 for trained annotators and 0.1 for crowd workers. The test accepts any distance, so it
works for classes, numbers, rankings and texts (the paper uses accuracy, RMSE and similarities).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from allalike._core.blocks.block import Floats
from allalike._core.lazy_imports import pd, stats
from allalike._core.options import check_number
from allalike.engines import Run
from allalike.errors import OptionError, UnsupportedError
from allalike.panels.summary import AnnotatorTest, ModelTest
from allalike.panels.verdicts import Statistics, find_distances, sample_block

EPSILON = 0.15  # for trained annotators
_LEVEL = 0.05  # bound on the false discovery rate
_LEAST_RATE = 0.5  # winning rate of a model that may replace humans
_MIN_TASKS = 30  # for Student's t
_MIN_HUMANS = 3
_MAX_ANSWERS = 200_000
_CLOSE = 1e-12


def compare_with_humans(run: Run, humans: Iterable[Any], epsilon: float = EPSILON) -> Statistics:
    """Test every model; return winning rates, and a row per model and human."""
    names = [*map(str, run.workers.tolist())]
    wanted = [*map(str, [humans] if isinstance(humans, str) else humans)]
    if strangers := [name for name in wanted if name not in names]:
        raise OptionError(f"humans names {strangers[0]!r}, which is not a judge. Judges: {', '.join(names[:20])}.")
    check_number(epsilon, "epsilon", least=0)
    human = [place for place, name in enumerate(names) if name in wanted]
    models = [place for place in range(len(names)) if place not in human]
    if len(human) < _MIN_HUMANS or not models:
        raise UnsupportedError(
            f"The alternative annotator test needs at least {_MIN_HUMANS} humans and one model, but the panel has"
            f" {len(human)} humans and {len(models)} models. Name the humans with humans=."
        )
    distance = find_distances(run, sample_block(run, _MAX_ANSWERS))
    rows, tests = [], []
    for model in models:
        found = []
        for left_out in human:
            others = [each for each in human if each != left_out]
            found.append(compare_annotator(distance[np.ix_([model, left_out], others)], epsilon))
        table = pd.DataFrame(found, columns=["tasks", "model_wins", "human_wins", "p_value"])
        table["rejected"] = stats.false_discovery_control(table["p_value"], method="by") <= _LEVEL
        rate, advantage = float(table["rejected"].mean()), float(table["model_wins"].mean())
        passes = rate >= _LEAST_RATE
        tests.append(ModelTest(model=names[model], winning_rate=rate, advantage_probability=advantage, passes=passes))
        table.insert(0, "model", names[model])
        table.insert(1, "human", [names[each] for each in human])
        rows.append(table)
    tests = sorted(tests, key=lambda each: (-each.winning_rate, -each.advantage_probability))
    facts = AnnotatorTest(humans=len(human), epsilon=epsilon, models=tuple(tests))
    return Statistics({"annotators": facts}, {"annotators": pd.concat(rows, ignore_index=True)})


def compare_annotator(distance: Floats, epsilon: float = EPSILON) -> tuple[int, float, float, float]:
    """Compare a model (first row) and a human (second row) by their distances to the other humans on each task.

    Return the number of tasks, the shares on which the model and the human win or tie, and the p-value.
    """
    seen = np.asarray(~np.isnan(distance).any(axis=0))
    here = seen.any(axis=0)
    others = seen[:, here]
    mean = np.where(others, distance[:, :, here], 0.0).sum(axis=1) / others.sum(axis=0)
    model, human = mean[0] <= mean[1] + _CLOSE, mean[1] <= mean[0] + _CLOSE
    n, difference = int(here.sum()), human.astype(float) - model - epsilon
    if not n:
        return 0, np.nan, np.nan, 1.0
    probability: Any = float(difference[0] >= 0)
    if n < _MIN_TASKS and difference.any():
        probability = stats.wilcoxon(difference, alternative="less").pvalue
    elif np.ptp(difference) > 0:
        probability = stats.ttest_1samp(difference, 0.0, alternative="less").pvalue
    return n, float(model.mean()), float(human.mean()), float(probability)
