"""Truths that tools mark in their exports: gold by one word, and no answers then."""

import json
from pathlib import Path
from typing import Any

import pytest

import allalike
from allalike.cli import main
from allalike.errors import GoldError
from files.tool_exports import annotation, choice, result, write


def project(path: Path, *truths: str | None, n: int = 6) -> Path:
    """Write a project of Label Studio in which zoe's annotations of the first tasks are marked as ground truth."""
    tasks = [
        {
            "id": task,
            "data": {"text": str(task)},
            "annotations": [
                *(annotation(who, choice("xy"[task % 2])) for who in ("ada", "bob", "eve")),
                *(annotation("zoe", choice(known), ground_truth=True) for known in truths[task : task + 1] if known),
            ],
        }
        for task in range(n)
    ]
    return write(path, tasks)


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_ground_truth_of_label_studio_is_gold_and_no_answer(engine: str, tmp_path: Path) -> None:
    path = project(tmp_path / "p.json", "x", "x", "x")
    plain = allalike.discover(path, engine=engine, method="UA")
    assert (plain.summary["answers"], plain.summary["workers"], plain.run.n_gold) == (21, 4, 0)
    assert any("count as answers unless gold='export' is given" in remark for remark in plain.summary["messages"])
    found = allalike.discover(path, gold="export", engine=engine, method="UA")
    assert (found.summary["answers"], found.workers["worker"].tolist()) == (18, ["ada", "bob", "eve"])
    assert found.summary["gold"]["tasks"] == 3
    assert found.summary["gold"]["error"] == pytest.approx(1 / 3)
    assert "3 annotations are marked as ground truth; they are gold labels." in found.summary["messages"]


def test_marked_spans_boxes_and_sets_are_gold_too(tmp_path: Path) -> None:
    span = result("labels", {"start": 0, "end": 3, "labels": ["PER"]})
    tasks = [
        {"id": 1, "annotations": [annotation(1, span), annotation(2, span), annotation(9, span, ground_truth=True)]},
        {"id": 2, "annotations": [annotation(1, span), annotation(2, span), annotation(9, ground_truth=True)]},
    ]
    found = allalike.discover(write(tmp_path / "spans.json", tasks), gold="export", domain="spans", method="UA")
    assert found.summary["gold"]["tasks"] == 2
    assert found.summary["gold"]["error"] == pytest.approx(0.5)
    sets = [
        {
            "id": 1,
            "annotations": [
                annotation(1, choice("a", "b")),
                annotation(2, choice("a")),
                annotation(9, choice("b", "a"), ground_truth=True),
            ],
        }
    ]
    read = allalike.discover(write(tmp_path / "sets.json", sets), gold="export", domain="set", method="UA")
    assert read.summary["gold"]["tasks"] == 1


def test_golden_columns_of_toloka_are_gold(tmp_path: Path) -> None:
    rows = ["INPUT:url\tOUTPUT:animal\tOUTPUT:sure\tGOLDEN:animal\tASSIGNMENT:worker_id"]
    rows += [f"{n}.jpg\t{said}\t1\t{'cat' if n < 2 else ''}\t{who}" for n in range(4) for who, said in DRAWN.items()]
    path = write(tmp_path / "pool.tsv", "\n".join(rows))
    found = allalike.discover(path, question="animal", gold="export", method="UA")
    assert (found.summary["gold"]["tasks"], found.summary["answers"]) == (2, 12)
    assert found.summary["gold"]["error"] == 0
    with pytest.raises(GoldError, match="no marked gold labels"):
        allalike.discover(path, question="sure", gold="export")


DRAWN = {"ada": "cat", "bob": "cat", "eve": "dog"}


@pytest.mark.parametrize("mark", ["gold_standard", "expert"])
def test_classifications_of_experts_on_zooniverse_are_gold_and_no_answers(mark: str, tmp_path: Path) -> None:
    rows = [f"classification_id,user_name,workflow_id,{mark},annotations,subject_ids"]
    cell = '"[{{""task"": ""T0"", ""value"": ""{}""}}]"'
    rows += [f"{n}{who},{who},7,,{cell.format(said)},s{n}" for n in range(4) for who, said in DRAWN.items()]
    rows += [f"9{n},zoe,7,true,{cell.format('dog')},s{n}" for n in range(2)]
    path = write(tmp_path / "classifications.csv", "\n".join(rows))
    assert allalike.discover(path, method="UA").summary["answers"] == 14
    found = allalike.discover(path, gold="export", method="UA")
    assert (found.summary["answers"], found.summary["gold"]["tasks"], found.summary["gold"]["error"]) == (12, 2, 1.0)


def test_a_saved_result_finds_marked_truths_again_and_more_of_them_in_an_update(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    project(Path("p.json"), "x", "y")
    Path("export").mkdir()  # which is no input
    call = ["discover", "p.json", "--gold", "export", "--method", "UA", "-o", "export", "--force", "--no-report"]
    with pytest.raises(SystemExit) as stop:
        main(call)
    assert stop.value.code == 0, capfd.readouterr().err
    summary = json.loads(Path("export/summary.json").read_text(encoding="utf-8"))
    assert summary["gold"]["tasks"] == 2
    with pytest.raises(SystemExit) as stop:
        main(["explain", "export", "task", "0"])
    assert stop.value.code == 0, capfd.readouterr().err
    first = allalike.discover("p.json", gold="export", method="UA")
    more: Any = json.loads(project(Path("q.json"), *[None] * 6, "x", n=8).read_text(encoding="utf-8"))[6:]
    grown = first.update(write(Path("more.json"), more))
    assert (grown.run.n_gold, grown.summary["answers"]) == (3, 18 + 6)
    assert first.update(write(Path("none.json"), json.loads(Path("more.json").read_text())[1:])).run.n_gold == 2
