"""Masks in files: layouts, manifests, images of all kinds, what is wrong with some, and a crowd's."""

from __future__ import annotations

import json
import math
import struct
import zlib
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

import allalike
from allalike._core.masks.files import MaskFile, picture_size, read_picture, write_masks
from allalike._core.masks.packed import Mask
from allalike.answers import Answers
from allalike.domains import contract
from allalike.domains.bitmap import Bitmap
from allalike.errors import ColumnError, InputError, LabelError
from allalike.readers.formats.masks import open_masks
from crowds.bitmap import disc

pytestmark = pytest.mark.slow

Pixels = npt.NDArray[np.bool_]


def save(path: Path, pixels: npt.ArrayLike) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(pixels, np.uint8) * 255).save(path)


def rows(folder: Path) -> list[tuple[str, str, str]]:
    """Return worker, task and file of each mask, sorted."""
    columns = open_masks(folder).load(["worker", "task", "label"])
    files = [Path(label.path).relative_to(folder).as_posix() for label in columns["label"]]
    return sorted(zip(columns["worker"], columns["task"], files, strict=True))


def answers(folder: Path, **options: Any) -> Answers:
    columns = open_masks(folder).columns({"worker": "worker", "task": "task", "label": "label"})
    return Answers.of_columns(**columns, domain=Bitmap(**options), repeats="error")


def draw(folder: Path, *, tasks: list[str], workers: list[str]) -> None:
    """Write one mask of each worker for each task; a task has a disc of its own, about which workers agree."""
    for number, task in enumerate(tasks):
        for place, worker in enumerate(workers):
            mask = disc(24, 40, (8 + 2 * (number % 4), 6 + 9 * (number % 4)), 4 + 0.4 * place)
            save(folder / f"{task}/{worker}.png", mask)


@pytest.mark.parametrize("outside", [True, False], ids=["tasks/workers", "workers/tasks"])
def test_names_tell_tasks_from_workers(tmp_path: Path, outside: bool) -> None:
    for task in ("image_1", "image_2"):
        for worker in ("annotator-1", "annotator-2"):
            save(tmp_path / (f"{task}/{worker}.png" if outside else f"{worker}/{task}.png"), np.ones((3, 3)))
    assert {(worker, task) for worker, task, _ in rows(tmp_path)} == {
        (f"annotator-{i}", f"image_{j}") for i in (1, 2) for j in (1, 2)
    }


def test_a_layout_that_cannot_be_told_asks_for_a_manifest(tmp_path: Path) -> None:
    for folder in "xy":
        for file in "ab":
            save(tmp_path / folder / f"{file}.png", np.ones((3, 3)))
    with pytest.raises(InputError, match=r"unclear whether the folders .* manifest\.csv"):
        open_masks(tmp_path)
    (tmp_path / "manifest.csv").write_text("path,Worker,task\nx/a.png,a,007\ny/a.png,a,8\nx/b.png,b,007\n")
    assert open_masks(tmp_path).layout == "manifest.csv"
    assert rows(tmp_path) == [("a", "007", "x/a.png"), ("a", "8", "y/a.png"), ("b", "007", "x/b.png")]


@pytest.mark.parametrize("odd", ["loose.png", "x/deep/a.TIFF"])
def test_a_mixed_layout_asks_for_a_manifest(tmp_path: Path, odd: str) -> None:
    save(tmp_path / "x" / "a.png", np.ones((3, 3)))
    save(tmp_path / odd, np.ones((3, 3)))
    with pytest.raises(InputError, match=f"unclear what {odd} .* manifest"):
        open_masks(tmp_path)


def test_a_mask_of_another_size_than_its_tasks_is_named(tmp_path: Path) -> None:
    save(tmp_path / "a.png", np.ones((3, 3)))
    save(tmp_path / "b.png", np.ones((3, 4)))
    (tmp_path / "manifest.csv").write_text("worker,task,path\na,1,a.png\nb,1,b.png\n")
    read = answers(tmp_path)
    with pytest.raises(LabelError, match=r"a\.png has 3 x 3 pixels, .*b\.png has 3 x 4 pixels"):
        read.encoding.prepare(next(read.blocks(100)))


def test_other_files_and_hidden_ones_are_left_alone(tmp_path: Path) -> None:
    draw(tmp_path, tasks=["task1", "task2"], workers=["ada", "bob"])
    (tmp_path / "README.txt").write_text("about these masks")
    (tmp_path / "task1" / "Thumbs.db").write_text("")
    save(tmp_path / ".cache" / "ada.png", np.ones((9, 9)))
    save(tmp_path / "task1" / ".ada.png", np.ones((9, 9)))
    assert len(rows(tmp_path)) == 4


@pytest.mark.parametrize("made", ["nothing", "empty folders", "other files"])
def test_a_folder_without_masks_is_an_error(tmp_path: Path, made: str) -> None:
    if made != "nothing":
        (tmp_path / "task").mkdir()
    if made == "other files":
        (tmp_path / "task" / "notes.txt").write_text("x")
    with pytest.raises(InputError, match="no masks in it"):
        open_masks(tmp_path)


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        open_masks(tmp_path / "nowhere")


def test_two_images_of_one_name_are_an_error(tmp_path: Path) -> None:
    save(tmp_path / "x" / "a.png", np.ones((3, 3)))
    save(tmp_path / "x" / "a.tif", np.ones((3, 3)))
    with pytest.raises(InputError, match="two images called x/a"):
        open_masks(tmp_path)


@pytest.mark.parametrize("link", ["task1/eve.png", "task3", "manifest.csv"])
def test_a_link_that_leads_out_of_the_folder_is_an_error(tmp_path: Path, link: str) -> None:
    inside, outside = tmp_path / "masks", tmp_path / "elsewhere"
    draw(inside, tasks=["task1", "task2"], workers=["ada", "bob"])
    save(outside / "eve.png", np.ones((3, 3)))
    (outside / "manifest.csv").write_text("worker,task,path\na,1,task1/ada.png\n")
    targets = {"task1/eve.png": outside / "eve.png", "task3": outside, "manifest.csv": outside / "manifest.csv"}
    (inside / link).symlink_to(targets[link])
    with pytest.raises(InputError, match="leads out of"):
        open_masks(inside)


def test_a_link_within_the_folder_is_followed_and_one_to_itself_is_an_error(tmp_path: Path) -> None:
    draw(tmp_path, tasks=["task1", "task2"], workers=["ada", "bob"])
    (tmp_path / "task1" / "eve.png").symlink_to(tmp_path / "task1" / "ada.png")
    assert len(rows(tmp_path)) == 5
    (tmp_path / "task1" / "loop.png").symlink_to(tmp_path / "task1" / "loop.png")
    with pytest.raises(InputError, match="cannot be followed"):
        open_masks(tmp_path)


@pytest.mark.parametrize(
    ("manifest", "error", "message"),
    [
        ("worker,task,path\na,1,../out.png\n", InputError, "leads out of"),
        ("worker,task,path\na,1,/etc/passwd\n", InputError, "leads out of"),
        ("worker,task,path\na,1,in.png\nb,1,none.png\n", InputError, "Row 2 .*'none.png', but there is no such file"),
        ("worker,task,path\na,1,\n", InputError, "Row 1 .* has no path"),
        ("worker,task,file\na,1,in.png\n", ColumnError, "no column 'path'"),
        ("", InputError, "is empty"),
    ],
)
def test_a_manifest_that_is_wrong_is_an_error(
    tmp_path: Path, manifest: str, error: type[Exception], message: str
) -> None:
    save(tmp_path / "out.png", np.ones((3, 3)))
    save(tmp_path / "masks" / "in.png", np.ones((3, 3)))
    (tmp_path / "masks" / "manifest.csv").write_text(manifest)
    with pytest.raises(error, match=message):
        open_masks(tmp_path / "masks")


def header(width: int, height: int) -> bytes:
    """Return a PNG that claims a size and holds no pixels."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    start = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + start + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def truncated() -> bytes:
    import io

    buffer = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64), np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()[:2000]


BROKEN = {
    "not an image": (b"hello", "cannot be decoded: it is neither PNG nor TIFF"),
    "nothing at all": (b"", "cannot be decoded"),
    "an end too soon": (truncated(), "cannot be decoded"),
    "no pixels": (header(30, 30), "cannot be decoded"),
    "too large": (header(20_000, 6_000), "too large an image: it has 6000 x 20000 pixels"),
    "far too large": (header(2**31 - 1, 2**31 - 1), "too large an image"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_an_image_that_cannot_be_read_is_named(tmp_path: Path, kind: str) -> None:
    content, reason = BROKEN[kind]
    (tmp_path / "odd.png").write_bytes(content)
    with pytest.raises(ValueError, match=f"odd.png.*{reason}|odd.png is {reason}"):
        read_picture(tmp_path / "odd.png")
    (tmp_path / "manifest.csv").write_text("worker,task,path\nada,1,odd.png\n")
    with pytest.raises(LabelError, match=r"The label in row 1 does not fit: .*odd\.png"):
        answers(tmp_path)


@pytest.mark.parametrize("kind", BROKEN)
def test_an_image_that_cannot_be_read_is_named_in_a_layout_too(tmp_path: Path, kind: str) -> None:
    draw(tmp_path, tasks=["task1", "task2"], workers=["ada", "bob"])
    (tmp_path / "task1" / "ada.png").write_bytes(BROKEN[kind][0])
    with pytest.raises(InputError, match=r"task1/ada\.png"):
        answers(tmp_path)


MODES = {".png": ("1", "L", "LA", "RGB", "RGBA", "P", "I;16"), ".TIFF": ("1", "L", "LA", "RGBA", "P", "I;16", "I", "F")}


@pytest.mark.parametrize(("ending", "mode"), [(ending, mode) for ending, modes in MODES.items() for mode in modes])
def test_images_of_every_kind_are_read(tmp_path: Path, mode: str, ending: str) -> None:
    mask = disc(9, 12, (4, 5), 3)
    grey = Image.fromarray(mask.astype(np.uint8) * 255)
    image = grey.convert("RGB").convert(mode) if mode in ("LA", "RGBA", "P") else grey.convert(mode)
    image.save(tmp_path / f"mask{ending}")
    label = MaskFile(str(tmp_path / f"mask{ending}"))
    assert np.array_equal(Bitmap().parse(label).pixels(), mask)
    assert np.array_equal(Bitmap(on=0).parse(label).pixels(), ~mask)


def test_colours_count_and_transparency_does_not(tmp_path: Path) -> None:
    pixels = np.array([[[0, 0, 9, 0], [0, 0, 0, 255], [0, 0, 0, 0], [7, 7, 7, 255]]], np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    Image.fromarray(pixels[:, :3]).save(tmp_path / "b.png")
    label = MaskFile(str(tmp_path / "a.png"))
    assert Bitmap().parse(MaskFile(str(tmp_path / "b.png"))).pixels().tolist() == [[True, False, False]]
    with pytest.raises(LabelError, match="a.png has pixels of 2 colours other than black"):
        Bitmap().parse(label)
    assert Bitmap(threshold=1).parse(label).pixels().tolist() == [[True, False, False, True]]
    assert Bitmap(threshold=8).parse(label).pixels().tolist() == [[True, False, False, False]]
    assert Bitmap(on=0).parse(label).pixels().tolist() == [[False, True, True, False]]
    assert Bitmap(on=7).parse(label).pixels().tolist() == [[False, False, False, True]]


def test_of_a_palette_the_colour_counts_or_the_number_that_was_asked_for(tmp_path: Path) -> None:
    image = Image.fromarray(np.array([[0, 1, 2]], np.uint8), mode=None).convert("P")
    image.putdata([0, 1, 2])
    image.putpalette([255, 255, 255, 0, 0, 0, 255, 255, 255])
    image.save(tmp_path / "a.png", transparency=b"\x00\x80\xff")
    label = MaskFile(str(tmp_path / "a.png"))
    assert Bitmap().parse(label).pixels().tolist() == [[True, False, True]]
    assert Bitmap(on=2).parse(label).pixels().tolist() == [[False, False, True]]


def test_an_image_of_several_pages_is_refused(tmp_path: Path) -> None:
    page = Image.fromarray(np.zeros((3, 3), np.uint8))
    page.save(tmp_path / "a.tif", save_all=True, append_images=[page])
    with pytest.raises(ValueError, match="holds 2 images"):
        read_picture(tmp_path / "a.tif")


def test_the_folders_of_bubil_are_recognised(data: Path) -> None:
    table = open_masks(data / "bubil_crowd_segmentation" / "BU-BIL_Dataset1" / "CrowdsourcedAnnotations")
    columns = table.load(["worker", "task"])
    assert sorted(set(columns["worker"])) == [f"mturk_annotation1-{slot}" for slot in range(1, 8)]
    assert len(set(columns["task"])) == 35


def test_results_are_saved_as_images(tmp_path: Path) -> None:
    masks = {"plain": disc(9, 9, (4, 4), 3), "../../out": disc(7, 9, (3, 3), 2), "PLAIN": disc(9, 9, (5, 4), 2)}
    rows = [(worker, task, ~mask) for worker in "ab" for task, mask in masks.items()]
    allalike.discover(rows, domain=Bitmap(on=0)).save(tmp_path / "out")
    table = allalike.readers.sources.open_table(tmp_path / "out" / "truth.csv")
    columns = {name: table.load([name])[name].to_pylist() for name in ("task", "label", "unweighted")}
    for task, path, unweighted in zip(*columns.values(), strict=True):
        assert path.startswith("labels/")
        assert unweighted.startswith("unweighted/")
        assert np.array_equal(np.array(Image.open(tmp_path / "out" / path)) == 0, masks[task])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_file_names_are_safe_and_different(tmp_path: Path) -> None:
    tasks = ["a", "A", "a/b", "a_b", "..", ".", "", "a\x00b", "x" * 500, "nul\n", "\u00e9", "/etc/passwd", 7]
    paths = list(map(str, write_masks([Mask.of(np.ones((1, 1), np.bool_))] * len(tasks), tasks, tmp_path / "masks")))
    assert len({path.lower() for path in paths}) == len(tasks)
    assert sorted(f"masks/{path.name}" for path in (tmp_path / "masks").iterdir()) == sorted(paths)
    assert [path.name for path in tmp_path.iterdir()] == ["masks"]


def bubil_window(gold: Pixels) -> tuple[slice, slice]:
    """Return the crop of a BUBIL image: the gold box, enlarged by half of each side, rounded up."""
    window = []
    for axis in (1, 0):
        places = np.flatnonzero(gold.any(axis=axis))
        first, last = int(places[0]), int(places[-1])
        more = math.ceil((last - first + 1) / 2)
        window.append(slice(max(first - more, 0), min(last + more + 2, gold.shape[1 - axis])))
    return window[0], window[1]


@pytest.mark.parametrize("number", [pytest.param(number, marks=pytest.mark.long) for number in (1, 2, 3)])
def test_the_crowd_of_bubil_scores_as_is_known(data: Path, number: int) -> None:
    source = data / "bubil_crowd_segmentation"
    folder = source / f"BU-BIL_Dataset{number}"
    rows, gold = [], {}
    for path in sorted((folder / "GoldStandard").iterdir()):
        whole = Bitmap(on=0).parse(MaskFile(str(path))).pixels()
        truth = whole[bubil_window(whole)]
        masks = [slot / path.name for slot in sorted((folder / "CrowdsourcedAnnotations").iterdir())]
        if picture_size(masks[0]) == truth.shape:
            gold[path.stem] = np.where(truth, 0, 255)
            rows += [(slot, path.stem, MaskFile(str(mask))) for slot, mask in enumerate(masks)]
    facts = json.loads((source / "SOURCE.json").read_text())["verification"][f"Dataset{number}"]["rule_exact"]
    assert len(gold) == facts["n_images"]
    known = allalike.readers.read_gold(gold, allalike.read(rows, domain=Bitmap(on=0)))
    for rule, score in (("majority", facts["pixel_majority_Jaccard"]), ("medoid", facts["medoid_Jaccard"])):
        result = allalike.discover(replace(known, encoding=contract.with_rule(known.encoding, rule)), method="UA")
        assert 1 - result.summary["gold"]["error"] == pytest.approx(score, abs=1e-4)
    crowd = known.encoding.kernels.distance_between(known.label, np.repeat(known.gold_label, 7))
    assert 1 - crowd.mean() == pytest.approx(facts["mean_crowd_Jaccard"], abs=1e-4)
    assert 1 - crowd.reshape(-1, 7).min(axis=1).mean() == pytest.approx(facts["best_of_7_Jaccard"], abs=1e-4)


def with_rule(domain: Any, rule: str) -> Any:
    """Return a domain that knows its labels with another rule."""
    other = copy(domain)
    object.__setattr__(other, "rule", rule)
    return other
