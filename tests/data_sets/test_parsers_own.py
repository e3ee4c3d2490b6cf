"""Files that a user drops in, and files that are not what they should be."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from allalike._core.masks.files import write_masks
from allalike._core.masks.packed import Mask
from allalike.errors import InputError
from allalike.readers import read_gold
from crowd_data import PARSERS

pytestmark = pytest.mark.slow

ROWS = {
    "GG": ("yes", "no"),
    "DOGS": ("pug", "beagle"),
    "FLAGS": ("Chad", "Mali"),
    "BUILD": ("310.5", "290"),
}


def write(folder: Path, labels: tuple[str, str]) -> None:
    answers = [f"ada,1,{labels[0]}", f"bob,1,{labels[1]}", f"ada,2,{labels[1]}"]
    (folder / "answers.csv").write_text("\n".join(["worker,task,label", *answers]), encoding="utf-8")
    (folder / "truth.csv").write_text(f"task,label\n1,{labels[0]}\n2,{labels[1]}\n", encoding="utf-8")


@pytest.mark.parametrize(("name", "labels"), ROWS.items())
def test_two_files_in_a_folder_are_a_data_set(tmp_path: Path, name: str, labels: tuple[str, str]) -> None:
    write(tmp_path, labels)
    found = PARSERS[name].parse(tmp_path)
    answers = read_gold(found.gold, found.answers)
    assert (len(answers.workers), len(answers.tasks), answers.n_answers, len(found.gold)) == (2, 2, 3, 2)
    assert answers.encoding.kernels.distance_between(answers.label[:1], answers.gold_label[:1]).tolist() == [0]
    assert answers.domain.name == ("real" if name == "BUILD" else "categorical")


RUNS = json.dumps({"size": [5, 5], "counts": [0, 12, 1, 12]}).replace('"', '""')


@pytest.mark.parametrize("label", ["masks/ada.png", f'"{RUNS}"'])
def test_outlines_are_images_or_run_lengths_and_are_filled(tmp_path: Path, label: str) -> None:
    ring = np.ones((5, 5), np.bool_)
    ring[2, 2] = False
    write_masks([Mask.of(ring)], ["ada"], tmp_path / "masks")
    (tmp_path / "answers.csv").write_text(f"worker,task,label\nada,7,{label}\nbob,7,{label}\n")
    (tmp_path / "truth.csv").write_text("task,label\n7,masks/ada.png\n")
    found = PARSERS["ETCH"].parse(tmp_path)
    answers = read_gold(found.gold, found.answers)
    assert [mask.all() for mask in answers.encoding.decode(answers.label).tolist()] == [True, True]
    assert answers.encoding.kernels.distance_between(answers.label, np.repeat(answers.gold_label, 2)).tolist() == [0, 0]


def outline(folder: Path, number: int) -> None:
    """Write a set of two pictures by two workers, who see nine pixels of one and eight of the other."""
    root = folder / f"BU-BIL_Dataset{number}"
    whole = np.zeros((20, 30), np.bool_)
    whole[8:12, 18:22] = True
    for worker in ("mturk_1", "mturk_2"):
        parts = [whole[6:15, 16:25], whole[6:14, 16:24]]
        write_masks(list(map(Mask.of, parts)), ["seg_A", "seg_b"], root / "CrowdsourcedAnnotations" / worker, on=0)
    write_masks([Mask.of(whole)] * 2, ["seg_a", "seg_b"], root / "GoldStandard", on=0)


def test_outlines_lie_where_the_truth_does(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        outline(tmp_path, number)
    for name, tasks in (("", ["1/seg_A", "2/seg_A", "3/seg_A"]), ("/2", ["seg_A", "seg_b"])):
        found = PARSERS[f"bubil_crowd_segmentation{name}"].parse(tmp_path)
        answers = read_gold(found.gold, found.answers)
        assert answers.tasks.tolist() == tasks  # without a known place only in the set as a whole
        apart = answers.encoding.kernels.distance_between(answers.label, np.repeat(answers.gold_label, 2))
        assert apart.tolist() == [0] * (2 * len(tasks))


def test_an_outline_without_truth_is_a_clear_error(tmp_path: Path) -> None:
    outline(tmp_path, 1)
    next((tmp_path / "BU-BIL_Dataset1" / "GoldStandard").glob("seg_b*")).unlink()
    with pytest.raises(InputError, match="no mask of seg_b"):
        PARSERS["bubil_crowd_segmentation/1"].parse(tmp_path)


@pytest.mark.parametrize("name", PARSERS)
def test_an_empty_folder_is_a_clear_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=re.escape(str(tmp_path))):
        PARSERS[name].parse(tmp_path)


@pytest.mark.parametrize(
    ("name", "file", "content", "said"),
    [
        ("GG", "answers.csv", "who,task,label\nada,1,x\n", "no column 'worker'"),
        ("bench_labelme", "answer.csv", "1,2,3\n1,2\n", "cannot be read"),
        ("snow_wordsim", "wordsim.standardized.tsv", "orig_id\tgold\n1\t2\n", "no column '!amt_worker_ids'"),
        ("TRI1", "Exp1data.csv", "SubjectID,Angle\n1,2\n", "no column 'Base factor'"),
        ("llmbar_llm_judges/Natural", "Dataset/LLMBar/Natural/dataset.json", "[{", "cannot be read: Expecting"),
        ("llmbar_llm_judges/Natural", "Dataset/LLMBar/Natural/dataset.json", "[{}]", "are not those of 'llmbar"),
        ("Chinese", "answer.csv", "question_id,worker1\nfirst,A\n", "are not those of 'quiz_chinese'"),
    ],
)
def test_a_file_that_is_not_the_original_is_a_clear_error(
    tmp_path: Path, name: str, file: str, content: str, said: str
) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(content)
    with pytest.raises(InputError, match=said):
        PARSERS[name].parse(tmp_path)
