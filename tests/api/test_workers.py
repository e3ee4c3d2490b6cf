"""Worker statistics against known packages, flags, and the list of workers to block."""

from collections import Counter
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import directed_hausdorff
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

import allalike
from allalike import Disk, Memory
from allalike._core.masks import Grid, Mask
from allalike.distances.matching import measure_surfaces
from allalike.engines import Engine
from allalike.errors import OutputError
from crowds.samples import crowd
from running.program import run

# Of MedPy 0.5.2, which cannot be installed beside a current numpy: dc, hd, hd95 and assd of two balls for each seed.
MEDPY = (
    (0, (0.6268656716417911, 2.23606797749979, 2.0, 1.254236341065983)),
    (1, (0.6344086021505376, 3.0740852297878796, 2.6248809496813377, 0.9440606355683581)),
    (2, (0.37583892617449666, 2.2627416997969525, 1.788854381999832, 1.0433610338682797)),
)


def balls(seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    shape = (14, 12, 9) if seed else (30, 40)
    found = []
    for _ in range(2):
        centre, radius = np.array(shape) / 2 + rng.normal(0, 1, len(shape)), rng.uniform(2.5, 4.0)
        found.append(
            sum((axis - middle) ** 2 for axis, middle in zip(np.indices(shape), centre, strict=True)) <= radius**2
        )
    return found


@pytest.mark.parametrize("domain", ["categorical", "ordinal"])
def test_classes_have_the_precision_and_recall_of_scikit_learn(domain: str, engine: Engine) -> None:
    rows = [(worker, task, int(label)) for worker, task, label in crowd("ordinal", seed=2, n=6, m=40, missing=0.3)]
    gold = {task: label for _, task, label in rows[:25]}
    result = allalike.discover(rows, domain=domain, engine=engine, gold=gold, use_gold=False)
    truth = dict(zip(result.truth["task"], result.truth["label"], strict=True))
    labels = sorted({label for _, _, label in rows})
    for prefix, known in (("", truth), ("gold_", gold)):
        for worker, part in result.quality.groupby("worker"):
            pairs = [(known[task], label) for who, task, label in rows if who == worker and task in known]
            found = part.set_index("tag").drop("(all)")
            expected = precision_recall_fscore_support(*zip(*pairs, strict=True), labels=labels, zero_division=np.nan)
            for name, column in zip(("precision", "recall", "f1", "support"), expected, strict=True):
                told = found[f"{prefix}{name}"].reindex(list(map(str, labels)))
                there = np.array([str(label) in found.index and expected[3][k] > 0 for k, label in enumerate(labels)])
                assert told[there].to_numpy() == pytest.approx(column[there], nan_ok=True)
            right = np.mean([one == other for one, other in pairs])
            assert part.set_index("tag").loc["(all)", f"{prefix}f1"] == pytest.approx(right)


def test_confusions_count_each_label_beside_each_truth(engine: Engine) -> None:
    rows = crowd("categorical", seed=3, n=5, m=30, missing=0.2)
    result = allalike.discover(rows, engine=engine)
    truth = dict(zip(result.truth["task"], result.truth["label"], strict=True))
    labels = sorted({label for _, _, label in rows})
    for worker, part in result.confusions.groupby("worker"):
        pairs = [(truth[task], label) for who, task, label in rows if who == worker]
        expected = confusion_matrix(*zip(*pairs, strict=True), labels=labels)
        found = part.pivot_table("answers", "truth", "label").reindex(index=labels, columns=labels).fillna(0)
        assert np.array_equal(found.to_numpy(), expected)


def test_spans_are_right_where_begin_end_and_tag_are(engine: Engine) -> None:
    rows = crowd("spans", seed=1, n=5, m=12)
    result = allalike.discover(rows, domain="spans", engine=engine)
    truth = {
        task: {(each["start"], each["end"], each.get("class")) for each in label}
        for task, label in zip(result.truth["task"], result.truth["label"], strict=True)
    }
    parsed = allalike.Spans()._parse
    hits, made, due = Counter[tuple[str, str]](), Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for worker, task, label in rows:
        said = set(parsed(label))
        for counts, things in ((hits, said & truth[task]), (made, said), (due, truth[task])):
            counts.update((worker, tag) for thing in things for tag in ("(all)", str(thing[-1])))
    row: Any
    for row in result.quality.itertuples():
        key = (row.worker, row.tag)
        assert row.support == due[key]
        assert row.f1 == pytest.approx(2 * hits[key] / (made[key] + due[key]))


def test_objects_are_paired_one_to_one_and_by_class() -> None:
    boxes = allalike.Boxes(overlap=0.5)
    said = boxes._parse([[0, 0, 10, 10, "a"], [0, 0, 10, 9, "a"], [50, 50, 60, 60, "b"]])
    truth = boxes._parse([[0, 0, 10, 10, "a"], [50, 50, 60, 60, "a"]])
    assert boxes.count_marks(said, truth) == {"a": (1, 2, 2), "b": (0, 1, 0)}
    assert boxes.count_marks(said, ()) == {"a": (0, 2, 0), "b": (0, 1, 0)}
    assert boxes.count_marks((), ()) == {}


@pytest.mark.parametrize(("seed", "expected"), MEDPY)
def test_surface_distances_are_those_of_medpy(seed: int, expected: tuple[float, ...]) -> None:
    grid = Grid((14, 12, 9), np.diag([0.8, 0.8, 2.5, 1.0])) if seed else None
    masks = [Mask.of(ball if grid is None else grid.flatten(ball), grid=grid) for ball in balls(seed)]
    found = allalike.Bitmap().measure_marks(*masks)
    assert tuple(found.values()) == pytest.approx(expected, abs=1e-12)
    places: Any = [np.argwhere(ball) * (1.0 if grid is None else grid.spacing) for ball in balls(seed)]
    both = max(directed_hausdorff(one, other)[0] for one, other in (places, places[::-1]))
    assert found["hausdorff"] == pytest.approx(both)


def test_empty_masks_are_near_each_other_and_far_from_nothing() -> None:
    none, some = Mask.of(np.zeros((3, 3), np.bool_)), Mask.of(np.eye(3, dtype=np.bool_))
    assert {*measure_surfaces(none, none).values()} == {0}
    assert np.isnan([*measure_surfaces(none, some).values()]).all()


def test_the_quality_of_masks_has_dice_and_borders_in_millimetres(tmp_path: Path, engine: Engine) -> None:
    ball, other = balls(1)
    for task in ("task1", "task2"):
        (tmp_path / "scans" / task).mkdir(parents=True)
        for worker, voxels in (("ada", ball), ("bob", ball), ("eve", other)):
            path = tmp_path / "scans" / task / f"{worker}.nii.gz"
            image: Any = nibabel.Nifti1Image(voxels.astype(np.uint8), np.diag([0.8, 0.8, 2.5, 1.0]))  # type: ignore[no-untyped-call]
            nibabel.save(image, path)
    table = allalike.discover(tmp_path / "scans", engine=engine, method="UA").quality.set_index("worker")
    names = ["dice", "hausdorff", "hausdorff_95", "surface_distance"]
    assert tuple(table.loc["eve", names]) == pytest.approx(MEDPY[1][1])
    assert table.loc["ada", "dice"] == 1
    assert table.loc["eve", "precision"] == pytest.approx((ball & other).sum() / other.sum())
    run("discover", tmp_path / "scans", "-o", tmp_path / "out", "-q")
    assert pd.read_csv(tmp_path / "out" / "details" / "quality.csv")["dice"].tolist() == pytest.approx(
        table["dice"].tolist()
    )


def test_a_known_truth_that_nobody_gave_is_due_and_belongs_to_no_other_worker() -> None:
    said = {"ada": "xyxyxyxyxy", "bob": "xyxyxyxyxx", "eve": "xyxyxxxyxy"}
    rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
    result = allalike.discover(rows, gold={0: "z", 1: "y", 2: "x"}, gold_map="same", use_gold=False)
    table = result.quality.set_index(["worker", "tag"])["gold_support"]
    assert {who: table[who].to_dict() for who in said} == {
        who: {"(all)": 3, "(not given)": 1, "x": 1, "y": 1} for who in said
    }
    kept = allalike.discover(rows, gold={0: "z"}, gold_map="same", method="OA")
    assert kept.confusions["answers"].sum() <= len(rows)


TASKS = 120
Rows = list[tuple[str, str, str]]


def draw_odd_workers(*, odd: bool = True) -> Rows:
    """Draw eight workers who err in 10 to 40 %, three with one right answer, and, if odd, two copies and a lazy one."""
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 3, TASKS)
    skill = np.linspace(0.9, 0.6, 8)[:, None]
    said = np.where(rng.random((8, TASKS)) < skill, truth, rng.integers(0, 3, (8, TASKS)))
    rows = [(f"w{w}", f"t{t:03}", "abc"[said[w, t]]) for w in range(8) for t in range(TASKS)]
    rows += [(f"one{i}", f"t{i:03}", "abc"[truth[i]]) for i in range(3)]
    if not odd:
        return rows
    leader = np.where(rng.random(TASKS) < 0.4, truth, rng.integers(0, 3, TASKS))
    rows += [(name, f"t{t:03}", "abc"[leader[t]]) for name in ("copy1", "copy2") for t in range(TASKS)]
    rows += [("copy1", f"x{t}", "a") for t in range(5)]
    return [*rows, *(("lazy", f"t{t:03}", "b") for t in range(TASKS))]


@pytest.mark.parametrize("engine", [Memory(block_answers=50), Disk(partitions=3)], ids=lambda engine: engine.name)
def test_one_answer_makes_nobody_the_best(engine: Engine) -> None:
    table = allalike.discover(draw_odd_workers(odd=False), engine=engine).workers.set_index("worker")
    single, busy = table[table["answers"] == 1], table[table["answers"] == TASKS]
    mean = np.average(table["error_rate"], weights=table["answers"])
    assert single["error_rate"].to_numpy() == pytest.approx(mean, abs=0.05)
    assert single["weight"].max() < busy["weight"].max()
    assert busy["error_rate"].idxmin() == "w0"


def test_the_saved_table_begins_with_who_needs_a_look(tmp_path: Path) -> None:
    result = allalike.discover(draw_odd_workers())
    result.save(tmp_path / "out")
    table = pd.read_csv(tmp_path / "out" / "workers.csv", keep_default_na=False).set_index("worker")
    order = [("block", "look", "", "few").index(flag) for flag in table["flag"]]
    assert order == sorted(order)
    flags, reasons = (dict(zip(table.index, map(str, table[name]), strict=True)) for name in ("flag", "reason"))
    assert (flags["lazy"], "always b" in reasons["lazy"]) == ("block", True)
    assert (flags["copy1"], flags["copy2"]) == ("look", "block")  # who gave more answers stays
    assert reasons["copy2"].startswith("copies (group 1)")
    assert (flags["one0"], reasons["one0"]) == ("few", "few answers")
    assert (flags["w0"], reasons["w0"]) == ("", "")
    assert sorted(table.index) == result.workers["worker"].tolist()


def test_a_block_list_has_one_id_a_line_and_takes_the_place_of_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine\n")
    result = allalike.discover(draw_odd_workers())
    for _ in range(2):  # of which the second takes the place of the first
        result.save_block_list(tmp_path / "block.txt")
        assert (tmp_path / "block.txt").read_text().splitlines() == ["copy2", "lazy"]
    with pytest.raises(OutputError):
        result.save_block_list(tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "mine\n"
    assert result.save_block_list(tmp_path / "notes.txt", overwrite=True) == ["copy2", "lazy"]
