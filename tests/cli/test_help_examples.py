"""Every example in every `--help` works: commands, and values of options."""

import re
import shlex
import shutil
from pathlib import Path

import click
import pytest

from allalike.cli.app import app
from files.documented import prepare
from running.program import call

COMMANDS = {name: command for name, command in app.commands.items() if name != "datasets"}
ASIDE = ("--spark-master", "--safe-csv")  # a cluster, and a text that a table may have
VALUE = re.compile(r"such as (?:--\w+ )?((?:'[^']*'|[^\s']+?)(?: or '[^']*')?)(?=[.;]? |[.;]?$)")
ARGUMENTS = {
    "explain": "allalike-out task t1",
    "plan": "allalike-out",
    "simulate": "one-coin -o drawn.csv",
    "update": "allalike-out week2.csv",
}
INPUTS = {  # where an example is not about any answers
    "--abstain-label": ["numbers.csv"],
    "--domain real": ["numbers.csv"],
    "--fail-above": ["today.csv --gold gold.csv"],
    "--fail-under 0.9": ["today.csv --positive pass"],
    "--fields": ["books.csv"],
    "--method": ["answers.csv", "numbers.csv"],
    "--methods": ["answers.csv", "numbers.csv"],
    "--include": ["questions.csv --wide tasks"],
    "--price 0.05": ["allalike-out --budget 1"],
    "--price": ["models.csv --price gpt-5=0.001 --price gpt-6=0.001 --price gpt-7=0"],
    "--sample": ["runs.csv"],
    "--verdicts": ["pairs.csv --order shown --verdicts-name answers --sample epoch"],
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files and the saved results that examples name."""
    folder = tmp_path_factory.mktemp("prepared")
    prepare(folder, "jury")
    rows = [(who, task) for who in range(4) for task in range(12)]
    tables = {
        "answers.csv": ["worker,task,label", *(f"w{who},t{task},{'abcd'[task % 4]}" for who, task in rows)],
        "numbers.csv": ["worker,task,label", *(f"w{who},t{task},{task + who / 9}" for who, task in rows), "w1,t99,-1"],
        "books.csv": ["worker,task,name,year", *(f"w{who},t{task},Title {task},{1900 + task}" for who, task in rows)],
        "questions.csv": ["task,Q1,Q2,Q3,note", *(f"t{task},x,{'xy'[task % 2]},x,so" for task in range(12))],
        "models.csv": ["worker,task,label", *(f"gpt-{4 + who},t{task},{'xy'[task % 2]}" for who, task in rows)],
    }
    for name, lines in tables.items():
        (folder / name).write_text("\n".join(lines), encoding="utf-8")
    run("discover week1.csv --no-report", folder)
    run("jury earlier.csv --positive pass -o yesterday --no-report", folder)
    return folder


@pytest.fixture
def folder(prepared: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(prepared, tmp_path, dirs_exist_ok=True))


def run(line: str, folder: Path) -> None:
    parts = [sorted(map(str, folder.glob(part))) if "*." in part else [part] for part in shlex.split(line)]
    done = call(*(word for part in parts for word in part), folder=folder)
    assert done.returncode in ((0, 3) if "--fail" in line else (0,)), f"{line}\n{done.stderr}"


def list_commands() -> list[str]:
    """List the commands below and within help texts; those that need a file or a folder name it."""
    found = []
    for command in (app, *COMMANDS.values()):
        found += [line for line in (command.epilog or "").splitlines() if line.startswith("allalike ")]
        options = [getattr(option, "help", None) or "" for option in command.params]
        for text in (command.help or "", *options):
            found += re.findall(r"'(allalike (?:\w+ \S+?|[a-z]+s))'", " ".join(text.split()))
    return list(dict.fromkeys(found))


def list_values() -> list[tuple[str, str, str]]:
    """List the values of options, each with the first command that has it."""
    found: dict[tuple[str, str], str] = {}
    for name, command in COMMANDS.items():
        for option in (each for each in command.params if isinstance(each, click.Option)):
            flag = option.opts[-1]
            for values in VALUE.findall(option.help or "") if flag not in ASIDE else ():
                for value in values.split(" or "):
                    found.setdefault((flag, value.strip("'").removeprefix(f"{flag}=")), name)
    return [(name, flag, value) for (flag, value), name in found.items()]


@pytest.mark.parametrize("line", list_commands())
def test_every_command_that_is_shown_works(line: str, folder: Path) -> None:
    run(line.removeprefix("allalike "), folder)


@pytest.mark.parametrize(("command", "flag", "value"), list_values())
def test_every_value_that_is_shown_works(command: str, flag: str, value: str, folder: Path) -> None:
    for words in INPUTS.get(f"{flag} {value}") or INPUTS.get(flag) or [ARGUMENTS.get(command, "answers.csv --force")]:
        run(f"{command} {words} {flag}={shlex.quote(value)}", folder)


def test_examples_are_found() -> None:
    assert "allalike list domains" in list_commands()
    assert {"--method", "--methods", "--domain", "--price", "--population"} <= {flag for _, flag, _ in list_values()}
