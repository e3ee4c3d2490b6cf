"""The compiled library: which twin runs, that it does not change what is found, and that it touches no other memory."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import allalike
from allalike._core.compiled import library
from allalike._core.compiled.library import describe, find_library

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[2]
SOURCES = Path(library.__file__).parent


def draw_crowd(seed: int = 0) -> list[tuple[int, int, int]]:
    """Draw a crowd of good workers and bad ones, with two who copy."""
    rng = np.random.default_rng(seed)
    truth, skill = rng.integers(3, size=300), rng.uniform(0.4, 0.95, 20)
    said = np.where(rng.random((20, 300)) < skill[:, None], truth, rng.integers(3, size=(20, 300)))
    said[19] = np.where(rng.random(300) < 0.97, said[18], said[19])
    asked = rng.random((20, 300)) < 0.4
    return [(int(worker), int(task), int(said[worker, task])) for worker, task in np.argwhere(asked)]


def discover(**options: Any) -> tuple[list[Any], np.ndarray[Any, Any]]:
    """Return the labels that are found for the crowd, and all numbers beside them."""
    result = allalike.discover(draw_crowd(), domain="categorical", **options)
    numbers = [
        result.truth["confidence"],
        *(result.workers[name] for name in ("weight", "error_rate", "ci_low", "ci_high")),
    ]
    return result.truth["label"].tolist(), np.concatenate([np.asarray(each, float) for each in numbers])


def hook() -> ModuleType:
    """Return the module that compiles the library when the package is built."""
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make(folder: Path, *flags: str) -> Path:
    """Compile the library from a copy of its sources."""
    assert hook().SOURCES == library._SOURCES
    for name in hook().SOURCES:
        shutil.copy(SOURCES / name, folder / name)
    made = folder / library.library_path().name
    if not hook().compile_passes(folder, made, *flags):
        assert os.environ.get("ALLALIKE_COMPILED") != "required", "there must be a compiler here"
        pytest.skip("there is no compiler here")
    return made


def test_both_twins_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    labels, numbers = discover()
    monkeypatch.setattr(library, "find_library", lambda: None)
    others, plain = discover()
    assert labels == others
    np.testing.assert_allclose(numbers, plain, rtol=1e-9)


@pytest.mark.parametrize("compiled", [True, False])
def test_threads_do_not_change_a_bit(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not compiled:
        monkeypatch.setattr(library, "find_library", lambda: None)
    labels, numbers = discover(engine=allalike.Memory(threads=1, block_answers=50))
    for threads in (2, 7):
        again, same = discover(engine=allalike.Memory(threads=threads, block_answers=50))
        assert again == labels
        assert same.tobytes() == numbers.tobytes()


def test_a_library_of_other_sources_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make(tmp_path, "-O0")
    monkeypatch.setattr(library, "library_path", lambda: made)
    assert find_library.__wrapped__() is not None
    (tmp_path / "numbers.h").write_text("/* something else */", encoding="utf-8")
    assert find_library.__wrapped__() is None
    broken = tmp_path / "broken" / made.name
    monkeypatch.setattr(library, "library_path", lambda: broken)
    assert find_library.__wrapped__() is None
    broken.parent.mkdir()
    broken.write_bytes(b"no library")
    assert find_library.__wrapped__() is None  # for nothing is recorded of it
    monkeypatch.setattr(library, "find_library", find_library.__wrapped__)
    assert describe() == "passes in numpy (the compiled ones are not in this installation; several times faster)"


DAMAGED = """
import pathlib, sys, warnings
import allalike, allalike._core.compiled.library as library
path = pathlib.Path(sys.argv[1])
library.library_path = lambda: path
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    found = [allalike.discover([("a", 1, "x"), ("b", 1, "x"), ("c", 2, "y"), ("a", 2, "y")]) for _ in range(2)]
print(len([each for each in caught if "is damaged" in str(each.message)]), library.find_library(), library.describe())
"""


def test_a_damaged_library_is_not_loaded_and_said_once(tmp_path: Path) -> None:
    made = make(tmp_path, "-O0")
    data = made.read_bytes()
    for damaged in (data[: len(data) // 2], data[:-9] + b"x" + data[-8:], b""):
        made.write_bytes(damaged)
        done = subprocess.run([sys.executable, "-c", DAMAGED, str(made)], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("1 None passes in numpy (the compiled library is damaged")
        assert "pip install --force-reinstall" in done.stdout


def test_without_a_compiler_nothing_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in hook().SOURCES:
        shutil.copy(SOURCES / name, tmp_path / name)
    for compiler in ("no-such-compiler", f"{sys.executable} -c exit(1)"):
        monkeypatch.setenv("CC", compiler)
        assert not hook().compile_passes(tmp_path, tmp_path / "passes.so")
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(hook().SOURCES)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_all_sets_of_instructions_give_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for name, flags in (("chosen", ()), ("plain", ("-DPLAIN",)), ("slow", ("-DPLAIN", "-O0"))):
        folder = tmp_path / name
        folder.mkdir()
        loaded = ctypes.CDLL(str(make(folder, *flags)))
        monkeypatch.setattr(library, "find_library", lambda loaded=loaded: loaded)
        monkeypatch.setattr("allalike._core.compiled.calls.find_library", lambda loaded=loaded: loaded)
        labels, numbers = discover()
        found.append((labels, numbers.tobytes()))
    assert found[0] == found[1] == found[2]


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.skipif(sys.platform != "linux", reason="the sanitizers are loaded as Linux does it")
def test_sanitizers_find_nothing(tmp_path: Path) -> None:
    made = make(tmp_path, "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    compiler = os.environ.get("CC") or "gcc"
    runtime = subprocess.run([compiler, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    program = (
        "import sys, pathlib, pytest, allalike._core.compiled.library as library\n"
        "library.library_path = lambda: pathlib.Path(sys.argv[1])\n"
        "assert library.find_library() is not None\n"
        "sys.exit(pytest.main(['-p', 'no:cacheprovider', '-p', 'no:xdist', sys.argv[2]]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(made), str(Path(__file__).with_name("test_passes.py"))],
        env={**os.environ, "LD_PRELOAD": runtime.stdout.strip(), "ASAN_OPTIONS": "detect_leaks=0"},
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
