"""Every data set has the counts of the catalogue; files that a user drops in, and files that are not the original."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from allalike._core.masks import Mask, write_masks
from allalike.datasets import SOURCES
from allalike.domains import DOMAINS
from allalike.errors import InputError
from allalike.readers import read_gold
from crowd_data import PARSERS
from crowd_data.segments import located
from files.parsed_data_sets import facts, parsed, with_gold
from running.turns import in_turn

pytestmark = pytest.mark.slow

BUBIL = "bubil_crowd_segmentation"
PUBLIC = [name for name, parser in PARSERS.items() if SOURCES[parser.source].public and parser.source != BUBIL]


@pytest.mark.parametrize("name", in_turn(PUBLIC, 2))
def test_a_data_set_has_the_known_numbers_of_workers_tasks_answers_and_truths(data: Path, name: str) -> None:
    found, answers = parsed(data, name), with_gold(data, name)
    known = SOURCES[PARSERS[name].source].datasets[name]
    counts = {"workers": len(answers.workers), "tasks": len(answers.tasks), "answers": answers.n_answers}
    assert {**counts, "gold": len(found.gold)} == {key: known[key] for key in (*counts, "gold")}
    assert set(found.gold) <= set(answers.tasks.tolist())
    assert answers.notes["gold"]["without_answers"] == 0
    assert answers.domain.name == known["domain"]
    assert known["domain"] in DOMAINS


@pytest.mark.parametrize("number", range(1, 7))
def test_a_set_of_outlines_has_seven_for_each_picture(data: Path, number: int) -> None:
    known = facts(data, BUBIL)["verification"][f"Dataset{number}"]
    rows, gold, sure = located(data / BUBIL, number)
    assert len({worker for worker, _, _ in rows}) == 7
    assert len(rows) == 7 * len(gold) == 7 * known["n_images"]
    assert len(sure) == known["n_crop_window_exact"]


def test_every_folder_has_a_data_set_and_every_name_is_clear(data: Path) -> None:
    folders = {path.parent.name for path in data.glob("*/SOURCE.json")}
    assert folders <= {parser.source for parser in PARSERS.values()}
    assert len({name.casefold() for name in PARSERS}) == len(PARSERS)
    for name, parser in PARSERS.items():
        assert name == parser.name
        assert parser.summary
        assert "/" not in name or name.partition("/")[0] == parser.source


def test_names_of_persons_are_not_taken_over(data: Path) -> None:
    header = (data / "quiz_pokemon" / "answer.csv").read_text(encoding="utf-8").splitlines()[0]
    assert set(parsed(data, "Pokemon").answers.workers.tolist()).isdisjoint(header.split(","))


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [("GG", "yes", "no"), ("DOGS", "pug", "beagle"), ("FLAGS", "Chad", "Mali"), ("BUILD", "310.5", "290")],
)
def test_two_files_in_a_folder_are_a_data_set(tmp_path: Path, name: str, one: str, other: str) -> None:
    (tmp_path / "answers.csv").write_text(f"worker,task,label\nada,1,{one}\nbob,1,{other}\nada,2,{other}\n")
    (tmp_path / "truth.csv").write_text(f"task,label\n1,{one}\n2,{other}\n")
    found = PARSERS[name].parse(tmp_path)
    answers = read_gold(found.gold, found.answers)
    assert (len(answers.workers), len(answers.tasks), answers.n_answers, len(found.gold)) == (2, 2, 3, 2)
    assert answers.encoding.kernels.distance_between(answers.label[:1], answers.gold_label[:1]).tolist() == [0]


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


@pytest.mark.parametrize("name", PARSERS)
def test_an_empty_folder_is_a_clear_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=re.escape(str(tmp_path))):
        PARSERS[name].parse(tmp_path)


@pytest.mark.parametrize(
    ("name", "file", "content"),
    [
        ("GG", "answers.csv", "who,task,label\nada,1,x\n"),
        ("bench_labelme", "answer.csv", "1,2,3\n1,2\n"),
        ("snow_wordsim", "wordsim.standardized.tsv", "orig_id\tgold\n1\t2\n"),
        ("TRI1", "Exp1data.csv", "SubjectID,Angle\n1,2\n"),
        ("llmbar_llm_judges/Natural", "Dataset/LLMBar/Natural/dataset.json", "[{"),
        ("llmbar_llm_judges/Natural", "Dataset/LLMBar/Natural/dataset.json", "[{}]"),
        ("Chinese", "answer.csv", "question_id,worker1\nfirst,A\n"),
    ],
)
def test_a_file_that_is_not_the_original_is_a_clear_error(tmp_path: Path, name: str, file: str, content: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(content)
    with pytest.raises(InputError):
        PARSERS[name].parse(tmp_path)
