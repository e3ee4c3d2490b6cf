"""The catalogue, where data are looked for, and the commands that show them."""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import allalike
from allalike.cli.datasets import datasets
from allalike.datasets import DATASETS, SOURCES, fetch, path
from allalike.datasets.downloads import find_difference
from allalike.errors import DataError, UnknownNameError
from crowd_data import PARSERS, load

PRIVATE = {"GG", "DOGS", "FLAGS", "BUILD", "ETCH"}


@pytest.fixture
def here(data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("ALLALIKE_DATA", str(data))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return data


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.delenv("ALLALIKE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "allalike"


def call(*arguments: str) -> Result:
    return CliRunner().invoke(datasets, arguments, catch_exceptions=True)


def test_the_catalogue_knows_every_folder_of_the_data_and_the_five_without_a_public_copy(data: Path) -> None:
    here = {folder.name for folder in data.iterdir()}
    assert set(SOURCES) - PRIVATE <= here <= set(SOURCES)
    assert {name for name, source in SOURCES.items() if not source.public} == PRIVATE


def test_the_catalogue_says_what_the_sources_say_and_the_files_are_those(data: Path) -> None:
    for name in set(SOURCES) - PRIVATE:
        source, said = SOURCES[name], json.loads((data / name / "SOURCE.json").read_text(encoding="utf-8"))
        assert (source.repo, source.commit, source.citation) == (said["repo"], said["commit"], said["citation"])
        assert {(file.file, source.path(file)) for file in source.files} == {
            (file["file"], file["path"]) for file in said["files"]
        }
        assert source.size == sum(file["bytes"] for file in said["files"])
        if source.sha256:
            listing = sorted(f"{file['file']}\0{file['sha256']}" for file in said["files"])
            lines = "".join("{1}  {0}\n".format(*line.split("\0")) for line in listing)
            assert hashlib.sha256(lines.encode()).hexdigest() == source.sha256
        else:
            sums = {file["file"]: (file["bytes"], file["sha256"]) for file in said["files"]}
            assert {file.file: (file.bytes, file.sha256) for file in source.files} == sums
        assert find_difference(source, data / name, checksums=True) == ""


def test_every_source_has_a_licence_a_note_and_data_sets() -> None:
    for name, source in SOURCES.items():
        assert source.licence, name
        assert source.note, name
        assert set(source.datasets) == {parser.name for parser in PARSERS.values() if parser.source == name}
    assert set(DATASETS) == {name for source in SOURCES.values() for name in source.datasets}


def test_every_file_that_can_be_fetched_has_its_size_and_its_checksum() -> None:
    public = [source for source in SOURCES.values() if source.public]
    assert public
    for source in public:
        whole = source.bytes and source.sha256  # of an archive, whose members are summed up together
        assert whole or all(file.bytes and len(file.sha256) == 64 for file in source.files), source.name


def test_a_loaded_data_set_goes_into_discover_with_its_gold(here: Path) -> None:
    result = allalike.discover(load("bench_bluebird").answers, method="UA")
    # SOURCE.json of bench_bluebird: majority vote is right for 0.7593 of 108 tasks, without ties.
    assert 1 - result.summary["gold"]["error"] == pytest.approx(0.7593, abs=5e-5)


@pytest.mark.parametrize("find", [load, fetch, path])
def test_a_misspelt_name_is_helped(find: Any) -> None:
    with pytest.raises(UnknownNameError, match="Chinees.*'Chinese'"):
        find("Chinees")


@pytest.mark.parametrize("find", [load, path])
def test_what_is_not_here_names_the_command_that_fetches_it(nowhere: Path, find: Any) -> None:
    with pytest.raises(DataError, match="allalike datasets fetch triangles_hart2018") as caught:
        find("TRI1")
    assert f"{nowhere / 'triangles_hart2018'}: no such folder" in str(caught.value)


def copy_of(folder: Path, target: Path) -> None:
    target.mkdir(parents=True)
    for file in folder.iterdir():
        (target / file.name).write_bytes(file.read_bytes())


def test_a_folder_that_lacks_a_file_is_passed_over(here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_of(here / "quiz_it", tmp_path / "mine" / "quiz_it")
    (tmp_path / "mine" / "quiz_it" / "truth.csv").unlink()
    (tmp_path / "mine" / "quiz_it" / "quiz.csv").write_text("cut")
    monkeypatch.setenv("ALLALIKE_DATA", str(tmp_path / "mine"))
    with pytest.raises(DataError, match=r"truth\.csv"):
        path("IT")
    copy_of(here / "quiz_it", tmp_path / "cache" / "allalike" / "quiz_it")
    assert path("IT") == tmp_path / "cache" / "allalike" / "quiz_it"


def test_several_folders_are_looked_in_one_after_the_other(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    monkeypatch.setenv("ALLALIKE_DATA", os.pathsep.join((str(one), "", str(other))))
    with pytest.raises(DataError) as refused:
        path("IT")
    places = [one / "quiz_it", other / "quiz_it", tmp_path / "cache" / "allalike" / "quiz_it"]
    assert str(refused.value).endswith("; ".join(f"{place}: no such folder" for place in places) + ".")
    copy_of(here / "quiz_it", other / "quiz_it")
    assert fetch("IT") == path("IT") == other / "quiz_it"
    copy_of(here / "quiz_it", one / "quiz_it")
    assert path("IT") == one / "quiz_it"
    with pytest.raises(DataError, match=re.escape(f"Put them into {one / 'GG'}.")):
        fetch("GG")


def test_data_without_a_public_copy_can_be_dropped_in(nowhere: Path) -> None:
    with pytest.raises(DataError, match=r"No public copy.*answers\.csv"):
        load("GG")
    with pytest.raises(DataError, match="'GG' has no public copy"):
        fetch("GG")
    (nowhere / "GG").mkdir(parents=True)
    (nowhere / "GG" / "answers.csv").write_text("worker,task,label\nada,1,yes\nbob,1,yes\neve,1,no\nada,2,no\n")
    (nowhere / "GG" / "truth.csv").write_text("task,label\n1,yes\n2,yes\n")
    data = load("GG")
    assert (data.answers.n_answers, data.gold, data.source.public) == (4, {1: "yes", 2: "yes"}, False)
    assert fetch("GG") == path("GG") == nowhere / "GG"


def test_list_has_a_line_for_every_data_set(nowhere: Path) -> None:
    head, *lines = call("list").output.splitlines()
    assert head.split()[:6] == ["name", "domain", "workers", "tasks", "answers", "fetched"]
    assert [line.split()[0] for line in lines] == list(DATASETS)
    dots = next(line for line in lines if line.startswith("DOTS3"))
    assert dots.split()[1:5] == ["ranking", "795", "1", "795"]
    assert not any(line.split()[5] == "yes" for line in lines)


def test_the_catalogue_is_read_without_anything_large() -> None:
    code = "import sys, allalike.datasets; print([m for m in ('pyarrow', 'pandas', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    code = "import sys, allalike; print('allalike.datasets' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
