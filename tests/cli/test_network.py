"""No command opens a connection that nobody asked for; and the page is for this computer."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import pytest

from allalike.cli.app import app

ROWS = "worker,task,label\nada,1,x\nbob,1,x\neve,1,y\nada,2,y\nbob,2,y\neve,2,x\n"
CALLS: dict[str, list[list[str]]] = {
    "discover": [
        ["answers.csv", "-o", "out", "--no-report"],
        ["answers.csv", "-o", "more", "--engine", "disk", "--no-report"],
    ],
    "compare": [["answers.csv"]],
    "jury": [["answers.csv", "-o", "jury"]],
    "agreement": [["answers.csv"]],
    "explain": [["out", "task", "1"]],
    "update": [["out", "answers.csv", "--force"]],
    "plan": [["out", "--budget", "2"]],
    "simulate": [["one-coin", "-o", "drawn.csv"]],
    "datasets list": [[]],
    "demo": [[]],  # with a report
    "list": [["methods"], ["domains"], ["rules"], ["formats"], ["models"], ["schemas", "jury"]],
}
ON_THE_NETWORK = {"datasets fetch", "serve"}
WATCH = """
import os, sys
NAMES = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo")
ADDRESSES = ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg")
def watch(event, arguments):
    if event in NAMES:
        note(event, arguments[0])
    elif event in ADDRESSES and isinstance(arguments[1], tuple):  # the address of a socket in a file is a text
        note(event, arguments[1][0])
def note(event, host):
    with open(os.environ["ALLALIKE_WATCHED"], "a", encoding="utf-8") as file:
        file.write(f"{event} {host}\\n")
sys.addaudithook(watch)
"""
ALL_OF_THEM = """
import json, sys
from allalike.cli import main
codes = {}
for call in json.load(open("calls.json")):
    try:
        main(call)
    except SystemExit as stop:
        codes[" ".join(call)] = stop.code
json.dump(codes, open("codes.json", "w"))
"""
FETCH = """
import types, pooch.core
from allalike.cli import main
pooch.core.time = types.SimpleNamespace(sleep=lambda seconds: None)
main()
"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]  # programs that start others


@pytest.fixture
def watched(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which each Python, from its start, notes down what it does on the network."""
    (tmp_path / "watch").mkdir()
    (tmp_path / "watch" / "sitecustomize.py").write_text(WATCH)
    (tmp_path / "answers.csv").write_text(ROWS)
    (tmp_path / "watched.txt").touch()
    path = os.pathsep.join([str(tmp_path / "watch"), *filter(None, [os.environ.get("PYTHONPATH")])])
    own = {"PYTHONPATH": path, "ALLALIKE_WATCHED": str(tmp_path / "watched.txt"), "ALLALIKE_DATA": str(tmp_path)}
    folders = dict.fromkeys(("XDG_CACHE_HOME", "LOCALAPPDATA", "TMPDIR", "TEMP", "TMP"), str(tmp_path))
    return {**os.environ, **own, **folders}


def seen(folder: Path) -> set[str]:
    return set((folder / "watched.txt").read_text(encoding="utf-8").splitlines())


def test_no_command_opens_a_connection_unless_it_fetches(tmp_path: Path, watched: dict[str, str]) -> None:
    groups = {name: getattr(command, "commands", [""]) for name, command in app.commands.items()}
    names = {f"{name} {inner}".strip() for name, inners in groups.items() for inner in inners}
    assert {*CALLS, *ON_THE_NETWORK} == names, "Say here how a new command is called."
    calls = [[*name.split(), *arguments] for name, each in CALLS.items() for arguments in each]
    (tmp_path / "calls.json").write_text(json.dumps(calls))
    done = subprocess.run(
        [sys.executable, "-c", ALL_OF_THEM], cwd=tmp_path, env=watched, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    codes = json.loads((tmp_path / "codes.json").read_text())
    refused = {call for call, code in codes.items() if code}
    assert refused == {call for call in codes if "://" in call}, done.stderr
    assert len(codes) == len(calls)
    assert (tmp_path / "allalike-demo" / "report.html").exists()
    assert seen(tmp_path) == set()


def test_what_fetches_is_seen_to_do_so(tmp_path: Path, watched: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        mirror = f"http://127.0.0.1:{closed.getsockname()[1]}"
    command = [sys.executable, "-c", FETCH, "datasets", "fetch", "snow_rte"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**watched, "ALLALIKE_MIRROR": mirror}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert "socket.connect 127.0.0.1" in seen(tmp_path)


def test_of_an_address_nobody_but_its_server_is_asked(tmp_path: Path, watched: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/answers.csv"
    command = [sys.executable, "-c", "from allalike.cli import main; main()", "discover", address, "-q"]
    done = subprocess.run(command, cwd=tmp_path, env=watched, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert {each.rpartition(" ")[2] for each in seen(tmp_path)} == {"127.0.0.1"}


def test_the_page_listens_to_this_computer_and_asks_nobody(tmp_path: Path, watched: dict[str, str]) -> None:
    command = [sys.executable, "-c", "from allalike.cli import main; main()", "serve", "answers.csv", "--no-browser"]
    with subprocess.Popen(command, cwd=tmp_path, env=watched, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            address = program.stdout.readline().split()[-1]
            urlopen(f"{address}run", data=b"{}").close()
            while (state := json.load(urlopen(f"{address}state")))["progress"]:
                time.sleep(0.02)
            assert state["result"]["facts"][0] == "6 answers"
        finally:
            program.kill()
    assert seen(tmp_path) == {"socket.bind 127.0.0.1"}
