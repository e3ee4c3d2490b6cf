"""How masks lie in folders: what names tell, what is asked, and that a file of a wrong size is named."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

import allalike
from allalike.errors import InputError, OptionError
from allalike.readers.formats.masks import LAYOUTS, open_masks
from crowds.bitmap import disc
from running.program import run

WORKERS = ("ada", "bob", "eve", "joe")
CELLS = tuple(f"cell{k}" for k in range(5))


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


def lay(folder: Path, layout: str, ending: str = ".png") -> None:
    """Write a mask of each worker for each cell."""
    for number, cell in enumerate(CELLS):
        for place, worker in enumerate(WORKERS):
            save(name(folder, layout, cell, worker, ending), draw(number, place))


def name(folder: Path, layout: str, task: str, worker: str, ending: str = ".png") -> Path:
    outer, inner = (task, worker) if layout == "tasks/workers" else (worker, task)
    return folder / outer / f"{inner}{ending}"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_without_names_that_tell_both_layouts_are_proposed(tmp_path: Path, layout: str) -> None:
    lay(tmp_path, layout)
    with pytest.raises(InputError, match="unclear whether the folders") as asked:
        open_masks(tmp_path)
    assert [dict(each.settles) for each in asked.value.proposals] == [{"layout": each} for each in LAYOUTS]
    read = allalike.read(tmp_path, layout=layout)
    assert (read.tasks.tolist(), read.workers.tolist()) == (list(CELLS), list(WORKERS))


@pytest.mark.parametrize(
    ("path", "layout"),
    [
        ("{task}/annotator-{worker}.png", "tasks/workers"),
        ("annotator-{worker}/{task}.png", "workers/tasks"),
        ("Image_{task}/{worker}.png", "tasks/workers"),
        ("{worker}/Image_{task}.png", "workers/tasks"),
        ("{worker}/image_{task}_by_user_{worker}.png", None),
        ("image_{task}/photo_{worker}.png", None),
        ("percolator_{worker}/{task}.png", None),
    ],
)
def test_names_tell_the_layout_unless_they_contradict_each_other(tmp_path: Path, path: str, layout: str | None) -> None:
    for number, cell in enumerate(CELLS):
        for place, worker in enumerate(WORKERS):
            save(tmp_path / path.format(task=cell, worker=worker), draw(number, place))
    if layout is None:
        with pytest.raises(InputError, match=r"unclear whether .* manifest\.csv"):
            open_masks(tmp_path)
    else:
        assert open_masks(tmp_path).layout == layout


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("worker", ["eve", "zoe"])
def test_one_file_of_a_wrong_size_is_named(tmp_path: Path, layout: str, worker: str) -> None:
    lay(tmp_path, layout)
    odd = name(tmp_path, layout, "cell2", worker)
    save(odd, draw(2, 0, height=30))
    with pytest.raises(InputError) as refused:
        open_masks(tmp_path, layout)
    usual = name(tmp_path, layout, "cell2", "ada")
    said = f"{odd} has 30 x 40 pixels, but {usual} has 24 x 40 pixels (height x width), and both are masks of task"
    assert str(refused.value).startswith(f"{said} 'cell2'.")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_worker_who_has_a_size_of_her_own_is_named(tmp_path: Path, layout: str) -> None:
    lay(tmp_path, layout)
    for number, cell in enumerate(CELLS):
        save(name(tmp_path, layout, cell, "bob"), draw(number, 1, height=48))
    with pytest.raises(InputError, match=r"bob.* has 48 x 40 pixels, but .*24 x 40 .* 4 more differ"):
        open_masks(tmp_path, layout)


def test_the_other_layout_is_offered_where_all_sizes_fit_it(tmp_path: Path) -> None:
    for number, cell in enumerate(CELLS):
        for place in range(2):
            save(tmp_path / f"image{place}" / f"{cell}.png", draw(number, place, height=24 + number))
    with pytest.raises(InputError, match="taken for tasks") as refused:
        open_masks(tmp_path)
    assert refused.value.settles == {"layout": "workers/tasks"}
    assert set(open_masks(tmp_path, "workers/tasks").load(["worker"])["worker"]) == {"image0", "image1"}
    (tmp_path / "image0").rename(tmp_path / "x")
    with pytest.raises(InputError, match="unclear whether") as asked:
        open_masks(tmp_path)
    assert asked.value.settles == {"layout": "workers/tasks"}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_that_is_said_holds(tmp_path: Path, layout: str) -> None:
    lay(tmp_path, "tasks/workers")
    read = allalike.read(tmp_path, layout=layout)
    outside = read.tasks if layout == "tasks/workers" else read.workers
    assert outside.tolist() == list(CELLS)
    assert "layout" not in read.notes["guessed"]


def test_a_layout_is_for_folders_of_masks_without_a_manifest(tmp_path: Path) -> None:
    lay(tmp_path / "masks", "tasks/workers")
    (tmp_path / "masks" / "manifest.csv").write_text("worker,task,path\nada,1,cell0/ada.png\nbob,1,cell0/bob.png\n")
    (tmp_path / "a.csv").write_text("worker,task,label\nada,1,x\nbob,1,x\n")
    with pytest.raises(OptionError, match=r"has a manifest\.csv, which says"):
        allalike.read(tmp_path / "masks", layout="tasks/workers")
    with pytest.raises(OptionError, match=r"a\.csv is no folder of them"):
        allalike.read(tmp_path / "a.csv", layout="tasks/workers")
    with pytest.raises(OptionError, match="layout is for files"):
        allalike.read([("ada", 1, "x")], layout="tasks/workers")
    with pytest.raises(OptionError, match=r"layout is 'tasks'\. Choose one of: tasks/workers, workers/tasks"):
        allalike.read(tmp_path / "masks", layout="tasks")


def test_the_program_asks_for_the_layout_with_the_command_to_copy(tmp_path: Path) -> None:
    for folder in "xy":
        for file in "ab":
            save(tmp_path / "masks" / folder / f"{file}.png", np.ones((3, 3), np.bool_))
    typed = ["discover", tmp_path / "masks", "-o", tmp_path / "out", "--no-report"]
    asked = run(*typed, code=2)[1]
    assert f"allalike discover {tmp_path}/masks -o {tmp_path}/out --no-report --layout tasks/workers" in asked
    run(*typed, "--layout", "workers/tasks")
    assert '"a","labels/a.png"' in (tmp_path / "out" / "truth.csv").read_text()


def test_what_names_tell_is_printed_with_its_flag(tmp_path: Path) -> None:
    for task in ("task1", "task2"):
        for worker in ("ada", "bob"):
            save(tmp_path / "masks" / task / f"{worker}.png", draw(0, 0))
    printed = run("discover", tmp_path / "masks", "-o", tmp_path / "out", "--no-report")[1]
    assert "Recognised: masks lie as tasks/workers (--layout tasks/workers)." in printed


@pytest.mark.parametrize("ending", [".npy", ".npz"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_arrays_lie_like_images(tmp_path: Path, layout: str, ending: str) -> None:
    lay(tmp_path, layout, ending)
    name(tmp_path, layout, "cell3", "joe", ending).unlink()
    save(name(tmp_path, layout, "cell3", "joe", ".tif"), draw(3, 3))
    name(tmp_path, layout, "cell1", "bob", ending).unlink()
    read = allalike.read(tmp_path, layout=layout)
    assert (read.n_answers, read.tasks.tolist(), read.workers.tolist()) == (19, list(CELLS), list(WORKERS))
    truth = allalike.discover(read, method="UA").truth
    assert np.array_equal(truth["label"][3], allalike.discover(
        [(worker, "cell3", draw(3, place)) for place, worker in enumerate(WORKERS)], method="UA"
    ).truth["label"][0])  # fmt: skip


def test_a_file_far_below_is_not_passed_over(tmp_path: Path) -> None:
    lay(tmp_path, "tasks/workers")
    save(tmp_path / "cell0" / "more" / "of" / "them" / "ada.png", draw(0, 0))
    with pytest.raises(InputError, match=r"unclear what cell0/more/of/them/ada\.png"):
        open_masks(tmp_path)


def test_names_that_differ_in_case_only_are_told(tmp_path: Path) -> None:
    lay(tmp_path, "workers/tasks")
    (tmp_path / "eve" / "cell4.png").rename(tmp_path / "eve" / "Cell4.png")
    read = allalike.read(tmp_path, layout="workers/tasks")
    assert read.notes["remarks"] == [
        "'Cell4' and 'cell4' differ in case only, and are taken for different ones. Rename the files."
    ]
    assert len(read.tasks) == 6
