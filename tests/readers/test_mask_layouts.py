"""How masks lie in folders: what names tell, what is asked, and that a file of a wrong size is named."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

import allalike
from allalike.errors import InputError, OptionError
from allalike.readers.formats.masks import LAYOUTS, open_masks
from crowds.label_types import disc
from running.program import run

WORKERS = ("ada", "bob", "eve", "joe")
CELLS = tuple(f"cell{k}" for k in range(5))
PATTERNS = {"tasks/workers": "{task}/{worker}.png", "workers/tasks": "{worker}/{task}.png"}


def save(path: Path, pixels: npt.NDArray[np.bool_]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".npy":
        np.save(path, pixels)
    elif path.suffix == ".npz":
        np.savez_compressed(path, mask=pixels)
    else:
        Image.fromarray(pixels.astype(np.uint8) * 255).save(path)


def draw(number: int, place: int, *, height: int = 24) -> npt.NDArray[np.bool_]:
    """Return a worker's mask of a cell."""
    return disc(height, 40, (8 + 2 * (number % 4), 6 + 9 * (number % 4)), 4 + 0.4 * place)


def lay(folder: Path, pattern: str) -> None:
    """Write a mask of each worker for each cell."""
    for number, cell in enumerate(CELLS):
        for place, worker in enumerate(WORKERS):
            save(folder / pattern.format(task=cell, worker=worker), draw(number, place))


@pytest.mark.parametrize(
    ("pattern", "layout"),
    [
        ("{task}/annotator-{worker}.png", "tasks/workers"),
        ("annotator-{worker}/{task}.png", "workers/tasks"),
        ("Image_{task}/{worker}.png", "tasks/workers"),
        ("{worker}/Image_{task}.png", "workers/tasks"),
        ("{worker}/image_{task}_by_user_{worker}.png", None),
        ("image_{task}/photo_{worker}.png", None),
        ("percolator_{worker}/{task}.png", None),
        *((pattern, None) for pattern in PATTERNS.values()),
    ],
)
def test_names_tell_the_layout_or_both_are_proposed(tmp_path: Path, pattern: str, layout: str | None) -> None:
    lay(tmp_path, pattern)
    if layout is not None:
        assert open_masks(tmp_path).guessed["layout"] == layout
        return
    with pytest.raises(InputError, match=r"unclear whether the folders .* manifest\.csv") as asked:
        open_masks(tmp_path)
    assert [dict(each.options) for each in asked.value.proposals] == [{"layout": each} for each in LAYOUTS]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_file_of_a_wrong_size_is_named(tmp_path: Path, layout: str) -> None:
    lay(tmp_path, PATTERNS[layout])
    save(tmp_path / PATTERNS[layout].format(task="cell2", worker="eve"), draw(2, 0, height=30))
    with pytest.raises(InputError, match=r"24 x 40 pixels, .*(eve|cell2)\.png has 30 x 40 pixels \(height x width\)"):
        allalike.discover(tmp_path, layout=layout)


@pytest.mark.parametrize("ending", [".png", ".npy", ".npz"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_that_is_said_holds_for_images_and_arrays(tmp_path: Path, layout: str, ending: str) -> None:
    pattern = PATTERNS[layout].replace(".png", ending)
    lay(tmp_path, pattern)
    for cell, worker in (("cell3", "joe"), ("cell1", "bob")):
        (tmp_path / pattern.format(task=cell, worker=worker)).unlink()
    save(tmp_path / PATTERNS[layout].replace(".png", ".tif").format(task="cell3", worker="joe"), draw(3, 3))
    read = allalike.read(tmp_path, layout=layout)
    assert (read.n_answers, read.tasks.tolist(), read.workers.tolist()) == (19, list(CELLS), list(WORKERS))
    assert "layout" not in read.notes["guessed"]
    rows = [(worker, "cell3", draw(3, place)) for place, worker in enumerate(WORKERS)]
    expected = allalike.discover(rows, method="UA").truth["label"][0]
    assert np.array_equal(allalike.discover(read, method="UA").truth["label"][3], expected)


def test_a_layout_is_for_folders_of_masks_without_a_manifest(tmp_path: Path) -> None:
    lay(tmp_path / "masks", PATTERNS["tasks/workers"])
    (tmp_path / "masks" / "manifest.csv").write_text("worker,task,path\nada,1,cell0/ada.png\nbob,1,cell0/bob.png\n")
    (tmp_path / "a.csv").write_text("worker,task,label\nada,1,x\nbob,1,x\n")
    for source, layout, words in (
        (tmp_path / "masks", "tasks/workers", r"has a manifest\.csv, which lists"),
        (tmp_path / "a.csv", "tasks/workers", r"a\.csv is not a folder of masks"),
        ([("ada", 1, "x")], "tasks/workers", "layout is for files"),
        (tmp_path / "masks", "tasks", r"layout is 'tasks'\. Choose one of: tasks/workers, workers/tasks"),
    ):
        with pytest.raises(OptionError, match=words):
            allalike.read(source, layout=layout)


def test_the_program_asks_for_the_layout_or_prints_it_with_its_flag(tmp_path: Path) -> None:
    lay(tmp_path / "masks", PATTERNS["tasks/workers"])
    typed = ["discover", tmp_path / "masks", "-o", tmp_path / "out", "--no-report"]
    asked = run(*typed, code=2)[1]
    assert f"allalike discover {tmp_path}/masks -o {tmp_path}/out --no-report --layout tasks/workers" in asked
    run(*typed, "--layout", "tasks/workers")
    assert '"cell0","labels/cell0.png"' in (tmp_path / "out" / "truth.csv").read_text()
    lay(tmp_path / "named", "image_{task}/{worker}.png")
    printed = run("discover", tmp_path / "named", "-o", tmp_path / "more", "--no-report")[1]
    assert "Detected: masks lie as tasks/workers (--layout tasks/workers)." in printed


def test_files_elsewhere_or_twice_are_not_passed_over(tmp_path: Path) -> None:
    for number, (path, words) in enumerate(
        (
            ("cell0/more/of/them/ada.png", r"cell0/more/of/them/ada\.png in .* is not in a folder"),
            ("ada.png", r"ada\.png in .* is not in a folder"),
            ("cell0/ada.tif", "has two images called cell0/ada"),
        )
    ):
        folder = tmp_path / str(number)
        lay(folder, PATTERNS["tasks/workers"])
        save(folder / path, draw(0, 0))
        with pytest.raises(InputError, match=words):
            open_masks(folder)
