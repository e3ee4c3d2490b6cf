"""Real crowds: counts and the accuracy of the vote as others found them, and what weights gain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from crowdkit.aggregation import MajorityVote

import allalike

SNOW = {"snow_rte": "rte", "snow_temp": "temp", "snow_wsd": "wsd"}


def load(data: Path, name: str, file: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    table = pd.read_csv(data / name / f"{file}.standardized.tsv", sep="\t", dtype=str)
    return table, json.loads((data / name / "SOURCE.json").read_text())["statistics"]


@pytest.mark.parametrize("name", SNOW)
def test_counts_and_the_accuracy_of_the_vote(name: str, data: Path) -> None:
    table, known = load(data, name, SNOW[name])
    gold = dict(zip(table["orig_id"], table["gold"].astype(int), strict=True))
    path = data / name / f"{SNOW[name]}.standardized.tsv"
    result = allalike.discover(path, method="UA", gold=gold)
    assert result.summary["answers"] == known["n_labels"]
    assert result.summary["workers"] == known["n_workers"]
    assert result.summary["tasks"] == known["n_tasks"]
    assert result.summary["tied"] == known["tied_tasks"]
    truth = result.truth.assign(gold=result.truth["task"].astype(str).map({str(t): g for t, g in gold.items()}))
    sure = truth[~truth["tied"]]
    right = (sure["label"] == sure["gold"]).sum() + 0.5 * truth["tied"].sum()  # a drawn tie is right half of the time
    assert right / len(truth) == pytest.approx(known["mv_accuracy"], abs=6e-5 if name != "snow_wsd" else 0.005)


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # theirs, under pandas 3.1
@pytest.mark.parametrize("name", SNOW)
def test_the_unweighted_vote_is_that_of_crowd_kit(name: str, data: Path) -> None:
    table, _ = load(data, name, SNOW[name])
    answers = table.set_axis(["id", "worker", "task", "label", "gold"], axis=1)
    theirs = MajorityVote().fit_predict(answers[["task", "worker", "label"]])
    ours = allalike.discover(answers[["task", "worker", "label"]], method="UA", domain="categorical").truth
    sure = ours[~ours["tied"]].set_index("task")["label"]
    assert (theirs.loc[sure.index] == sure).all()


def test_weights_lower_the_error_on_textual_entailment(data: Path) -> None:
    table, _ = load(data, "snow_rte", "rte")
    gold = {int(task): int(label) for task, label in zip(table["orig_id"], table["gold"], strict=True)}
    path = data / "snow_rte" / "rte.standardized.tsv"
    for method in ("P-TD", "P-TD-AK", "iP-TD"):
        found = allalike.discover(path, method=method, gold=gold).summary["gold"]
        assert found["error"] < 0.9 * found["unweighted_error"]


EMOTIONS = ("anger", "disgust", "fear", "joy", "sadness", "surprise", "valence")


@pytest.mark.parametrize("emotion", EMOTIONS)
@pytest.mark.parametrize("rule", ["mean", "median"])
def test_the_error_of_the_unweighted_mean_and_median_of_ratings(emotion: str, rule: str, data: Path) -> None:
    table, known = load(data, "snow_emotion", emotion)
    gold = {int(task): float(label) for task, label in zip(table["orig_id"], table["gold"], strict=True)}
    path = data / "snow_emotion" / f"{emotion}.standardized.tsv"
    found = allalike.discover(path, domain=allalike.Real(rule=rule), method="UA", gold=gold).summary["gold"]
    assert found["error"] ** 0.5 == pytest.approx(known[emotion][f"rmse_of_{rule}"], abs=6e-5)


@pytest.mark.parametrize("emotion", ["anger", "disgust", "sadness"])  # on joy and surprise not even the oracle helps
def test_weights_lower_the_error_of_ratings(emotion: str, data: Path) -> None:
    table, _ = load(data, "snow_emotion", emotion)
    gold = {int(task): float(label) for task, label in zip(table["orig_id"], table["gold"], strict=True)}
    path = data / "snow_emotion" / f"{emotion}.standardized.tsv"
    for method in ("P-TD", "P-TD-AK", "iP-TD"):
        found = allalike.discover(path, domain="real", method=method, gold=gold).summary["gold"]
        assert found["error"] < 0.9 * found["unweighted_error"]
