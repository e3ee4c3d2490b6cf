"""Input that harms nothing: files of any bytes, too many workers, and outputs that are inputs of the same run."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import allalike
from allalike import AllalikeError
from allalike.methods import PTD
from running.program import call


def test_every_error_is_a_builtin_too() -> None:
    from allalike import errors

    for name in {*errors.__all__} - {"Proposal"}:
        kind = getattr(errors, name)
        builtin = (ValueError, LookupError, OSError, RuntimeError, ImportError, MemoryError, UserWarning)
        assert kind is AllalikeError or issubclass(kind, builtin), name


def test_distances_per_pair_of_too_many_workers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("allalike.engines.base.free_memory", lambda: 1 << 16)
    rows = {"worker": np.arange(20_001), "task": np.arange(20_001) // 3, "label": np.arange(20_001) % 2}
    with pytest.raises(MemoryError, match="Leave per_pair out"):
        allalike.discover(rows, method=PTD(per_pair=True))


@settings(max_examples=100)
@given(content=st.binary(max_size=200) | st.text(alphabet='worker,tasklabel\n"1;\t', max_size=200).map(str.encode))
@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "json", "parquet"])
def test_no_file_whatever_is_in_it_breaks_the_reader(content: bytes, ending: str, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.mktemp("fuzz") / f"a.{ending}"
    path.write_bytes(content)
    try:
        allalike.read(path)
    except AllalikeError as error:
        assert str(error)


@pytest.mark.parametrize(
    ("flag", "name", "content"),
    [
        ("--gold", "truth.csv", "task,label\nt0,cat\nt1,dog\n"),
        ("--history", "workers.csv", "worker,answers,error_rate\na,9,0.1\n"),
        ("--label-map", "next.csv", "from,to\nCat,cat\n"),
    ],
)
@pytest.mark.parametrize("link", [False, True])
def test_an_input_is_never_replaced(flag: str, name: str, content: str, link: bool, tmp_path: Path) -> None:
    rows = "".join(f"{who},t{task},{('cat', 'dog')[task % 2]}\n" for who in "abc" for task in range(6))
    (tmp_path / "good.csv").write_text(f"worker,task,label\n{rows}")
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text(content)
    (tmp_path / "link.csv").symlink_to(out / name)
    given = str(tmp_path / "link.csv" if link else out / name)
    for target, where in (("out", tmp_path), (".", out)):
        done = call("discover", str(tmp_path / "good.csv"), flag, given, "-o", target, "--overwrite", folder=where)
        assert (done.returncode, f"{name} is an input" in done.stderr) == (2, True)
    assert (out / name).read_text() == content
    assert [path.name for path in out.iterdir()] == [name]
