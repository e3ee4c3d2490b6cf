"""No password, token or signature of an address is printed or saved, whatever the command and wherever it is typed."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import allalike
from allalike._credentials import hide_secrets
from allalike.cli.app import app, main
from allalike.errors import AllalikeError
from running.elsewhere import CSV, ROWS
from running.program import call
from running.servers import Web

SECRET = "sesame"
ADDRESSES = (  # nothing listens at this port
    f"postgresql://ada:{SECRET}@127.0.0.1:1/crowd",
    f"postgresql://ada:open {SECRET}/@'w:rd@127.0.0.1:1/crowd",
    f"postgresql://127.0.0.1:1/crowd?password={SECRET}&sslpassword={SECRET}2",
    f"https://ada:{SECRET}@127.0.0.1:1/a.csv?token={SECRET}",
    f"https://127.0.0.1:1/a.csv?X-Amz-Credential={SECRET}%2F1&X-Amz-Signature={SECRET}",
    f"https://127.0.0.1:1/a.csv?sv=1&sig={SECRET}%3D",
    f"host=127.0.0.1 port=1 user=ada password={SECRET}",
)
PATHS = {
    "output",
    "history",
    "label_map",
    "gold",
    "gold_map",
    "work_dir",
    "block_list",
    "prices",
    "since",
    "truth",
    "to",
}
NEEDED = {"files": ["a.csv"], "out": ["out"], "kind": ["task"], "name": ["t1"], "model": ["one-coin"], "names": ["x"]}


def list_calls(words: tuple[str, ...], command: click.Command, value: str) -> Iterator[list[str]]:
    """Yield calls in which this value stands for each argument, and for each option that takes a value."""
    usual = {each.name: NEEDED.get(str(each.name), []) for each in command.params if isinstance(each, click.Argument)}
    for each in command.params:
        given = {**usual, each.name: [value]} if each.name in usual else usual
        called = [*words, *(word for part in given.values() for word in part)]
        if each.name in usual:
            yield called
        elif not isinstance(each, click.Option) or each.is_flag or each.name == "spark_master":  # which starts Spark
            continue
        elif each.name in PATHS:
            yield [*called, each.opts[-1], value]
        elif value in ADDRESSES[:2]:
            yield [*called, f"{each.opts[-1]}={value}"]


COMMANDS: dict[tuple[str, ...], click.Command] = {
    (name, inner) if inner else (name,): each
    for name, command in app.commands.items()
    for inner, each in getattr(command, "commands", {"": command}).items()
}


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_command_prints_a_secret_wherever_it_is_typed(
    words: tuple[str, ...],
    address: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(CSV, encoding="utf-8")
    for called in list_calls(words, COMMANDS[words], address):
        with pytest.raises(SystemExit):
            main(called)
        printed = capfd.readouterr()
        assert SECRET not in printed.out + printed.err, called
        assert "Traceback" not in printed.err, called


def test_no_cluster_and_no_traceback_prints_a_secret(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(CSV, encoding="utf-8")
    for words in (
        ["agreement", "a.csv", "--spark-master", ADDRESSES[0]],
        ["discover", ADDRESSES[1], "-o", ADDRESSES[1]],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "allalike.cli", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, "ALLALIKE_DEBUG": "1"},
        )
        assert done.returncode != 0
        assert SECRET not in done.stdout + done.stderr, words


def test_an_unforeseen_error_is_shown_without_secrets(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(f"{ADDRESSES[0]} and {ADDRESSES[6]} and {SECRET}")

    monkeypatch.setattr(app.commands["list"], "callback", fail)
    for debug in ("", "1"):
        monkeypatch.setenv("ALLALIKE_DEBUG", debug)
        with pytest.raises(SystemExit):
            main(["list", "formats", ADDRESSES[0]] if debug else ["list", "formats"])
        printed = capsys.readouterr().err
        assert f":{SECRET}" not in printed
        assert f"={SECRET}" not in printed


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_error_of_the_library_has_a_secret(address: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "allalike")
    for fail in (
        lambda: allalike.read(address),
        lambda: allalike.read(Path(address)),
        lambda: allalike.load(address),
        lambda: allalike.load(Path(address)),
        lambda: allalike.discover(ROWS, gold=address),
        lambda: allalike.discover(ROWS, history=address),
        lambda: allalike.discover(ROWS, label_map=address),
        lambda: allalike.discover(ROWS, domain=address),
        lambda: allalike.discover(ROWS, method=address),
    ):
        with pytest.raises(AllalikeError) as raised:
            fail()
        assert SECRET not in "".join([str(raised.value), repr(raised.value), *map(str, raised.value.args)])
    assert SECRET not in caplog.text


def test_a_text_without_secrets_stays_as_it_is() -> None:
    for text in (
        "There is no s3://bucket/a.csv.",
        "sqlite:///crowd.db: see https://example.org/a@b/c, C:/Users/ada and ada@example.org",
        "postgresql://host:5432/crowd and ada@example.org",
        "Use domain='real(distance=absolute)', and --task 'a token'.",
    ):
        assert hide_secrets(text) == text


def test_no_secret_of_an_input_is_in_what_is_saved(web: Web, tmp_path: Path) -> None:
    web.files["/secret_a.csv"] = CSV.encode()
    web.files["/secret_gold.csv"] = b"task,truth\nt0,x\nt1,y\n"
    web.files["/secret_map.csv"] = b"from,to\nw,x\n"
    here = {
        name: f"{web.address}/secret_{name}.csv?sig={SECRET}&X-Amz-Signature={SECRET}" for name in ("a", "gold", "map")
    }
    options = ["--gold", here["gold"], "--label-map", here["map"], "--force", "--to", "label-studio"]
    for more in (["--json"], []):
        done = call("discover", here["a"], *options, "-o", "out", *more, folder=tmp_path)
        assert done.returncode == 0, done
        assert SECRET not in done.stdout + done.stderr
    assert {"summary.json", "report.html", "details"} <= {path.name for path in (tmp_path / "out").iterdir()}
    for path in (tmp_path / "out").rglob("*"):
        assert SECRET.encode() not in (path.read_bytes() if path.is_file() else b""), path
