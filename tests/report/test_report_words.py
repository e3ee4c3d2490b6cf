"""Texts of a report: the paragraph for a paper, and commands that repeat the run."""

import html
import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import allalike
from allalike.methods.citations import CITATIONS, MODELS
from allalike.report.page import render
from allalike.report.report_data import Material
from allalike.report.words import cite
from allalike.serve.session import Session
from crowds import samples
from running.program import call
from textbook import method_pages, page_of

METHODS = [name for name in allalike.METHODS if name != "auto"]
NUMBERS = ("GTM", "KDE")


def rows_of(errors: list[float], *, tasks: int, seed: int = 0) -> list[samples.Row]:
    """Draw answers of two classes by workers who err this often."""
    rng = np.random.default_rng(seed)
    wrong = rng.random((len(errors), tasks)) < np.array(errors)[:, None]
    truth = rng.random(tasks) < 0.5
    return [(f"w{i}", j, "xy"[int(truth[j] ^ wrong[i, j])]) for i in range(len(errors)) for j in range(tasks)]


@pytest.mark.filterwarnings("ignore::allalike.errors.ConvergenceWarning")
@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_described_with_its_own_papers(method: str) -> None:
    domain = "real" if method in NUMBERS else "categorical"
    rows: list[samples.Row] = rows_of([0.1, 0.2, 0.2, 0.3, 0.4], tasks=20)
    gold = {task: "x" for _, task, _ in rows} if method == "OA" else None
    if domain == "real":
        rows = samples.crowd("real", seed=1, n=5, m=20)
    text, *references = cite(allalike.discover(rows, domain=domain, method=method, gold=gold)._material())
    own = CITATIONS[method]
    assert references == [paper.full for paper in own]
    assert f"method {method}:" in text
    assert all(paper.short in text for paper in own)
    others = {paper.short for papers in CITATIONS.values() for paper in papers} - {paper.short for paper in own}
    assert not [short for short in others if short in text]


@pytest.mark.parametrize(
    ("taken", "errors", "tasks"),
    [("knows or guesses", [0.05, 0.3, 0.5], 100), ("confusion matrices", [0.05] * 3 + [0.45] * 6, 200)],
)
def test_of_auto_the_model_that_it_chose_is_described(taken: str, errors: list[float], tasks: int) -> None:
    result = allalike.discover(rows_of(errors, tasks=tasks))
    assert result.summary["model"]["chosen"] == taken
    for each, (model, papers) in MODELS.items():
        reading = {} if each == taken else {"model": {"chosen": each}}
        text, *references = cite(Material(result, notes=reading))
        assert model in text
        assert references == [paper.full for paper in papers]


@pytest.mark.parametrize("domain", ["categorical", "ordinal"])
def test_gold_that_was_used_and_labels_that_stayed_empty_are_named(domain: str) -> None:
    rows = samples.crowd(domain, seed=3, n=6, m=40)
    gold = allalike.discover(rows, domain=domain, method="UA").truth.set_index("task")["label"][:20].to_dict()
    for method, use in (("auto", True), ("auto", False), ("UA", True)):
        result = allalike.discover(rows, domain=domain, method=method, gold=gold, use_gold=use)
        assert ("20 gold labels informed the model" in cite(result._material())[0]) == (method == "auto" and use)
    left = allalike.discover(rows, domain=domain, min_confidence=0.999)
    assert f"{left.summary['abstained']} labels with a confidence below 0.999" in cite(left._material())[0]


def test_every_method_has_papers_that_its_page_and_its_docstring_name() -> None:
    assert set(CITATIONS) == set(allalike.METHODS)
    pages = method_pages()
    for name, papers in CITATIONS.items():
        module = sys.modules[allalike.METHODS[name].__module__].__doc__ or ""
        for paper in papers:
            assert paper.full in pages[page_of("methods", name)]
            author, year = re.split(r"\W", paper.short)[0], paper.short[-4:]
            assert name == "auto" or (author in module and year in module), (name, paper.short)


OPTIONS = shlex.split(
    "--wide tasks --exclude 'the note' --na-values - --missing drop --domain 'categorical(classes=4)'"
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
    before = {name: (out / name).read_bytes() for name in ("truth.csv", "workers.csv", "details/probabilities.csv")}
    commands = read_commands((out / "report.html").read_text(encoding="utf-8"))
    repeated = [command for command in commands if "--no-screening" not in command]
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
    assert read_commands(render(allalike.discover(rows)._material())) == ["allalike.discover(..., gold='gold.csv')"]
    assert read_commands(render(allalike.jury(rows)._material())) == ["allalike.jury(..., gold='gold.csv')"]


def test_the_page_of_serve_proposes_what_was_chosen_on_it(tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    source.write_text(
        "worker,task,label\n" + "".join(f"{w},{t},{x}\n" for w, t, x in samples.crowd("categorical", seed=3))
    )
    session = Session(tmp_path, limit=10**6)
    with source.open("rb") as file:
        session.upload("answers", "a.csv", file, source.stat().st_size)
    session.run({"domain": "categorical"})
    while session.describe()["progress"]:  # a test has a limit of time, so this has none
        time.sleep(0.02)
    commands = read_commands(session.saved["report.html"].read_text(encoding="utf-8"))
    assert [shlex.split(command) for command in commands if "--gold" in command] == [
        shlex.split("allalike discover a.csv --domain=categorical -o allalike-out --gold gold.csv")
    ]
