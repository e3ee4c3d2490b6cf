"""Every data set: how many workers, tasks, answers and truths it has, and that it can be used as it is."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from allalike.domains import DOMAINS
from crowd_data import PARSERS
from crowd_data.segments import located
from files.parsed_data_sets import EMOTIONS, LEVELS, WAITING, facts, level, parsed, with_gold
from running.turns import in_turn

pytestmark = pytest.mark.slow

SLOW = {name for name, parser in PARSERS.items() if parser.source == "bubil_crowd_segmentation"}
PUBLIC = [name for name in PARSERS if name not in ("GG", "DOGS", "FLAGS", "BUILD", "ETCH")]


def counted(statistics: Any) -> tuple[int, int, int, int]:
    return tuple(statistics[key] for key in ("n_workers", "n_tasks", "n_labels", "n_truth"))


def expected(name: str, known: Any) -> tuple[int, int, int, int]:
    """Return the numbers of workers, tasks, rows and truths as the source of a data set states them."""
    part = name.rpartition("/")[2]
    checked = known.get("verification", {})
    if name == "EMO":
        every = [counted(known["statistics"][emotion]) for emotion in EMOTIONS]
        return every[0][0], *(sum(column) for column in list(zip(*every, strict=True))[1:])
    if name.startswith("snow_emotion"):
        return counted(known["statistics"][part])
    if name.startswith(("Pred.T", "predict")):
        return counted(known["statistics"][f"oct8 treatment {name[-1]}"])
    if name in ("TRI1", "TRI2", "triangles_hart2018/Exp3"):
        both = [counted(known["statistics"][f"Exp{name[-1]}:Est{c}Coor"]) for c in "XY"]
        return both[0][0], both[0][1] + both[1][1], both[0][2] + both[1][2], both[0][3] + both[1][3]
    if name.startswith("triangles"):
        return counted(known["statistics"]["Exp4:EstAngle" if name.endswith("4") else "Exp5 (categorical)"])
    if name in LEVELS:
        n_votes = level(known, name)["n_votes"]
        return n_votes, 1, n_votes, 1
    if PARSERS[name].source == "crowdwsa2019":
        some = checked["T1" if name == "TRANSL" else part]
        return some["n_workers"], some["n_sentences"], some["n_labels"], some["n_gt"]
    if name.startswith("llmbar"):
        subsets = ("Natural", "GPTInst", "GPTOut", "Manual", "Neighbor") if part == name else (part,)
        pairs = sum(checked[subset]["n_pairs"] for subset in subsets)
        silent = sum(checked[subset]["votes_neither_1_nor_2"] for subset in subsets)
        return 36, pairs, 36 * pairs - silent, pairs
    if name.startswith("zeroeval"):
        silent = sum(round(model["no_answer"] / 100 * known["n_tasks"]) for model in checked["models"].values())
        return known["n_workers"], known["n_tasks"], known["n_labels"] - silent, known["n_tasks"]
    others = {
        "EMO.first": (10, 140, 1400, 140),  # ten workers, seven ratings, the first twenty headlines
        # fifty subjects each, fifteen conditions, ten repetitions, two coordinates; a few repetitions are missing
        "TRI1.trials": (50, 300, 15_000 - 8, 300),
        "TRI2.trials": (50, 300, 15_000 - 22, 300),
        "BUILD.ranking": (208, 1, 208, 1),
        "gdots": (41, 25, 41 * 25, 25),
        "ordinal_covid_truthfulness": (100, 62, 800, 60),  # of 62 truths, two are those of checks of attention
        "probabilities_gjp_mini": (547, 18, 4239 - 1, 18),  # the file ends amid the last of 4,239 forecasts
        "schema_matching_powarematch": (5, 1, 5, 1),
        "records_flights": (35, 100, 2362, 100),  # of 38 sites and 2376 rows, those with a time
        "bounding_boxes_braylan": (196, 200, 1723, 200),
        "bounding_boxes_braylan/boxes": (196, 200, 1723, 200),
        "boxes_cytology_eiph": (10, 20, 200, 20),
        "boxes_cytology_eiph/2": (10, 20, 200, 20),
        "spans_ner_conll_crowd/val": (46, 199, 983, 199),
        "spans_ner_conll_crowd/test": (47, 199, 981, 199),
        "points_mitosis": (10, 20, 200, 16),
        # of 720 workers, those who ranked all options; those who did so in a subject
        "rankings_ties_wmt13": (151, 1, 151, 1),
        "sp_voting_rankings": (567, 60, 3600, 60),
        "sp_voting_rankings/geography": (499, 20, 1200, 20),
        "sp_voting_rankings/movies": (502, 20, 1200, 20),
        "sp_voting_rankings/paintings": (493, 20, 1200, 20),
    }
    return others[name] if name in others else counted(known["statistics"])


@pytest.mark.parametrize("name", in_turn([name for name in PUBLIC if name not in SLOW], 2))
def test_a_data_set_has_the_known_numbers_of_workers_tasks_answers_and_truths(data: Path, name: str) -> None:
    answers = with_gold(data, name)
    rows = answers.n_answers + answers.notes.get("repeats_set_aside", 0)
    n_workers, *others = expected(name, facts(data, name))
    workers = {str(worker).split(" (")[0] for worker in answers.workers.tolist()}  # TRANSL: who translates again
    assert (len(workers), len(answers.tasks), rows, len(parsed(data, name).gold)) == (n_workers, *others)
    assert answers.notes["gold"]["without_answers"] == 0


outlines = cache(located)


@pytest.mark.parametrize("number", range(1, 7))
def test_a_set_of_outlines_has_seven_for_each_picture(data: Path, number: int) -> None:
    known = facts(data, "bubil_crowd_segmentation")["verification"][f"Dataset{number}"]
    rows, gold, sure = outlines(data / "bubil_crowd_segmentation", number)
    assert len({worker for worker, _, _ in rows}) == 7
    assert len(rows) == 7 * len(gold) == 7 * known["n_images"]
    assert len(sure) == known["n_crop_window_exact"]


def test_outlines_are_the_pictures_of_three_sets_whose_place_is_known(data: Path) -> None:
    sure = [task for number in (1, 2, 3) for task in outlines(data / "bubil_crowd_segmentation", number)[2]]
    assert (len(sure), 7 * len(sure)) == (135, 945)


def test_every_folder_has_a_data_set(data: Path) -> None:
    folders = {path.parent.name for path in data.glob("*/SOURCE.json")}
    assert folders <= {parser.source for parser in PARSERS.values()} | WAITING


@pytest.mark.parametrize("name", in_turn([name for name in PUBLIC if name not in SLOW], 2))
def test_a_truth_belongs_to_a_task_by_the_very_same_id(data: Path, name: str) -> None:
    found = parsed(data, name)
    assert set(found.gold) <= set(found.answers.tasks.tolist())
    assert found.answers.domain.name in DOMAINS


def test_names_differ_in_more_than_case_and_sources_come_first() -> None:
    assert len({name.casefold() for name in PARSERS}) == len(PARSERS)
    for name, parser in PARSERS.items():
        assert name == parser.name
        assert parser.summary
        assert "/" not in name or name.partition("/")[0] == parser.source


def test_names_of_persons_are_not_taken_over(data: Path) -> None:
    header = (data / "quiz_pokemon" / "answer.csv").read_text(encoding="utf-8").splitlines()[0]
    assert set(parsed(data, "Pokemon").answers.workers.tolist()).isdisjoint(header.split(","))
