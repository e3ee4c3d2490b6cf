"""The JSON that commands print and write is what its schema says."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from jsonschema import Draft202012Validator

from allalike.cli.app import app
from allalike.cli.schemas import SCHEMAS, make_schema
from files.csv_exports import Sheets
from files.survey_exports import SURVEYS
from running.program import call

SAID = {
    "ada": "xyxyxyxxyyxyxyxyxyxy",
    "bob": "xyxyxyxxyxxyxyxyxyyy",
    "eve": "xxxyxyxxxyxyxxxyxyxy",
    "kim": "xyyxxxyyyxxyxyxyxyxx",
}


@pytest.fixture
def crowd(tmp_path: Path) -> Path:
    """Write answers, gold and prices; the answers have columns of topics, other labels and gold."""
    rows = [
        (who, f"t{task}", label, "ab"[task % 2], label, "xy"[task % 2])
        for who, labels in SAID.items()
        for task, label in enumerate(labels)
    ]
    table = pd.DataFrame(rows, columns=["worker", "task", "label", "topic", "again", "gold"])
    table.to_csv(tmp_path / "known.csv", index=False)
    table.drop(columns="gold").to_csv(tmp_path / "in.csv", index=False)
    gold = pd.DataFrame({"task": [f"t{task}" for task in range(6)], "label": list("xyxyxy")})
    gold.to_csv(tmp_path / "gold.csv", index=False)
    pd.DataFrame({"worker": list(SAID), "price": range(4)}).to_csv(tmp_path / "prices.csv", index=False)
    (tmp_path / "more.csv").write_text("worker,task,label\nzoe,t1,y\nzoe,t2,x\n", encoding="utf-8")
    Sheets(tmp_path)(*SURVEYS["qualtrics"](), name="survey.csv")
    return tmp_path


def run(folder: Path, line: str) -> Any:
    done = call(*line.split(), "--json", folder=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check(record: Any, command: str) -> None:
    schema = make_schema(command)
    Draft202012Validator(schema).validate(record)
    forms = (
        [schema["$defs"][each["$ref"].rpartition("/")[2]] for each in schema["anyOf"]]
        if "anyOf" in schema
        else [schema]
    )
    fitting = [form for form in forms if Draft202012Validator({**form, "$defs": schema["$defs"]}).is_valid(record)]
    assert min((set(record) - set(form["properties"]) for form in fitting), key=len) == set()  # all has a name
    assert record["schema"] == f"allalike/{command}/2"


def test_schemas_are_listed_and_valid(tmp_path: Path) -> None:
    groups = {name: getattr(command, "commands", {"": command}) for name, command in app.commands.items()}
    parts = [(name, {option.name for option in part.params}) for name, each in groups.items() for part in each.values()]
    assert {name for name, options in parts if "as_json" in options} >= set(SCHEMAS) - {"error"}
    assert call("list", "schemas", folder=tmp_path).stdout.split() == [f"allalike/{command}/2" for command in SCHEMAS]
    for command in SCHEMAS:
        Draft202012Validator.check_schema(json.loads(call("list", "schemas", command, folder=tmp_path).stdout))


@pytest.mark.parametrize("line", ["discover none.csv", "discover in.csv --gold none.csv", "jury none.csv"])
def test_an_error_is_json_too(tmp_path: Path, line: str) -> None:
    (tmp_path / "in.csv").write_text("worker,task,label\nada,1,[1]\nbob,1,[2]\n")
    done = call(*line.split(), "--json", folder=tmp_path)
    assert done.returncode == 2
    check(json.loads(done.stdout), "error")


@pytest.mark.parametrize(
    "line",
    [
        "discover in.csv",
        "discover in.csv --gold gold.csv --min-confidence 1",
        "discover in.csv --method UA --domain text --force",
        "discover in.csv --label label --label again",
        "discover survey.csv --method UA --force",
        "discover known.csv --safe-csv",
        "jury in.csv",
        "jury in.csv --positive x",
        "jury in.csv --gold gold.csv --positive x --by topic --prices prices.csv --min-confidence 0.9",
        "jury in.csv --gold gold.csv --positive x --gold-drawn truth",
    ],
)
def test_what_a_command_prints_fits_its_schema(crowd: Path, line: str) -> None:
    command = line.split()[0]
    check(run(crowd, f"{line} -o out" if command in ("discover", "jury") else line), command)


def test_what_is_saved_fits_its_schema_and_so_does_what_is_made_of_it(crowd: Path) -> None:
    for command in ("jury", "discover"):
        run(crowd, f"{command} in.csv -o out")
        check(json.loads((crowd / "out" / "summary.json").read_text()), command)
    check(run(crowd, "update out more.csv"), "update")
    run(crowd, "jury in.csv -o out --positive x")
    drift = run(crowd, "jury in.csv -o out --positive x --baseline out")
    check(drift, "jury")
    assert drift["panel"]["drift"]["drifted"] == []
