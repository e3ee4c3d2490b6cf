"""Gates: agreement and errors that are not as they must be end the program with code 3."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from allalike.cli import main

SAID = {"ada": "xyxyxyxxyyxy", "bob": "xyxyxyxxyxxy", "eve": "xxxyxyyxxyxy"}


@pytest.fixture
def crowd(tmp_path: Path) -> str:
    rows = [(who, f"t{task}", x, "ab"[task % 2], x) for who, said in SAID.items() for task, x in enumerate(said)]
    table = pd.DataFrame(rows, columns=["worker", "task", "label", "topic", "again"])
    table.to_csv(tmp_path / "in.csv", index=False)
    gold = {"task": [f"t{task}" for task in range(8)], "label": list("xyxyyyxx")}
    pd.DataFrame(gold).to_csv(tmp_path / "gold.csv", index=False)
    return str(tmp_path)


def run(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, list[str]]:
    with pytest.raises(SystemExit) as stop:
        main([*arguments, "-q", "--force"])
    said = capfd.readouterr()
    assert said.out == ""
    return stop.value.code, said.err.splitlines()


def test_agreement_below_what_it_must_be_ends_with_code_3_and_its_limits(
    crowd: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(capfd, "agreement", f"{crowd}/in.csv", "--fail-under", "0.1") == (0, [])
    code, said = run(capfd, "agreement", f"{crowd}/in.csv", "--fail-under", "0.95")
    assert code == 3
    assert len(said) == 1
    assert "alpha is 0.562, " in said[0]
    assert "below 0.95 (limits 0." in said[0]


def test_each_group_that_agrees_too_little_is_named(crowd: str, capfd: pytest.CaptureFixture[str]) -> None:
    code, said = run(capfd, "agreement", f"{crowd}/in.csv", "--by", "topic", "--fail-under", "0.99")
    assert code == 3
    assert [line.split(" is ")[0] for line in said] == [
        "allalike: Krippendorff's alpha of a",
        "allalike: Krippendorff's alpha of b",
    ]


def test_an_error_above_what_it_may_be_ends_with_code_3_after_all_is_written(
    crowd: str, capfd: pytest.CaptureFixture[str]
) -> None:
    call = ["discover", f"{crowd}/in.csv", "-o", f"{crowd}/out", "--gold", f"{crowd}/gold.csv", "--gold-map", "same"]
    assert run(capfd, *call, "--fail-over", "0.5") == (0, [])
    code, said = run(capfd, *call, "--fail-over", "0.1")
    assert code == 3
    assert said == ["allalike: the error is 0.125, above 0.1 (by 8 known truths)."]
    assert Path(crowd, "out", "truth.csv").exists()


def test_a_gate_for_errors_needs_known_truths(crowd: str, capfd: pytest.CaptureFixture[str]) -> None:
    code, said = run(capfd, "discover", f"{crowd}/in.csv", "-o", f"{crowd}/out", "--fail-over", "0.1")
    assert code == 2
    assert said == ["allalike: --fail-over 0.1 needs known truths. Name their file with --gold."]
    assert not Path(crowd, "out").exists()
