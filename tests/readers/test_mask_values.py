"""What the values of pixels mean: one object, shades of grey, or the objects of a label map."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

import allalike
from allalike._core.masks.files import MaskFile, picture_size, read_picture
from allalike.domains.bitmap import Bitmap
from allalike.errors import GoldError, InputError, LabelError, OptionError
from running.program import run

MAP = np.array([[0, 0, 1, 1], [2, 2, 1, 1]], np.uint8)
GREY = np.array([[0, 100, 128, 255]], np.uint8)


def masked(path: Path, **options: Any) -> list[list[bool]]:
    listed: list[list[bool]] = Bitmap(**options).parse(MaskFile(str(path))).pixels().tolist()
    return listed


def store(folder: Path, kind: str, pixels: npt.NDArray[Any]) -> Path:
    """Write pixels as a file of some kind."""
    path = folder / f"mask{'.tif' if kind == 'float' else '.png' if kind in ('L', 'P', 'RGB', '16') else kind}"
    if kind == ".npy":
        np.save(path, pixels)
    elif kind == ".npz":
        np.savez(path, pixels)
    elif kind == "float":
        Image.fromarray(pixels.astype(np.float32)).save(path)
    elif kind == "16":
        Image.fromarray(pixels.astype(np.uint16)).save(path)
    elif kind == "P":
        image = Image.fromarray(pixels, mode=None).convert("P")
        image.putdata(pixels.ravel().tolist())
        image.putpalette([0, 0, 0, 200, 0, 0, 0, 200, 0] + [9] * 753)
        image.save(path)
    else:
        Image.fromarray(pixels).convert(kind).save(path)
    return path


@pytest.mark.parametrize("kind", ["L", "P", "16", "float", ".npy", ".npz"])
def test_a_label_map_is_asked_about_and_its_values_are_masks(tmp_path: Path, kind: str) -> None:
    path = store(tmp_path, kind, MAP)
    with pytest.raises(LabelError, match=r"mask\.\w+ has pixels of 2 values other than 0, from 1 to 2") as asked:
        masked(path)
    assert asked.value.settles == {"domain": "bitmap(values=[1, 2])"}
    answers = allalike.read([("ada", "ct7", MaskFile(str(path)))], domain="bitmap(values=[1, 2])")
    assert answers.tasks.tolist() == ["ct7/1", "ct7/2"]
    assert [mask.pixels().tolist() for mask in answers.label] == [(MAP == 1).tolist(), (MAP == 2).tolist()]


@pytest.mark.parametrize("kind", ["L", "RGB", "16", "float", ".npy", ".npz"])
def test_grey_needs_a_threshold_which_belongs_to_the_object(tmp_path: Path, kind: str) -> None:
    path = store(tmp_path, kind, GREY)
    with pytest.raises(LabelError, match="3 (values other than 0, from 100 to 255|colours other than black)") as asked:
        masked(path)
    assert asked.value.settles["domain"].startswith("bitmap(threshold=12")
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
    with pytest.raises(LabelError, match="The label in row 2 does not fit: its pixels have") as asked:
        allalike.read([("ada", 1, 0 * np.array(pixels)), ("bob", 1, np.array(pixels))], domain="bitmap")
    assert asked.value.settles == {"domain": settled}
    allalike.read([("bob", 1, np.array(pixels))], domain=settled)


@pytest.mark.parametrize("pixels", [[[0, 0]], [[7, 7]], [[0, 255]], [[False, True]], [[0.0, -3.5]]])
def test_one_value_beside_zero_needs_no_words(pixels: Any) -> None:
    assert Bitmap().parse(pixels).pixels().tolist() == (np.array(pixels) != 0).tolist()


def test_of_truth_values_a_map_has_those_of_its_values_that_they_are() -> None:
    answers = allalike.read([("ada", 7, np.array([[False, True]]))], domain=Bitmap(values=(1, 2)))
    assert [mask.area for mask in answers.label] == [1, 0]


def test_truth_values_are_what_they_are_whatever_the_threshold() -> None:
    assert Bitmap(threshold=128).parse(np.array([[False, True]])).pixels().tolist() == [[False, True]]


@pytest.mark.parametrize("colour", [0, 255])
@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_an_image_of_one_colour_is_told_by_its_opacity(tmp_path: Path, mode: str, colour: int) -> None:
    opacity = np.array([[0, 255, 255]], np.uint8)
    plain = np.full((1, 3), colour, np.uint8)
    bands = [plain] * (len(mode) - 1)
    Image.merge(mode, [Image.fromarray(band) for band in (*bands, opacity)]).save(tmp_path / "a.png")
    assert masked(tmp_path / "a.png") == [[False, True, True]]
    Image.merge(mode, [Image.fromarray(band) for band in (*bands, 0 * opacity)]).save(tmp_path / "b.png")
    assert masked(tmp_path / "b.png") == [[False, False, False]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on": 1, "threshold": 2}, "on and threshold both say"),
        ({"values": [1, 1]}, r"values is \[1, 1\]. It must be a list of different pixel values"),
        ({"values": 3}, "values is 3"),
        ({"values": ["liver"]}, "each of values is 'liver'"),
        ({"threshold": "half"}, "threshold is 'half'"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Bitmap(**options)


def test_each_value_of_a_label_map_is_a_task(engine: allalike.Engine) -> None:
    odd = np.where(MAP == 2, 0, MAP)
    rows = [("ada", 7, MAP), ("bob", 7, MAP), ("eve", 7, odd), ("ada", 8, odd), ("bob", 8, odd), ("eve", 8, odd)]
    result = allalike.discover(rows, domain=Bitmap(values=(1, 2)), gold={7: MAP}, method="UA", engine=engine)
    assert result.truth["task"].tolist() == ["7/1", "7/2", "8/1", "8/2"]
    found = [mask.tolist() for mask in result.truth["label"]]
    assert found == [(MAP == 1).tolist(), (MAP == 2).tolist(), (MAP == 1).tolist(), np.zeros((2, 4), bool).tolist()]
    assert (result.summary["gold"]["tasks"], result.summary["gold"]["error"]) == (2, 0)
    assert result.summary["domain"]["values"] == [1, 2]
    eve = result.workers.set_index("worker").loc["eve"]
    assert (eve["answers"], eve["disparity"]) == (4, pytest.approx(1 / 4))


def test_later_answers_and_truths_are_split_too() -> None:
    domain = Bitmap(values=(1, 2))
    first = allalike.discover([("ada", 7, MAP), ("bob", 7, MAP)], domain=domain, method="UA")
    later = first.update([("eve", 7, MAP), ("eve", 9, MAP)], gold={9: MAP})
    assert later.truth["task"].tolist() == ["7/1", "7/2", "9/1", "9/2"]
    with pytest.raises(GoldError, match="None of the 2 tasks with gold was answered. The first is '3/1'"):
        allalike.discover([("ada", 7, MAP)], domain=domain, gold={3: MAP})


def test_run_lengths_are_no_label_map() -> None:
    with pytest.raises(LabelError, match="row 1 .*run lengths are a mask, of one object, and no label map"):
        allalike.read([("ada", 1, {"size": [2, 3], "counts": "123"})], domain=Bitmap(values=(1,)))


def test_rows_of_label_maps_are_named_as_they_came() -> None:
    with pytest.raises(LabelError, match="The label in row 2 does not fit"):
        allalike.read([("ada", 1, MAP), ("bob", 1, MAP[0])], domain=Bitmap(values=(1, 2, 3)))
    with pytest.raises(InputError, match="Row 2 has no task"):
        allalike.read([("ada", 1, MAP), ("bob", None, MAP)], domain=Bitmap(values=(1, 2, 3)))


def test_the_program_asks_with_the_command_to_copy_and_explains_what_it_wrote(tmp_path: Path) -> None:
    for worker in ("worker1", "worker2", "worker3"):
        (tmp_path / "maps" / worker).mkdir(parents=True)
        Image.fromarray(MAP).save(tmp_path / "maps" / worker / "ct7.png")
    typed = ["discover", tmp_path / "maps", "-o", tmp_path / "out", "--no-report"]
    asked = run(*typed, code=2)[1]
    assert f"allalike discover {tmp_path}/maps -o {tmp_path}/out --no-report --domain 'bitmap(values=[1, 2])'" in asked
    run(*typed, "--domain", "bitmap(values=[1, 2])")
    assert '"ct7/2"' in (tmp_path / "out" / "truth.csv").read_text()
    assert run("explain", tmp_path / "out", "task", "ct7/2")[0].startswith("Task ct7/2")


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.zeros((2, 2, 2)), "it holds 2 x 2 x 2 of float64"),
        (np.array([["a"]]), "a mask has rows and columns of numbers"),
        (np.array([[None]]), "a mask has rows and columns of numbers"),
        (np.zeros((0, 3)), "it has 0 x 3 pixels"),
        (np.array([[np.nan]]), "a pixel that is not a finite number"),
    ],
)
@pytest.mark.parametrize("ending", [".npy", ".npz"])
def test_an_array_that_is_no_mask_is_named(tmp_path: Path, array: Any, reason: str, ending: str) -> None:
    path = tmp_path / f"odd{ending}"
    np.save(path, array) if ending == ".npy" else np.savez(path, array)
    with pytest.raises(ValueError, match=rf"odd{ending} .*{reason}"):
        read_picture(path)


def test_files_that_are_no_arrays_are_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "two.npz", MAP, MAP)
    with pytest.raises(ValueError, match=r"two\.npz cannot be read: it holds 2 arrays"):
        picture_size(tmp_path / "two.npz")
    for name, content in (("a.npy", b""), ("b.npy", b"hello"), ("c.npz", b"PK"), ("d.npz", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=f"{name} cannot be read"):
            picture_size(tmp_path / name)
    np.savez_compressed(tmp_path / "f.npz", np.arange(10_000, dtype=np.int64).reshape(100, 100) ** 2)
    broken = bytearray((tmp_path / "f.npz").read_bytes())
    broken[2000:2100] = bytes(100)
    (tmp_path / "f.npz").write_bytes(broken)
    with pytest.raises(ValueError, match=r"f\.npz cannot be read"):
        read_picture(tmp_path / "f.npz")
    np.save(tmp_path / "e.npy", MAP)
    (tmp_path / "e.npy").write_bytes((tmp_path / "e.npy").read_bytes()[:-3])
    with pytest.raises(ValueError, match=r"e\.npy cannot be read"):
        read_picture(tmp_path / "e.npy")


def test_a_float_image_with_a_pixel_that_is_no_number_is_named(tmp_path: Path) -> None:
    Image.fromarray(np.array([[0, np.nan]], np.float32)).save(tmp_path / "a.tif")
    with pytest.raises(ValueError, match=r"a\.tif has a pixel that is not a finite number"):
        masked(tmp_path / "a.tif")
