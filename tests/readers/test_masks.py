"""Masks: images and arrays of every kind, the meaning of pixel values, manifests, layouts of folders, broken files."""

import io
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

import allalike
from allalike._core.masks import Mask, MaskFile, read_grid, read_picture, write_masks
from allalike.domains.bitmap import Bitmap
from allalike.errors import AllalikeError, InputError, LabelError, OptionError
from allalike.readers.formats.masks import LAYOUTS, open_masks
from crowds.label_types import disc
from running.program import run

pytestmark = pytest.mark.slow

MAP = np.array([[0, 0, 1, 1], [2, 2, 1, 1]], np.uint8)
GREY = np.array([[0, 100, 128, 255]], np.uint8)


def save(path: Path, pixels: npt.NDArray[np.bool_]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".npy":
        np.save(path, pixels)
    elif path.suffix == ".npz":
        np.savez_compressed(path, mask=pixels)
    else:
        Image.fromarray(pixels.astype(np.uint8) * 255).save(path)


def lay(folder: Path, *paths: str) -> Path:
    """Write a mask at each path, by default of two workers for each of two tasks."""
    for path in paths or ("task1/ada.png", "task1/bob.png", "task2/ada.png", "task2/bob.png"):
        save(folder / path, disc(24, 40, (8, 6), 4))
    return folder


def rows(folder: Path) -> list[tuple[str, str, str]]:
    """Return worker, task and file of each mask, sorted."""
    columns = open_masks(folder).load(["worker", "task", "label"])
    files = [Path(label.path).relative_to(folder).as_posix() for label in columns["label"]]
    return sorted(zip(columns["worker"], columns["task"], files, strict=True))


def masked(source: Any, **options: Any) -> list[list[bool]]:
    source = MaskFile(str(source)) if isinstance(source, Path) else source
    listed: list[list[bool]] = Bitmap(**options)._parse(source).pixels().tolist()
    return listed


def test_a_manifest_names_workers_and_tasks(tmp_path: Path) -> None:
    lay(tmp_path, "x/a.png", "x/b.png", "y/a.png", "y/b.png")
    (tmp_path / "manifest.csv").write_text("path,Worker,task\nx/a.png,a,007\ny/a.png,a,8\nx/b.png,b,007\n")
    assert open_masks(tmp_path).guessed["layout"] == "manifest.csv"
    assert rows(tmp_path) == [("a", "007", "x/a.png"), ("a", "8", "y/a.png"), ("b", "007", "x/b.png")]


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        ("worker,task,path\na,1,../out.png\n", "leads out of"),
        ("worker,task,path\na,1,/etc/passwd\n", "leads out of"),
        ("worker,task,path\na,1,in.png\nb,1,none.png\n", "Row 2 .*'none.png'"),
        ("worker,task,path\na,1,\n", "Row 1"),
        ("worker,task,file\na,1,in.png\n", "'path'"),
        ("", "is empty"),
    ],
)
def test_a_manifest_that_is_wrong_is_an_error(tmp_path: Path, manifest: str, words: str) -> None:
    lay(tmp_path, "out.png", "masks/in.png")
    (tmp_path / "masks" / "manifest.csv").write_text(manifest)
    with pytest.raises(AllalikeError, match=words):
        open_masks(tmp_path / "masks")


def test_other_files_and_hidden_ones_are_left_alone(tmp_path: Path) -> None:
    lay(lay(tmp_path), ".cache/ada.png", "task1/.ada.png")
    (tmp_path / "README.txt").write_text("about these masks")
    (tmp_path / "task1" / "Thumbs.db").write_text("")
    assert len(rows(tmp_path)) == 4


@pytest.mark.parametrize(("link", "target"), [("task1/eve.png", "eve.png"), ("task3", "."), ("manifest.csv",) * 2])
def test_a_link_that_leads_out_of_the_folder_is_an_error(tmp_path: Path, link: str, target: str) -> None:
    inside, outside = lay(tmp_path / "masks"), lay(tmp_path / "elsewhere", "eve.png")
    (outside / "manifest.csv").write_text("worker,task,path\na,1,task1/ada.png\n")
    (inside / link).symlink_to(outside / target)
    with pytest.raises(InputError, match="leads out of"):
        open_masks(inside)


def test_a_link_within_the_folder_is_followed_and_one_to_itself_is_an_error(tmp_path: Path) -> None:
    lay(tmp_path)
    (tmp_path / "task1" / "eve.png").symlink_to(tmp_path / "task1" / "ada.png")
    assert len(rows(tmp_path)) == 5
    (tmp_path / "task1" / "loop.png").symlink_to(tmp_path / "task1" / "loop.png")
    with pytest.raises(InputError, match="cannot be followed"):
        open_masks(tmp_path)


def header(width: int, height: int) -> bytes:
    """Return a PNG that claims a size and holds no pixels."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    start = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + start + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def truncated() -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64), np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()[:2000]


BROKEN = {
    "not an image": (b"hello", "not PNG"),
    "nothing at all": (b"", "not PNG"),
    "an end too soon": (truncated(), "incomplete"),
    "no pixels": (header(30, 30), "incomplete"),
    "too large": (header(20_000, 6_000), "6000 x 20000 pixels"),
    "far too large": (header(2**31 - 1, 2**31 - 1), "too large"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_an_image_that_cannot_be_read_is_named(tmp_path: Path, kind: str) -> None:
    content, reason = BROKEN[kind]
    (tmp_path / "odd.png").write_bytes(content)
    (tmp_path / "manifest.csv").write_text("worker,task,path\nada,1,odd.png\n")
    with pytest.raises(LabelError, match=rf"row 1 .*odd\.png.*{reason}"):
        allalike.read(tmp_path)
    lay(tmp_path / "tree")
    (tmp_path / "tree" / "task1" / "ada.png").write_bytes(content)
    with pytest.raises(InputError, match=r"task1/ada\.png"):
        allalike.read(tmp_path / "tree", layout="tasks/workers")


MODES = {".png": ("1", "L", "LA", "RGB", "RGBA", "P", "I;16"), ".TIFF": ("1", "L", "LA", "RGBA", "P", "I;16", "I", "F")}


@pytest.mark.parametrize(("ending", "mode"), [(ending, mode) for ending, modes in MODES.items() for mode in modes])
def test_images_of_every_kind_are_read(tmp_path: Path, mode: str, ending: str) -> None:
    mask = disc(9, 12, (4, 5), 3)
    grey = Image.fromarray(mask.astype(np.uint8) * 255)
    image = grey.convert("RGB").convert(mode) if mode in ("LA", "RGBA", "P") else grey.convert(mode)
    image.save(tmp_path / f"mask{ending}")
    assert masked(tmp_path / f"mask{ending}") == mask.tolist()
    assert masked(tmp_path / f"mask{ending}", on=0) == (~mask).tolist()


def test_colours_count_and_transparency_does_not(tmp_path: Path) -> None:
    pixels = np.array([[[0, 0, 9, 0], [0, 0, 0, 255], [0, 0, 0, 0], [7, 7, 7, 255]]], np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    Image.fromarray(pixels[:, :3]).save(tmp_path / "b.png")
    assert masked(tmp_path / "b.png") == [[True, False, False]]
    with pytest.raises(LabelError, match=r"a.png .*2 values"):
        masked(tmp_path / "a.png")
    assert masked(tmp_path / "a.png", threshold=1) == [[True, False, False, True]]
    assert masked(tmp_path / "a.png", threshold=8) == [[True, False, False, False]]
    assert masked(tmp_path / "a.png", on=0) == [[False, True, True, False]]
    assert masked(tmp_path / "a.png", on=7) == [[False, False, False, True]]


@pytest.mark.parametrize("colour", [0, 255])
@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_an_image_of_one_colour_is_told_by_its_opacity(tmp_path: Path, mode: str, colour: int) -> None:
    opacity = np.array([[0, 255, 255]], np.uint8)
    bands = [np.full((1, 3), colour, np.uint8)] * (len(mode) - 1)
    for shown, expected in ((opacity, [False, True, True]), (0 * opacity, [False] * 3)):
        Image.merge(mode, [Image.fromarray(band) for band in (*bands, shown)]).save(tmp_path / "a.png")
        assert masked(tmp_path / "a.png") == [expected]


def store(folder: Path, kind: str, pixels: npt.NDArray[Any], palette: Any = (0, 0, 0, 200, 0, 0, 0, 200, 0)) -> Path:
    """Write pixels as a file of some kind."""
    path = folder / f"mask{'.tif' if kind == 'float' else '.png' if kind in ('L', 'P', 'RGB', '16') else kind}"
    if kind.startswith(".np"):
        np.save(path, pixels) if kind == ".npy" else np.savez(path, pixels)
    elif kind in ("float", "16"):
        Image.fromarray(pixels.astype(np.float32 if kind == "float" else np.uint16)).save(path)
    elif kind == "P":
        image = Image.fromarray(pixels, mode=None).convert("P")
        image.putdata(pixels.ravel().tolist())
        image.putpalette([*palette])
        image.save(path, transparency=b"\x00\x80\xff")
    else:
        Image.fromarray(pixels).convert(kind).save(path)
    return path


def test_of_a_palette_the_colour_counts_or_the_number_that_was_asked_for(tmp_path: Path) -> None:
    path = store(tmp_path, "P", np.array([[0, 1, 2]], np.uint8), (255, 255, 255, 0, 0, 0, 255, 255, 255))
    assert masked(path) == [[True, False, True]]
    assert masked(path, on=2) == [[False, False, True]]


@pytest.mark.parametrize("kind", ["L", "P", "RGB", "16", "float", ".npy", ".npz"])
def test_label_maps_and_grey_pictures_are_asked_about(tmp_path: Path, kind: str) -> None:
    if kind != "RGB":
        path = store(tmp_path, kind, MAP)
        with pytest.raises(LabelError, match=r"mask\.\w+ .*2 values") as asked:
            masked(path)
        assert asked.value.options == {"domain": "bitmap(values=[1, 2])"}
        answers = allalike.read([("ada", "ct7", MaskFile(str(path)))], domain="bitmap(values=[1, 2])")
        assert answers.tasks.tolist() == ["ct7/1", "ct7/2"]
        assert [mask.pixels().tolist() for mask in answers.label] == [(MAP == 1).tolist(), (MAP == 2).tolist()]
    if kind != "P":
        path = store(tmp_path, kind, GREY)
        with pytest.raises(LabelError) as asked:
            masked(path)
        assert asked.value.options["domain"].startswith("bitmap(threshold=12")
        assert masked(path, threshold=128) == [[False, False, True, True]]
        assert masked(path, threshold=100) == [[False, True, True, True]]


@pytest.mark.parametrize(
    ("pixels", "settled"),
    [
        ([[0, 1, 2]], "bitmap(values=[1, 2])"),
        ([[3, 4]], "bitmap(values=[3, 4])"),
        ([[0.0, 0.25, 1.0, 0.5]], "bitmap(values=[0.25, 0.5, 1])"),
        (np.linspace(0, 1, 40).reshape(4, 10), "bitmap(threshold=0.5)"),
        (np.arange(256, dtype=np.uint8).reshape(16, 16), "bitmap(threshold=128)"),
        (np.array([[0, 5000, 60000]], np.uint16), "bitmap(threshold=30000)"),
    ],
)
def test_tables_with_several_values_are_asked_about(pixels: Any, settled: str) -> None:
    with pytest.raises(LabelError, match="row 2") as asked:
        allalike.read([("ada", 1, 0 * np.array(pixels)), ("bob", 1, np.array(pixels))], domain="bitmap")
    assert asked.value.options == {"domain": settled}
    allalike.read([("bob", 1, np.array(pixels))], domain=settled)


def test_one_value_beside_zero_needs_no_words_nor_do_truth_values() -> None:
    for pixels in ([[0, 0]], [[7, 7]], [[0, 255]], [[False, True]], [[0.0, -3.5]]):
        assert masked(pixels) == (np.array(pixels) != 0).tolist()
    assert masked(np.array([[False, True]]), threshold=128) == [[False, True]]
    answers = allalike.read([("ada", 7, np.array([[False, True]]))], domain=Bitmap(values=(1, 2)))
    assert [mask.area for mask in answers.label] == [1, 0]


@pytest.mark.parametrize(
    "options",
    [{"on": 1, "threshold": 2}, {"values": [1, 1]}, {"values": 3}, {"values": ["liver"]}, {"threshold": "half"}],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        Bitmap(**options)


def test_each_value_of_a_label_map_is_a_task(engine: allalike.Engine) -> None:
    odd = np.where(MAP == 2, 0, MAP)
    rows = [("ada", 7, MAP), ("bob", 7, MAP), ("eve", 7, odd), ("ada", 8, odd), ("bob", 8, odd), ("eve", 8, odd)]
    result = allalike.discover(rows, domain=Bitmap(values=(1, 2)), gold={7: MAP}, method="UA", engine=engine)
    assert result.truth["task"].tolist() == ["7/1", "7/2", "8/1", "8/2"]
    found = [mask.tolist() for mask in result.truth["label"]]
    assert found == [(MAP == 1).tolist(), (MAP == 2).tolist(), (MAP == 1).tolist(), np.zeros((2, 4), bool).tolist()]
    assert (result.summary["gold"]["tasks"], result.summary["gold"]["error"]) == (2, 0)
    eve = result.workers.set_index("worker").loc["eve"]
    assert (eve["answers"], eve["disparity"]) == (4, pytest.approx(1 / 4))
    later = result.update([("kim", 7, MAP), ("kim", 9, MAP)], gold={9: MAP})
    assert later.truth["task"].tolist()[-2:] == ["9/1", "9/2"]


def test_the_program_asks_with_the_command_to_copy_and_explains_what_it_wrote(tmp_path: Path) -> None:
    for worker in ("worker1", "worker2", "worker3"):
        (tmp_path / "maps" / worker).mkdir(parents=True)
        Image.fromarray(MAP).save(tmp_path / "maps" / worker / "ct7.png")
    typed = ["discover", tmp_path / "maps", "-o", tmp_path / "out", "--no-report", "--layout", "workers/tasks"]
    assert "--domain 'bitmap(values=[1, 2])'" in run(*typed, code=2)[1]
    run(*typed, "--domain", "bitmap(values=[1, 2])")
    assert '"ct7/2"' in (tmp_path / "out" / "truth.csv").read_text()
    assert run("explain", tmp_path / "out", "task", "ct7/2")[0].startswith("Task ct7/2")


ARRAYS: tuple[Any, ...] = (np.zeros((2, 2, 2)), [["a"]], np.array([[None]]), np.zeros((0, 3)), [[np.nan]])


def test_files_that_are_no_masks_are_named(tmp_path: Path) -> None:
    for number, array in enumerate(ARRAYS):
        np.save(tmp_path / f"array{number}.npy", array)
        np.savez(tmp_path / f"array{number}.npz", array)
    np.savez(tmp_path / "two.npz", MAP, MAP)
    for name, content in (("a.npy", b""), ("b.npy", b"hello"), ("c.npz", b"PK"), ("d.npz", b"")):
        (tmp_path / name).write_bytes(content)
    np.savez_compressed(tmp_path / "f.npz", np.arange(10_000, dtype=np.int64).reshape(100, 100) ** 2)
    broken = bytearray((tmp_path / "f.npz").read_bytes())
    broken[2000:2100] = bytes(100)
    (tmp_path / "f.npz").write_bytes(broken)
    np.save(tmp_path / "e.npy", MAP)
    (tmp_path / "e.npy").write_bytes((tmp_path / "e.npy").read_bytes()[:-3])
    Image.fromarray(np.array([[0, np.nan]], np.float32)).save(tmp_path / "g.tif")
    page = Image.fromarray(np.zeros((3, 3), np.uint8))
    page.save(tmp_path / "pages.tif", save_all=True, append_images=[page])
    files = sorted(tmp_path.iterdir())
    assert len(files) == 2 * len(ARRAYS) + 9
    for path in (*files, tmp_path / "none.png"):
        with pytest.raises(ValueError, match=f"{path.name} cannot be read"):
            read_picture(path)
    for name in ("a.npy", "d.npz", "two.npz"):
        with pytest.raises(ValueError, match=f"{name} cannot be read"):
            read_grid(tmp_path / name)


def test_results_are_saved_as_images(tmp_path: Path) -> None:
    masks = {"plain": disc(9, 9, (4, 4), 3), "../../out": disc(7, 9, (3, 3), 2), "PLAIN": disc(9, 9, (5, 4), 2)}
    rows = [(worker, task, ~mask) for worker in "ab" for task, mask in masks.items()]
    allalike.discover(rows, domain=Bitmap(on=0)).save(tmp_path / "out")
    table = allalike.readers.sources.open_table(tmp_path / "out" / "truth.csv")
    columns = {name: table.load([name])[name].to_pylist() for name in ("task", "label", "unweighted")}
    for task, path, unweighted in zip(*columns.values(), strict=True):
        assert (path.split("/")[0], unweighted.split("/")[0]) == ("labels", "unweighted")
        assert np.array_equal(np.array(Image.open(tmp_path / "out" / path)) == 0, masks[task])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_file_names_are_safe_and_different(tmp_path: Path) -> None:
    tasks = ["a", "A", "a/b", "a_b", "..", ".", "", "a\x00b", "x" * 500, "nul\n", "\u00e9", "/etc/passwd", 7]
    masks = [*[Mask.of(np.ones((1, 1), np.bool_))] * len(tasks), None]
    *paths, last = write_masks(masks, [*tasks, "none"], tmp_path / "masks")
    assert len({str(path).lower() for path in paths}) == len(tasks)
    assert last is None
    assert {f"masks/{path.name}" for path in (tmp_path / "masks").iterdir()} == set(paths)
    assert [path.name for path in tmp_path.iterdir()] == ["masks"]


WORKERS = ("ada", "bob", "eve", "joe")
CELLS = tuple(f"cell{k}" for k in range(5))
PATTERNS = {"tasks/workers": "{task}/{worker}.png", "workers/tasks": "{worker}/{task}.png"}


def draw(number: int, place: int, *, height: int = 24) -> npt.NDArray[np.bool_]:
    """Return a worker's mask of a cell."""
    return disc(height, 40, (8 + 2 * (number % 4), 6 + 9 * (number % 4)), 4 + 0.4 * place)


def lay_all(folder: Path, pattern: str) -> None:
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
    lay_all(tmp_path, pattern)
    if layout is not None:
        assert open_masks(tmp_path).guessed["layout"] == layout
        return
    with pytest.raises(InputError, match=r"unclear whether the folders .* manifest\.csv") as asked:
        open_masks(tmp_path)
    assert [dict(each.options) for each in asked.value.proposals] == [{"layout": each} for each in LAYOUTS]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_file_of_a_wrong_size_is_named(tmp_path: Path, layout: str) -> None:
    lay_all(tmp_path, PATTERNS[layout])
    save(tmp_path / PATTERNS[layout].format(task="cell2", worker="eve"), draw(2, 0, height=30))
    with pytest.raises(InputError, match=r"24 x 40 pixels, .*(eve|cell2)\.png with 30 x 40 pixels"):
        allalike.discover(tmp_path, layout=layout)


@pytest.mark.parametrize("ending", [".png", ".npy", ".npz"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_that_is_said_holds_for_images_and_arrays(tmp_path: Path, layout: str, ending: str) -> None:
    pattern = PATTERNS[layout].replace(".png", ending)
    lay_all(tmp_path, pattern)
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
    lay_all(tmp_path / "masks", PATTERNS["tasks/workers"])
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
    lay_all(tmp_path / "masks", PATTERNS["tasks/workers"])
    typed = ["discover", tmp_path / "masks", "-o", tmp_path / "out", "--no-report"]
    asked = run(*typed, code=2)[1]
    assert f"allalike discover {tmp_path}/masks -o {tmp_path}/out --no-report --layout tasks/workers" in asked
    run(*typed, "--layout", "tasks/workers")
    assert '"cell0","labels/cell0.png"' in (tmp_path / "out" / "truth.csv").read_text()
    lay_all(tmp_path / "named", "image_{task}/{worker}.png")
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
        lay_all(folder, PATTERNS["tasks/workers"])
        save(folder / path, draw(0, 0))
        with pytest.raises(InputError, match=words):
            open_masks(folder)
