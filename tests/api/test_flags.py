"""Who needs a look stands first, who gave few answers is neither best nor worst, and whom to block is a list of ids."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import allalike
from allalike import Disk, Memory
from allalike.engines import Engine
from allalike.errors import OutputError
from running.program import call

TASKS = 120
Rows = list[tuple[str, str, str]]


def crowd(*, odd: bool = True) -> Rows:
    """Draw eight workers who err in 10 to 40 %, three with one right answer, and, if odd, two copies and a lazy one."""
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 3, TASKS)
    skill = np.linspace(0.9, 0.6, 8)[:, None]
    said = np.where(rng.random((8, TASKS)) < skill, truth, rng.integers(0, 3, (8, TASKS)))
    rows = [(f"w{w}", f"t{t:03}", "abc"[said[w, t]]) for w in range(8) for t in range(TASKS)]
    rows += [(f"one{i}", f"t{i:03}", "abc"[truth[i]]) for i in range(3)]
    if not odd:
        return rows
    leader = np.where(rng.random(TASKS) < 0.4, truth, rng.integers(0, 3, TASKS))
    rows += [(name, f"t{t:03}", "abc"[leader[t]]) for name in ("copy1", "copy2") for t in range(TASKS)]
    rows += [("copy1", f"x{t}", "a") for t in range(5)]
    return [*rows, *(("lazy", f"t{t:03}", "b") for t in range(TASKS))]


@pytest.mark.parametrize("engine", [Memory(block_answers=50), Disk(partitions=3)], ids=lambda engine: engine.name)
def test_one_answer_makes_nobody_the_best(engine: Engine) -> None:
    table = allalike.discover(crowd(odd=False), engine=engine).workers.set_index("worker")
    single, busy = table[table["answers"] == 1], table[table["answers"] == TASKS]
    mean = np.average(table["error_rate"], weights=table["answers"])
    assert single["error_rate"].to_numpy() == pytest.approx(mean, abs=0.05)
    assert single["weight"].max() < busy["weight"].max()
    assert busy["error_rate"].idxmin() == "w0"


def test_the_saved_table_begins_with_who_needs_a_look(tmp_path: Path) -> None:
    result = allalike.discover(crowd())
    result.save(tmp_path / "out")
    table = pd.read_csv(tmp_path / "out" / "workers.csv", keep_default_na=False).set_index("worker")
    order = [("block", "look", "", "few").index(flag) for flag in table["flag"]]
    assert order == sorted(order)
    flags, reasons = (dict(zip(table.index, map(str, table[name]), strict=True)) for name in ("flag", "reason"))
    assert (flags["lazy"], "always b" in reasons["lazy"]) == ("block", True)
    assert (flags["copy1"], flags["copy2"]) == ("look", "block")  # who gave more answers stays
    assert reasons["copy2"].startswith("copies (group 1)")
    assert (flags["one0"], reasons["one0"]) == ("few", "few answers")
    assert (flags["w0"], reasons["w0"]) == ("", "")
    assert sorted(table.index) == result.workers["worker"].tolist()


def test_the_block_list_has_one_id_a_line_and_may_be_written_again(tmp_path: Path) -> None:
    pd.DataFrame(crowd(), columns=["worker", "task", "label"]).to_csv(tmp_path / "a.csv", index=False)
    typed = ["discover", "a.csv", "--no-report", "--block-list", "block.txt"]
    for _ in range(2):
        done = call(*typed, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "block.txt").read_text().splitlines() == ["copy2", "lazy"]
    assert "block.txt" in done.stdout


def test_a_block_list_takes_the_place_of_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine\n")
    result = allalike.discover(crowd())
    with pytest.raises(OutputError):
        result.save_block_list(tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "mine\n"
    assert result.save_block_list(tmp_path / "notes.txt", overwrite=True) == ["copy2", "lazy"]
