"""Volumes of NIfTI files are masks: read, compared, found and written back where they lie."""

import gzip
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pandas as pd
import pytest

import allalike
from allalike.errors import AllalikeError, InputError, LabelError
from running.program import run

AFFINE = np.array([[0.0, -0.8, 0.0, 12.0], [0.8, 0.0, 0.0, -3.0], [0.0, 0.0, 2.5, 40.0], [0.0, 0.0, 0.0, 1.0]])


def ball(shift: int = 0, radius: float = 4.0) -> Any:
    x, y, z = np.mgrid[:14, :12, :9]
    return (x - 6 - shift) ** 2 + (y - 5) ** 2 + (z - 4) ** 2 <= radius**2


def save(path: Path, voxels: Any, affine: Any = AFFINE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    nibabel.save(nibabel.Nifti1Image(voxels, affine), path)  # type: ignore[no-untyped-call]
    return path


def readers(folder: Path, ending: str = ".nii.gz") -> Path:
    for task in ("task1", "task2"):
        for worker, shift in (("ada", 0), ("bob", 0), ("eve", 2)):
            save(folder / task / f"{worker}{ending}", ball(shift).astype(np.uint8))
    return folder


@pytest.mark.parametrize("ending", [".nii", ".nii.gz"])
def test_truths_are_written_loaded_and_updated_with_the_matrix_of_the_answers(ending: str, tmp_path: Path) -> None:
    folder, out = readers(tmp_path / "scans", ending), tmp_path / "out"
    run("discover", folder, "-o", out, "-q")
    run("discover", folder, "-o", out, "-q")  # which makes way
    for task in ("task1", "task2"):
        save(tmp_path / "more" / task / "zoe.nii.gz", ball().astype(np.uint8))
    assert np.array_equal(allalike.load(out).truth["label"][0], ball())
    assert allalike.update(out, tmp_path / "more").summary["answers"] == 8
    table = pd.read_csv(out / "truth.csv")
    assert table["label"].tolist() == ["labels/task1.nii.gz", "labels/task2.nii.gz"]
    written: Any = nibabel.load(out / table["label"][0])
    assert np.array_equal(np.asarray(written.dataobj).astype(bool), ball())
    assert np.allclose(written.affine, AFFINE)


def test_volumes_at_different_places_and_of_different_shapes_are_refused(tmp_path: Path) -> None:
    folder = readers(tmp_path / "scans")
    odd = save(folder / "task1" / "kim.nii.gz", ball().astype(np.uint8), AFFINE + np.diag([0, 0, 0.5, 0]))
    with pytest.raises(LabelError, match="affine matrices"):
        allalike.discover(folder)
    save(odd, ball().astype(np.uint8), AFFINE * (1 + 1e-6))
    assert len(allalike.discover(folder).workers) == 4  # which only rounding tells apart
    save(odd, ball()[:, :, 1:].astype(np.uint8))
    with pytest.raises(InputError, match=r"14 x 12 x 9 .*kim.nii.gz with 14 x 12 x 8"):
        allalike.discover(folder)


def test_what_is_no_volume_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    folder = readers(tmp_path / "scans")
    odd = folder / "task1" / "kim.nii.gz"
    four = save(odd, np.zeros((4, 4, 4, 3), np.uint8)).read_bytes()
    cut = gzip.compress(gzip.decompress(save(odd, ball().astype(np.float32)).read_bytes())[:-100])
    for content in (b"no volume", gzip.compress(b"\0" * 400), four, cut):
        odd.write_bytes(content)
        _, err = run("discover", folder, "-o", tmp_path / "out", code=2)
        assert "kim.nii.gz cannot be read" in err
        assert not (tmp_path / "out").exists()


def test_without_nibabel_one_line_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = readers(tmp_path / "scans")
    monkeypatch.setitem(__import__("sys").modules, "nibabel", None)
    with pytest.raises(AllalikeError, match="nibabel.*pip install 'allalike.medical.'"):
        allalike.read(folder)


def test_a_truth_may_be_a_path_or_an_array_and_a_report_shows_volumes(tmp_path: Path) -> None:
    folder = readers(tmp_path / "scans")
    gold = {"task1": save(tmp_path / "gold.nii", ball().astype(np.uint8)), "task2": folder / "task2" / "eve.nii.gz"}
    result = allalike.discover(folder, gold=gold, use_gold=False, method="UA")
    assert result.summary["gold"]["error"] == pytest.approx(
        0.5 - 0.5 * (ball() & ball(2)).sum() / (ball() | ball(2)).sum()
    )
    assert allalike.discover(folder, gold={"task1": ball()}, method="UA", use_gold=False).summary["gold"]["error"] == 0
    assert "<!doctype html>" in result.report(tmp_path / "page.html").read_text(encoding="utf-8")
