"""The JSON that commands print and write is what its schema says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator

from allalike.cli import main
from allalike.cli.app import app
from allalike.telling.schemas import SCHEMAS, make_schema
from files.csv_exports import Sheets
from files.survey_exports import SURVEYS

SAID = {
    "ada": "xyxyxyxxyyxyxyxyxyxy",
    "bob": "xyxyxyxxyxxyxyxyxyyy",
    "eve": "xxxyxyxxxyxyxxxyxyxy",
    "kim": "xyyxxxyyyxxyxyxyxyxx",
}


@pytest.fixture
def crowd(tmp_path: Path) -> str:
    rows = [(who, f"t{task}", x, "ab"[task % 2], x) for who, said in SAID.items() for task, x in enumerate(said)]
    table = pd.DataFrame(rows, columns=["worker", "task", "label", "topic", "again"])
    table.to_csv(tmp_path / "in.csv", index=False)
    gold = pd.DataFrame({"task": [f"t{task}" for task in range(6)], "label": list("xyxyxy")})
    gold.to_csv(tmp_path / "gold.csv", index=False)
    pd.DataFrame({"worker": list(SAID), "price": np.arange(4)}).to_csv(tmp_path / "prices.csv", index=False)
    return str(tmp_path / "in.csv")


def run(capfd: pytest.CaptureFixture[str], *arguments: str) -> Any:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    assert stop.value.code == 0
    return json.loads(capfd.readouterr().out)


def check(record: Any, command: str) -> None:
    schema = make_schema(command)
    Draft202012Validator(schema).validate(record)
    fitting = [form for form in schema.get("anyOf", [schema]) if Draft202012Validator(form).is_valid(record)]
    assert min((set(record) - set(form["properties"]) for form in fitting), key=len) == set()  # all has a name
    assert record["schema"] == f"allalike/{command}/1"


def test_every_schema_is_one(capfd: pytest.CaptureFixture[str]) -> None:
    for command in SCHEMAS:
        Draft202012Validator.check_schema(run(capfd, "schema", command))
    with pytest.raises(SystemExit) as stop:
        main(["schema"])
    assert stop.value.code == 0
    assert capfd.readouterr().out.split() == [f"allalike/{command}/1" for command in SCHEMAS]


@pytest.mark.parametrize(
    ("command", "further"),
    [
        ("discover", []),
        ("discover", ["--gold", "gold.csv", "--min-confidence", "1"]),
        ("discover", ["--method", "UA", "--domain", "text"]),
        ("discover", ["--label", "label", "--label", "again"]),
        ("compare", ["--methods", "UA,P-TD"]),
        ("compare", ["--methods", "UA,P-TD", "--gold", "gold.csv"]),
        ("agreement", []),
        ("agreement", ["--by", "topic"]),
        ("jury", []),
        ("jury", ["--good", "x"]),
        (
            "jury",
            ["--gold", "gold.csv", "--good", "x", "--by", "topic", "--prices", "prices.csv", "--abstain-below", "0.9"],
        ),
        ("jury", ["--gold", "gold.csv", "--good", "x", "--gold-drawn", "truth"]),
    ],
)
def test_what_a_command_prints_fits_its_schema(
    crowd: str, command: str, further: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    more = [str(tmp_path / each) if each.endswith(".csv") else each for each in further]
    where = ["-o", str(tmp_path / "out")] if command in ("discover", "jury") else []
    check(run(capfd, command, crowd, *more, *where, "--json", "--force"), command)


def test_what_is_saved_names_its_schema_and_explanations_and_drift_fit_theirs(
    crowd: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    for command in ("jury", "discover"):
        run(capfd, command, crowd, "-o", out, "--json")
        check(json.loads((tmp_path / "out" / "summary.json").read_text()), command)
    for kind, name in (("task", "t3"), ("worker", "eve"), ("worker", "kim")):
        check(run(capfd, "explain", out, kind, name, "--json"), "explain")
    run(capfd, "jury", crowd, "-o", out, "--good", "x", "--json")
    drift = run(capfd, "jury", crowd, "-o", out, "--good", "x", "--since", out, "--json")
    check(drift, "jury")
    assert drift["panel"]["drift"]["drifted"] == []


def test_what_readers_note_of_surveys_and_known_truths_has_a_name(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    survey = Sheets(tmp_path)(*SURVEYS["qualtrics"](), name="survey.csv")
    found = run(capfd, "discover", str(survey), "-o", str(tmp_path / "a"), "--method", "UA", "--json", "--force")
    check(found, "discover")
    assert found["careless"]
    rows = [(who, f"t{task}", x, "xy"[task % 2]) for who, said in SAID.items() for task, x in enumerate(said)]
    pd.DataFrame(rows, columns=["worker", "task", "label", "gold"]).to_csv(tmp_path / "gold.csv", index=False)
    found = run(capfd, "discover", str(tmp_path / "gold.csv"), "-o", str(tmp_path / "b"), "--json", "--safe-csv")
    check(found, "discover")
    assert found["gold_column"] == "gold"
    check(json.loads((tmp_path / "b" / "summary.json").read_text()), "discover")
    check(run(capfd, "next", str(tmp_path / "b"), "--json"), "next")
    more = tmp_path / "more.csv"
    more.write_text("worker,task,label\nzoe,t1,y\nzoe,t2,x\n")
    check(run(capfd, "update", str(tmp_path / "b"), str(more), "--json"), "update")


def test_public_data_and_drawn_crowds_fit_their_schemas(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    check(run(capfd, "datasets", "list", "--json"), "datasets")
    check(run(capfd, "datasets", "show", "snow_rte", "--json"), "datasets")
    check(run(capfd, "simulate", "one-coin", "-o", str(tmp_path / "drawn.csv"), "--json"), "simulate")


def test_every_command_that_prints_json_has_a_schema() -> None:
    groups = {name: getattr(command, "commands", {"": command}) for name, command in app.commands.items()}
    told = {name for name, parts in groups.items() for part in parts.values() if "as_json" in list_options(part)}
    assert told == set(SCHEMAS)


def list_options(command: Any) -> list[str]:
    return [option.name for option in command.params]
