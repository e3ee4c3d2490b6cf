"""Files of a small corpus, as they are and with bytes changed: each is a table or a clear error, nothing else."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

import allalike
from allalike.errors import AllalikeError
from allalike.readers.formats.files import Files
from allalike.readers.sources import open_files
from files.mutations import mutated, often, repeat

CORPUS = Path(__file__).parent / "corpus"
FILES = sorted(path for path in CORPUS.rglob("*") if path.is_file())
GROUPS = sorted({path.parent.relative_to(CORPUS).as_posix() for path in FILES})
OPTIONS: dict[str, dict[str, Any]] = {
    "matrix": {"wide": "tasks"},
    "mask": {"domain": "bitmap", "layout": "tasks/workers"},
}


def options_of(group: str) -> dict[str, Any]:
    return {"tool": Path(group).name} if group.startswith("tools/") else OPTIONS.get(group, {})


def is_read(path: Path, group: str) -> bool:
    """Read a file, or a folder of masks with it; whatever is wrong is an error of this library that says something."""
    try:
        allalike.read(path.parent.parent if group == "mask" else path, **options_of(group))
    except AllalikeError as error:
        assert str(error).strip()
        return False
    return True


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def place(folder: Path, group: str, name: str, data: bytes) -> Path:
    """Write a file where it is read alone; a mask lies beside that of another worker."""
    ending = name.partition(".")[2]
    path = folder / group.replace("/", "-") / ending / "t1" / f"ada.{ending}"
    path.parent.mkdir(parents=True, exist_ok=True)
    if group == "mask":
        beside = "nii" if ending.startswith("nii") else "png"
        (path.parent / f"bob.{beside}").write_bytes((CORPUS / "mask" / f"good.{beside}").read_bytes())
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(CORPUS).as_posix())
def test_what_is_broken_is_refused_and_what_is_not_is_opened(path: Path, folder: Path) -> None:
    group = path.parent.relative_to(CORPUS).as_posix()
    written = place(folder, group, path.name, path.read_bytes())
    if path.name.startswith("broken"):
        assert not is_read(written, group)
    elif group in OPTIONS:
        assert is_read(written, group)
    elif group not in ("tools/brat", "tools/conll", "tools/cvat"):  # of which one file is of one worker
        tag = {"label-studio": "c", "labelbox": "q", "mt-bench": "winner", "doccano": "label"}.get(path.parent.name)
        table = open_files([written], Files(tool=options_of(group).get("tool"), question=tag))
        assert all(len(column) for column in table.load(table.names).values())


@often(2, 400)
@pytest.mark.parametrize("group", GROUPS)
def test_changed_files_are_read_or_refused(group: str, folder: Path, examples: int) -> None:
    names: dict[str, list[bytes]] = {}
    for path in FILES:
        if path.parent == CORPUS / group:
            names.setdefault(path.name.partition(".")[2], []).append(path.read_bytes())

    def check(data: st.DataObject) -> None:
        ending = data.draw(st.sampled_from(sorted(names)))
        is_read(place(folder, group, f"x.{ending}", data.draw(mutated(names[ending]))), group)

    repeat(examples, check, data=st.data())
