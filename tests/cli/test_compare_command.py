"""The command `allalike compare`, and real crowds on which its numbers are computed again by the book."""

from __future__ import annotations

import json
import warnings
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from nltk.translate.gleu_score import sentence_gleu
from scipy import stats

import allalike
from allalike import METHODS, ConvergenceWarning
from allalike.api.compare import compare
from allalike.cli import main
from allalike.methods.base import without_gold
from crowds import samples
from running.program import run

ROWS = samples.rows(samples.RUNNING_EXAMPLE)
GOLD = {f"t{task:04d}": truth for task, truth in enumerate(samples.RUNNING_TRUTH)}


def discover(*arguments: Any, **options: Any) -> allalike.Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return allalike.discover(*arguments, **options)


def check_by_hand(printed: dict[str, Any], apart: dict[str, Any]) -> None:
    """Compare what was printed with distances that were computed in another way, by the book."""
    rows = {row["method"]: row for row in printed["methods"]}
    assert rows.keys() == apart.keys()
    means = {name: float(np.mean(values)) for name, values in apart.items()}
    assert [row["error"] for row in printed["methods"]] == pytest.approx(sorted(means.values()))
    best = min((name for name in METHODS if name in means and name != "OA"), key=lambda name: round(means[name], 9))
    assert rows[best]["verdict"] == "best"
    assert printed["best"] == best
    for name, row in rows.items():
        assert row["error"] == pytest.approx(means[name])
        assert row["change"] == pytest.approx(100 * (means[name] / means["UA"] - 1))
        assert row["RI"] == pytest.approx(100 * (means[name] - means["UA"]) / (means[name] + means["UA"]))
        if name not in (best, "OA") and np.ptp(np.subtract(apart[name], apart[best])) > 1e-9:
            p = stats.ttest_rel(apart[name], apart[best]).pvalue
            assert row["p"] == pytest.approx(p)
            assert row["verdict"] == ("worse" if p < 0.05 else "tie")
    assert rows["OA"]["verdict"] == "oracle"


def by_name(printed: str) -> list[str]:
    return [row["method"] for row in json.loads(printed)["methods"]]


def test_a_quiz_on_the_command_line_by_hand(data: Path) -> None:
    answers, truth = data / "quiz_it" / "answer.csv", data / "quiz_it" / "truth.csv"
    printed, _ = run("compare", answers, "--wide", "tasks", "--gold", truth, "--json")
    known = pd.read_csv(truth, index_col="question_id")["truth"]
    read = allalike.read(answers, wide="tasks")
    results = {
        name: discover(read, method=without_gold(METHODS[name]()), gold=truth).truth for name in by_name(printed)
    }
    apart = {name: (known[t["task"]].to_numpy() != t["label"].to_numpy()) * 1.0 for name, t in results.items()}
    check_by_hand(json.loads(printed), apart)
    assert {"UA", "OA", "P-TD", "P-TD-AK", "iP-TD", "D-TD"} <= apart.keys()


@pytest.mark.long
def test_ratings_of_anger_on_the_command_line_by_hand(data: Path, tmp_path: Path) -> None:
    path = data / "snow_emotion" / "anger.standardized.tsv"
    known = pd.read_csv(path, sep="\t").groupby("orig_id")["gold"].first()
    known.to_csv(tmp_path / "gold.csv")
    printed, noted = run("compare", path, "--gold", tmp_path / "gold.csv", "--domain", "real", "--json")
    apart = {}
    for name in by_name(printed):
        truth = discover(path, domain="real", method=without_gold(METHODS[name]()), gold=known.astype(float)).truth
        apart[name] = (truth["label"].to_numpy() - known[truth["task"]].to_numpy()) ** 2
    check_by_hand(json.loads(printed), apart)
    assert np.sqrt(np.mean(apart["UA"])) == pytest.approx(13.7356, abs=1e-3)  # as the source of the data has it
    assert "Recognised: '!amt_worker_ids' is the worker" in noted


@pytest.mark.long
def test_translations_on_the_command_line_by_hand(data: Path, tmp_path: Path) -> None:
    folder = data / "crowdwsa2019" / "data"
    path = folder / "CrowdWSA2019_T1_label_anonymous.tsv"
    gold = pd.read_csv(folder / "CrowdWSA2019_T1_gt.tsv", sep="\t", index_col="sentence")["trueanswer"]
    gold.to_csv(tmp_path / "gold.tsv", sep="\t", header=["label"], index_label="task")
    printed, noted = run("compare", path, "--gold", tmp_path / "gold.tsv", "--domain", "text", "--json")
    apart = {}
    for name in by_name(printed):
        truth = discover(path, domain="text", method=without_gold(METHODS[name]()), gold=gold).truth
        pairs = zip(gold[truth["task"]], truth["label"], strict=True)
        apart[name] = [1 - sentence_gleu([known.split(" ")], label.split(" ")) for known, label in pairs]
    check_by_hand(json.loads(printed), apart)
    assert "Set aside 118 repeated" in noted


def test_rankings_of_dots_by_hand(data: Path) -> None:
    folder = data / "dots_puzz_preflib" / "datasets" / "00024 - dots"
    answers = allalike.read(folder / "00024-00000001.soc")
    labels = answers.encoding.decode(answers.label).tolist()
    order = np.random.default_rng(0).permutation(len(labels))[:600]
    rows = [(place % 10, place // 10, labels[k]) for place, k in enumerate(order)]  # sixty groups of ten voters
    truth = sorted(labels[0], key=int)
    gold = dict.fromkeys(range(60), truth)
    found = compare(rows, domain="ranking", gold=gold)
    pairs = list(combinations(truth, 2))
    apart = {}
    for name in found.outcomes:
        decided = discover(rows, domain="ranking", gold=gold, method=without_gold(METHODS[name]())).truth["label"]
        apart[name] = [np.mean([label.index(a) > label.index(b) for a, b in pairs]) for label in decided]
    check_by_hand({**found.summary, "methods": found.rows}, apart)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers.csv").write_text("worker,task,label\n" + "".join(f"{w},{t},{x}\n" for w, t, x in ROWS))
    (tmp_path / "gold.csv").write_text("task,label\n" + "".join(f"{task},{truth}\n" for task, truth in GOLD.items()))
    (tmp_path / "other.csv").write_text("task,label\nt9,1\n")
    return tmp_path


def test_the_table_on_the_command_line(files: Path) -> None:
    methods = "P-TD-AK(ridge=4),iP-TD(max_iter=1),P-TD(weighting='chance')"
    printed, noted = run("compare", "answers.csv", "--gold", "gold.csv", "--methods", methods, "-o", "new/table.csv")
    assert "20 answers of 5 workers to 4 tasks (real labels" in printed
    lines = [line.split() for line in printed.splitlines()]
    assert lines[3][:2] == ["method", "error"]
    assert lines[4][:5] == ["P-TD-AK(ridge=4)", "9.16", "-37.8", "-23.3", "best"]
    assert ["UA", "14.71", "0.0", "0.0", "tie"] in [line[:5] for line in lines]
    assert "4 tasks with gold do not show a difference" in printed
    assert "P-TD(weighting='chance') failed: weighting is 'chance'" in noted
    assert "limit of rounds, and more may change the weights: iP-TD(max_iter=1)." in noted
    table = pd.read_csv("new/table.csv")
    assert table["method"].tolist()[0] == "P-TD-AK(ridge=4)"
    assert table["error"].tolist()[0] == pytest.approx(9.155, abs=1e-3)
    assert [path.name for path in (files / "new").iterdir()] == ["table.csv"]


def test_without_gold_the_command_shows_who_agrees_with_whom(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["answers.csv", "--methods", "P-TD,P-TD-AK(ridge=4)", "--per-task"]
    monkeypatch.setenv("COLUMNS", "100")
    wide, _ = run("compare", *arguments)
    assert "Mean distance between truths:" in wide
    monkeypatch.setenv("COLUMNS", "30")
    narrow, _ = run("compare", *arguments)
    assert "Mean distance between truths:" not in narrow
    assert "No gold is given (--gold FILE)" in narrow
    record = json.loads(run("compare", *arguments, "--json")[0])
    assert record["agreement"]["same"]["UA"]["UA"] == 1.0
    found = compare(allalike.read("answers.csv").per_task(), methods="P-TD,P-TD-AK(ridge=4)")
    assert record["agreement"]["distance"]["UA"]["P-TD"] == found.agreement["distance"].loc["UA", "P-TD"]


def test_json_is_one_object_and_quiet_is_quiet(files: Path) -> None:
    printed, noted = run("compare", "answers.csv", "--gold", "gold.csv", "--json", "-q", "-o", "t.csv")
    record = json.loads(printed)
    assert (noted, record["file"], record["gold"]["compared"]) == ("", "t.csv", 4)
    assert {"error", "change", "RI", "verdict", "p", "seconds"} <= record["methods"][0].keys()
    assert run("compare", "answers.csv", "-q") == ("", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["answers.csv", "--gold", "other.csv"], "None of the 1 tasks with gold was answered"),
        (["answers.csv", "--gold", "nowhere.csv"], "There is no file nowhere.csv"),
        (["answers.csv", "--methods", "DS"], "DS cannot serve real labels"),
        (["answers.csv", "--methods", "OA"], "Give them with --gold, or leave OA out"),
        (["answers.csv", "-o", "."], "it is a folder, not a file"),
        (["answers.csv", "-o", "gold.csv/t.csv"], "cannot be written"),
    ],
)
def test_a_bad_call_is_one_message_and_writes_nothing(
    files: Path, arguments: list[str], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    before = sorted(path.name for path in files.iterdir())
    with pytest.raises(SystemExit) as stop:
        main(["compare", *arguments])
    printed = capfd.readouterr()
    assert (stop.value.code, printed.out) == (2, "")
    assert message in printed.err
    assert len(printed.err.splitlines()) == 1
    assert sorted(path.name for path in files.iterdir()) == before
