"""The commands of a report: pasted into a shell in the same folder, they do what was done, with one more option."""

from __future__ import annotations

import html
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import allalike
from allalike.report.page import render
from allalike.serve.work import perform
from crowds import samples
from running.program import call

OPTIONS = shlex.split(
    "--wide tasks --skip 'the note' --na - --missing drop --domain 'categorical(classes=4)'"
    " --method 'auto(use_gold=False)' --seed 3 --min-confidence 0.5 --safe-csv --probabilities -o 'my results'"
)


def read_commands(page: str) -> list[str]:
    return [html.unescape(each) for each in re.findall(r'<p class="command"><code>(.*?)</code>', page)]


def write_matrix(path: Path) -> None:
    """Write a matrix of answers to tasks, two of whose workers copy, with a column that has no answers."""
    rows = samples.crowd("categorical", seed=3, n=6, m=40)
    said: dict[object, dict[object, object]] = {}
    for worker, task, label in rows:
        said.setdefault(task, {})[worker] = label
    workers = sorted({str(worker) for worker, _, _ in rows})
    lines = [",".join(["photo", "the note", *workers, "copy"])]
    for task, labels in said.items():
        cells = [str(labels.get(worker, "-")) for worker in workers]
        lines.append(",".join([str(task), f"n{task}", *cells, cells[-1]]))
    path.write_text("\n".join(lines), encoding="utf-8")


def test_a_command_of_the_report_repeats_the_run_with_all_of_its_options(tmp_path: Path) -> None:
    source = tmp_path / "data of may" / "answers.csv"
    source.parent.mkdir()
    write_matrix(source)
    (tmp_path / "known.csv").write_text("task,label\nt0000,1\nt0001,2\n", encoding="utf-8")
    done = call("discover", str(source.relative_to(tmp_path)), *OPTIONS, "--gold", "known.csv", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    out = tmp_path / "my results"
    before = {name: (out / name).read_bytes() for name in ("truth.csv", "workers.csv", "probabilities.csv")}
    commands = read_commands((out / "report.html").read_text(encoding="utf-8"))
    repeated = [command for command in commands if "--plain" not in command]
    assert len(repeated) < len(commands)
    environment = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    for command in commands:
        subprocess.run(command, shell=True, check=True, cwd=tmp_path, env=environment, capture_output=True)
        told = json.loads((out / "summary.json").read_text(encoding="utf-8"))
        assert (told["seed"], told["min_confidence"], told["gold"]["tasks"]) == (3, 0.5, 2)
        if command in repeated:
            assert before == {name: (out / name).read_bytes() for name in before}


def test_what_was_found_in_python_is_repeated_there() -> None:
    rows = samples.crowd("categorical", seed=3, n=5, m=20)
    assert read_commands(render(allalike.discover(rows).material())) == ["allalike.discover(..., gold='gold.csv')"]
    assert read_commands(render(allalike.jury(rows).material())) == ["allalike.jury(..., gold='gold.csv')"]


def test_the_page_of_serve_proposes_what_was_chosen_on_it(tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    write_matrix(source)
    choices = {"wide": "tasks", "skip": ["the note"], "na": ["-"], "missing": "drop", "domain": "categorical"}
    perform({"do": "run", "files": [str(source)], "gold": None, "choices": choices, "folder": str(tmp_path / "out")})
    commands = read_commands((tmp_path / "out/report.html").read_text(encoding="utf-8"))
    assert [shlex.split(command) for command in commands if "--gold" in command] == [
        shlex.split(
            "allalike discover a.csv --domain categorical --wide tasks --missing drop --skip 'the note' --na=- --gold"
            " gold.csv"
        )
    ]
