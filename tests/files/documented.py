"""What pages tell a reader to type, and the files that their commands name."""

import ast
import builtins
import csv
import json
import re
import shutil
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from files.documented_exports import write_exports, write_logs
from files.tool_exports import annotation, choice

CORPUS = Path(__file__).parents[1] / "fuzz" / "corpus"
_PART = re.compile(r"^```(\w*)\n(.*?)^```|`(allalike [^`]+)`", re.DOTALL | re.MULTILINE)
_PLACEHOLDER = re.compile(r"\b(FILE|DIR|OUT|ID|COMMAND|NAME)\b|\.\.\.")


def list_commands(page: str) -> list[str]:
    """List the commands of a page: the lines of its blocks, and the complete commands in its sentences."""
    found: list[str] = []
    for kind, block, inline in _PART.findall(page):
        if inline and len(inline.split()) > 2:  # fewer words name a command, and are not one
            found.append(" ".join(inline.split()))
        elif kind in ("", "sh"):
            found += [line for line in block.splitlines() if re.match(r"(allalike|pip|make|docker) \w", line)]
    return [line for line in found if not _PLACEHOLDER.search(line.partition("#")[0])]


def list_blocks(page: str) -> list[str]:
    """List the Python of a page."""
    return [block for kind, block, _ in _PART.findall(page) if kind in ("python", "pycon")]


def choose_blocks(sources: Sequence[str], place: int) -> list[int]:
    """Choose the blocks that a block needs: those before it that define what it uses, or change it, and itself."""
    names = [_names(source) for source in sources]
    used, defined, _ = names[place]
    chosen, missing = [place], used - defined
    steady = {name for _, _, lasting in names for name in lasting}  # modules and functions, which no block changes
    for earlier in reversed(range(place)):
        used, defined, _ = names[earlier]
        if missing & (defined | (used - steady)):
            chosen.append(earlier)
            missing = (missing - defined) | (used - defined)
    return chosen[::-1]


def _names(source: str) -> tuple[set[str], set[str], set[str]]:
    """Return the names that a block uses, those that it defines, and which of these are modules and functions."""
    nodes = list(ast.walk(ast.parse(source)))
    lasting = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            lasting |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    used = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return used - {*dir(builtins)}, stored | lasting, lasting


def prepare(folder: Path, page: str) -> None:
    """Write the files that the commands of pages name; where pages mean different files by one name, this page's."""
    _write_crowds(folder)
    _write_panels(folder)
    _write_databases(folder)
    if page == "DATA":
        (folder / "answers.csv").unlink()  # which the page makes
    if page == "TOOLS":
        write_exports(folder, _draw(7, 3, range(12), ("yes", "no")))
    if page in ("JURY", "jury"):
        _write_panel_of_texts(folder, epochs=page == "jury")


def _draw(seed: int, workers: int, tasks: Iterable[int], labels: Sequence[str]) -> list[tuple[str, str, str]]:
    """Draw workers, the first of whom are the best."""
    rng = np.random.default_rng(seed)
    return [
        (f"w{worker}", f"t{task}", labels[(task + (rng.random() > 0.95 - 0.1 * worker)) % len(labels)])
        for task in tasks
        for worker in range(workers)
    ]


def _write_table(path: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])


def _write_crowds(folder: Path) -> None:
    """Write answers of five workers, in several weeks and formats, known labels, and prices."""
    head, animals = ("worker", "task", "label"), ("cat", "dog", "owl")
    rows = _draw(1, 5, range(40), animals)
    gold = [(f"t{task}", animals[task % 3]) for task in range(20)]
    for name in ("answers.csv", "week1.csv"):
        _write_table(folder / name, head, rows)
    for seed, name in enumerate(("week2.csv", "week3.csv"), 2):
        _write_table(folder / name, head, _draw(seed, 5, range(20 * seed, 20 * seed + 20), animals))
    for name in ("gold.csv", "checked.csv"):
        _write_table(folder / name, ("task", "label"), gold)
    _write_table(folder / "prices.csv", ("worker", "price"), [(f"w{worker}", 1 + worker) for worker in range(5)])
    for name in ("big", "answers"):
        (folder / name).mkdir()
        pq.write_table(pa.table(dict(zip(head, zip(*rows, strict=True), strict=True))), folder / name / "1.parquet")
    goods = [
        (f"w{worker}", f"g{n}", "red" if n % 2 else "blue", n + worker / 9, "new;old")
        for worker in range(4)
        for n in range(9)
    ]
    _write_table(folder / "goods.csv", ("worker", "task", "colour", "size", "tags"), goods)
    said = {task: [(who, label) for who, other, label in rows if other == task] for _, task, _ in rows}
    tasks = [
        {"id": n, "data": {"text": task}, "annotations": [annotation(who, choice(label)) for who, label in pairs]}
        for n, (task, pairs) in enumerate(said.items())
    ]
    (folder / "export.json").write_text(json.dumps(tasks), encoding="utf-8")
    np.save(folder / "L.npy", np.array([[1, 1, -1, 1], [0, 0, 1, 0], [1, -1, 1, 1], [0, 0, 0, -1], [1, 0, 1, 1]] * 8))
    shutil.copyfile(CORPUS / "tools/wrench/good.json", folder / "train.json")


def _write_panels(folder: Path) -> None:
    """Write verdicts of five judges, on one day and another, in both orders, and as a matrix."""
    head, verdicts = ("judge", "item", "verdict"), _draw(4, 5, range(60), ("pass", "fail"))
    _write_table(folder / "verdicts.csv", head, verdicts)
    own = [(f"t{task}", ("pass", "fail")[task % 2]) for task in range(50)]
    _write_table(folder / "own.csv", ("task", "label"), own)
    for name in ("today.csv", "earlier.csv"):
        _write_table(folder / name, (*head, "topic"), [(*row, f"topic {len(row[1]) % 2}") for row in verdicts])
    pairs = _draw_pairs(epochs=True)
    _write_table(folder / "pairs.csv", (*head, "shown", "epoch"), pairs)
    _write_table(folder / "runs.csv", (*head, "epoch"), [(*row[:3], row[4]) for row in pairs if row[3] == "AB"])
    table = {item: [verdict for _, task, verdict in verdicts if task == item] for _, item, _ in verdicts}
    _write_table(folder / "matrix.csv", ("item", *"abcde"), [(item, *said) for item, said in table.items()])
    for judge in range(5):
        lines = [json.dumps({"item": item, "verdict": said}) for who, item, said in verdicts if who == f"w{judge}"]
        (folder / "answers" / f"model{judge}.jsonl").write_text("\n".join(lines), encoding="utf-8")


def _draw_pairs(*, epochs: bool) -> list[tuple[Any, ...]]:
    """Draw verdicts on pairs in both orders; the last judge follows the position."""
    return [
        (f"j{judge}", f"q{item}", "AB"[(item + (judge == 4 and shown == "BA")) % 2], shown, *epoch)
        for judge in range(5)
        for item in range(40)
        for shown in ("AB", "BA")
        for epoch in ([(1,), (2,)] if epochs else [()])
    ]


def _write_panel_of_texts(folder: Path, *, epochs: bool) -> None:
    """Write what the page on panels means by names that other pages have for other files."""
    head, items = ("judge", "item", "verdict"), range(60)
    texts = [(f"w{k}", f"n{n}", f"So it is {n * 7 % 5 + (k * n % 11 == 3)}") for k in range(5) for n in items]
    _write_table(folder / "answers.csv", head, texts)
    known = items[:40] if epochs else items  # with 50, the panel is cross-validated, which takes longer
    gold = [*((f"n{n}", str(n * 7 % 5)) for n in known), *((f"t{n}", ("pass", "fail")[n % 2]) for n in known)]
    _write_table(folder / "gold.csv", ("task", "label"), gold)
    if not epochs:
        _write_table(folder / "verdicts.csv", head, _draw(4, 5, items, ("A", "B")))
        _write_table(folder / "pairs.csv", (*head, "shown"), _draw_pairs(epochs=False))
        names = {"w0": "gpt", "w1": "ada", "w2": "bob", "w3": "eve"}
        named = [(names[who], *rest) for who, *rest in _draw(5, 4, items, ("A", "B"))]
        _write_table(folder / "labels.csv", head, named)
        write_logs(folder, _draw(7, 1, range(12), ("yes", "no")))


def _write_databases(folder: Path) -> None:
    with sqlite3.connect(folder / "crowd.db") as held:
        held.execute("CREATE TABLE answers (worker TEXT, task TEXT, label TEXT, round INT)")
        held.executemany("INSERT INTO answers VALUES (?, ?, ?, 2)", _draw(1, 5, range(40), ("cat", "dog")))
    held.close()
    with duckdb.connect(folder / "crowd.duckdb") as made:
        made.execute(f"CREATE TABLE answers AS SELECT * FROM read_csv('{(folder / 'week1.csv').as_posix()}')")
