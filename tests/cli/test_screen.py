"""What `discover` prints fits into 80 columns, and what it writes is no formula of a spreadsheet."""

import csv
import io
import json
import shlex
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import allalike
from allalike import Engine
from allalike._core.system.tables import guard_table, guard_text, unguard_text
from allalike._core.text_format import count
from allalike.cli import console, print_result
from allalike.cli.console import Line
from allalike.cli.demo import draw_crowd
from allalike.errors import DataWarning
from allalike.history import read_history
from allalike.result.quality import find_constant_workers
from crowds import samples
from running.program import call

PATHS = [Path("out", name) for name in ("truth.csv", "next_tasks.csv", "report.html")]
TYPED = ["discover", "my answers.csv", "--domain", "categorical"]


@pytest.fixture(scope="module")
def crowd() -> allalike.Result:
    return allalike.discover(draw_crowd(0)[0])


def texts(result: allalike.Result, **options: object) -> list[str]:
    lines = print_result.draw_screen(result, PATHS, **{"typed": TYPED, **options})  # type: ignore[arg-type]
    return [line.text + line.flags for line in lines]


def rows(said: dict[str, str]) -> list[tuple[str, str, str]]:
    return [(worker, f"t{task}", label) for worker, labels in said.items() for task, label in enumerate(labels)]


def test_a_result_fits_on_a_screen_of_80_columns(crowd: allalike.Result) -> None:
    lines = texts(crowd)
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 26


def test_ids_are_never_cut_or_broken() -> None:
    long = "a worker whose name has spaces " * 4 + "end"
    said = {long: "xyxyxyxyxy", "bob": "xyxyxyxyxy", "eve": "xyxyxyxyxx", "kim\n": "yxyxyxyxyx"}
    lines = texts(allalike.discover(rows(said)))
    assert f"  {long}" in lines
    assert all(long in line for line in lines if "whose name" in line)
    assert any(line.startswith("  kim\\n") for line in lines)


def test_the_next_commands_are_complete(crowd: allalike.Result) -> None:
    lines = texts(crowd)
    commands = [
        shlex.split(line, comments=True) for line in lines[lines.index("Next steps") + 1 :] if line.startswith("  ")
    ]
    typed = ["allalike", *TYPED]
    assert any(command[1:] == ["out/report.html"] for command in commands)
    assert [*typed, "more.csv"] in commands  # for nothing was saved
    assert [*typed, "--gold", "gold.csv"] in commands
    assert not any("explain" in command for command in commands)


@pytest.mark.parametrize("method", ["auto", "P-TD"])
@pytest.mark.parametrize("said", ["ada1x", "ada1x ada2y", "ada1x bob2x", "ada1x bob1x ada2x bob2x"])
def test_little_data_says_what_is_known_of_it(said: str, method: str) -> None:
    answers = [(each[:3], each[3], each[4]) for each in said.split()]
    with pytest.warns(DataWarning):
        lines = texts(allalike.discover(answers, domain="categorical", method=method))
    assert lines[0].startswith(f"{count(len(answers), 'answer')} by ")
    assert not any("nan" in line for line in lines)


@pytest.mark.parametrize("method", ["auto", "P-TD"])
@pytest.mark.parametrize("domain", allalike.DOMAINS)
def test_every_kind_of_label_fits(domain: str, method: str) -> None:
    result = allalike.discover(samples.crowd(domain, seed=1, n=4, m=9), domain=samples.kind(domain), method=method)
    assert max(map(len, texts(result))) <= 80


def test_bars_are_ascii_if_they_must(crowd: allalike.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "ascii"))
    said = "\n".join(texts(crowd))
    assert "########" in said
    assert said.isascii()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    lines = [Line("Next:", bold=True), Line("ada  ", "few\x1b[2J")]

    def printed(stream: io.StringIO) -> str:
        monkeypatch.setattr(sys, "stdout", stream)
        console.show(lines)
        return stream.getvalue()

    assert printed(io.StringIO()) == "Next:\nada  few\\u001b[2J\n"
    assert printed(Terminal()) == "\x1b[1mNext:\x1b[0m\nada  \x1b[31mfew\\u001b[2J\x1b[0m\n"
    monkeypatch.setenv("NO_COLOR", "1")
    assert printed(Terminal()) == "Next:\nada  few\\u001b[2J\n"


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_only_a_worker_who_always_says_what_others_do_not_is_monotonous(engine: str) -> None:
    said = {"ada": "xyzxyzxyzx", "bob": "xyzxyzxyzz", "eve": "zzzzzzzzzz", "kim": "zzz", "lea": "yzxxyzxyzx"}
    assert find_constant_workers(allalike.discover(rows(said), engine=engine).run) == {2: "z"}
    common = {"ada": "xxxxxxxxxxxxxxxxxxxy", "bob": "xxxxxxxxxxxxxxxxxxyx", "eve": "xxxxxxxxxxxxxxxxxxxx"}
    assert find_constant_workers(allalike.discover(rows(common), engine=engine).run) == {}


FORMULAS = [
    *[("=ada", "@t1", "=1+1"), ("bob", "@t1", "=1+1"), ("+eve", "@t1", "-1"), ("=ada", "'=t2", "-1")],
    *[("bob", "'=t2", "-1"), ("+eve", "-t3", "-x"), ("bob", "-t3", "-x"), ("=ada", "-t3", "-1")],
]
SAFE_TASKS = {"'@t1", "''=t2", "'-t3"}


def cells(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_texts_are_written_as_they_came_unless_they_shall_be_safe(tmp_path: Path, engine: Engine) -> None:
    result = allalike.discover(FORMULAS, domain="categorical", engine=engine)
    result.save(tmp_path / "plain")
    assert {row[0] for row in cells(tmp_path / "plain" / "truth.csv")[1:]} == {"@t1", "'=t2", "-t3"}
    result.save(tmp_path / "safe", safe_csv=True, probabilities=True)
    folder = tmp_path / "safe"
    truth = {row[0]: row[1] for row in cells(folder / "truth.csv")[1:]}
    assert truth == {"'@t1": "'=1+1", "''=t2": "-1", "'-t3": "'-x"}
    assert [row[0] for row in cells(folder / "workers.csv")] == ["worker", "'+eve", "'=ada", "bob"]
    assert {row[0] for row in cells(folder / "details" / "next_tasks.csv")[1:]} == SAFE_TASKS
    assert cells(folder / "details" / "probabilities.csv")[0] == ["task", "-1", "'-x", "'=1+1"]
    for path in folder.rglob("*.csv"):
        assert not [cell for row in cells(path) for cell in row if guard_text(cell) != cell and cell[0] != "'"]
    assert json.loads((folder / "summary.json").read_text())["safe_csv"] is True


def test_the_tables_of_a_panel_are_safe_too(tmp_path: Path) -> None:
    allalike.jury(FORMULAS, domain="categorical").save(tmp_path / "out", safe_csv=True)
    assert [row[0] for row in cells(tmp_path / "out" / "judges.csv")][1:] == ["'+eve", "'=ada", "bob"]


def test_a_history_that_is_safe_knows_the_same_workers(tmp_path: Path) -> None:
    result = allalike.discover(FORMULAS, domain="categorical")
    result.save(tmp_path, safe_csv=True)
    known = read_history(tmp_path / "workers.csv")
    assert known.of_workers(["=ada", "+eve"], most=1.0).answers.tolist() == [3.0, 2.0]


def test_the_program_says_it_and_explains_the_result_by_its_ids(tmp_path: Path) -> None:
    pd.DataFrame(FORMULAS, columns=["worker", "task", "label"]).to_csv(tmp_path / "a.csv", index=False)
    how = ("--domain", "categorical", "--no-report", "--force")
    done = call("discover", "a.csv", "-o", "out", "--safe-csv", *how, folder=tmp_path)
    assert done.returncode == 0
    assert "apostrophe (--safe-csv)" in done.stderr
    assert call("explain", "out", "worker", "=ada", folder=tmp_path).returncode == 0
    assert call("discover", "a.csv", "--safe-csv", "--format", "parquet", *how, folder=tmp_path).returncode == 2


@given(st.text(alphabet="'=+-@\t\r\nx1.e＝ ", max_size=6))  # noqa: RUF001
@settings(max_examples=50)
@example("-1.5e-3")
@example("+.5")
@example("-1\n")
def test_what_is_guarded_is_no_formula_and_comes_back(text: str) -> None:
    guarded = guard_text(text)
    assert unguard_text(guarded) == text
    assert guarded[:1] not in set("=+-@\t\r\n＝") or float(guarded) is not None  # noqa: RUF001
    assert guard_table(pa.table({"a": [text]}))["a"].to_pylist() == [guarded]
