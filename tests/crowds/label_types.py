"""Crowds of every label type: good workers are close to the truth, bad workers far off.

The first two workers answer everything, the others miss a share of the tasks.
"""

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from crowds.errors import draw_gaussian, draw_one_coin

Row = tuple[str, str, Any]
Rng = np.random.Generator


def draw_present(rng: Rng, n: int, m: int, missing: float) -> npt.NDArray[np.bool_]:
    """Draw who answers which task."""
    present = rng.random((n, m)) >= missing
    present[:2] = True
    return present


def list_rows(present: npt.NDArray[np.bool_], label: Callable[[int, int], Any]) -> list[Row]:
    """List the answers, given the label of a worker and a task."""
    return [(f"w{i:03d}", f"t{j:04d}", label(i, j)) for i, j in np.argwhere(present).tolist()]


def draw_binary(seed: int, n: int, m: int, missing: float) -> list[Row]:
    """Tell two classes apart."""
    rng = np.random.default_rng(seed)
    matrix = draw_one_coin(rng.integers(0, 2, m), rng.uniform(0.05, 0.45, n), seed, classes=2)
    return list_rows(draw_present(rng, n, m, missing), lambda i, j: int(matrix[i, j]))


def draw_categorical(seed: int, n: int, m: int, missing: float) -> list[Row]:
    """Tell three classes apart."""
    rng = np.random.default_rng(seed)
    matrix = draw_one_coin(rng.integers(0, 3, m), rng.uniform(0.05, 0.6, n), seed, classes=3)
    return list_rows(draw_present(rng, n, m, missing), lambda i, j: int(matrix[i, j]))


def draw_real(seed: int, n: int, m: int, missing: float) -> list[Row]:
    """Estimate numbers."""
    rng = np.random.default_rng(seed)
    matrix = draw_gaussian(rng.normal(0, 2, m), rng.uniform(0.1, 2, n), seed)
    return list_rows(draw_present(rng, n, m, missing), lambda i, j: float(matrix[i, j]))


def draw_ordinal(seed: int, n: int, m: int, missing: float) -> list[Row]:
    """Rate on a scale of five levels."""
    rng = np.random.default_rng(seed)
    noise = rng.uniform(0.3, 2, n)[:, None] * rng.standard_normal((n, m))
    levels = np.clip(np.rint(rng.integers(1, 6, m) + noise), 1, 5)
    return list_rows(draw_present(rng, n, m, missing), lambda i, j: int(levels[i, j]))


def draw_circular(seed: int, n: int, m: int, missing: float) -> list[Row]:
    """Tell directions in degrees."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0, 360, m)
    said = (truth + rng.uniform(5, 70, n)[:, None] * rng.standard_normal((n, m))) % 360
    return list_rows(draw_present(rng, n, m, missing), lambda i, j: round(float(said[i, j]), 3))


def draw_date(seed: int, n: int, m: int, missing: float) -> list[Row]:
    """Date letters: good workers are some days off, bad workers months."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 40_000, m)
    said = np.rint(truth + rng.uniform(1, 60, n)[:, None] * rng.standard_normal((n, m))).astype(int)
    first = date(1899, 11, 20)
    present = draw_present(rng, n, m, missing)
    return list_rows(present, lambda i, j: (first + timedelta(days=int(said[i, j]))).isoformat())


def draw_vector(seed: int, n: int, m: int, missing: float) -> list[Row]:
    """Give points in space."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 3, (m, 3))
    points = truth + rng.uniform(0.1, 2, n)[:, None, None] * rng.standard_normal((n, m, 3))
    return list_rows(draw_present(rng, n, m, missing), lambda i, j: points[i, j].tolist())


def draw_place(seed: int, n: int, m: int, missing: float) -> list[Row]:
    """Give latitude and longitude: good workers are some kilometres off, bad workers hundreds."""
    rng = np.random.default_rng(seed)
    truth = np.stack([rng.uniform(-60, 60, m), rng.uniform(-180, 180, m)], axis=1)
    said = truth + rng.uniform(0.1, 3, n)[:, None, None] * rng.standard_normal((n, m, 2))
    return list_rows(
        draw_present(rng, n, m, missing),
        lambda i, j: [round(float(said[i, j, 0]), 4), round((float(said[i, j, 1]) + 180) % 360 - 180, 4)],
    )


def draw_probability(seed: int, n: int, m: int, missing: float) -> list[Row]:
    """Give the probabilities of two or three options, as mappings; every third task has two options only."""
    rng = np.random.default_rng(seed)
    truth, noise = rng.normal(0, 1.5, (m, 3)), rng.uniform(0.1, 1.5, n)[:, None, None]
    chances = np.exp(truth + noise * rng.standard_normal((n, m, 3)))
    chances[:, ::3, 2] = 0.0
    chances /= chances.sum(axis=2, keepdims=True)

    def name(i: int, j: int) -> dict[str, float]:
        given = chances[i, j].tolist()
        return dict(zip("abc", given if given[2] else given[:2], strict=False))

    return list_rows(draw_present(rng, n, m, missing), name)


def distance(left: str, right: str) -> float:
    """Return the share of letters that differ."""
    return sum(a != b for a, b in zip(left, right, strict=True)) / len(left)


def draw_custom(seed: int, n: int, m: int, missing: float) -> list[Row]:
    """Read words of six letters."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 26, (m, 6))
    errs = rng.random((n, m, 6)) < rng.uniform(0.05, 0.7, n)[:, None, None]
    read = np.where(errs, rng.integers(0, 26, (n, m, 6)), words)
    return list_rows(draw_present(rng, n, m, missing), lambda i, j: "".join(chr(97 + letter) for letter in read[i, j]))


_SENTENCE = "the a cat dog sat ran on under mat tree and then rain über São 猫"
_WORDS = _SENTENCE.split()


def draw_text(seed: int, n: int, m: int, missing: float) -> list[Row]:
    """Copy sentences of four to nine words; bad workers replace, drop and swap many words."""
    rng = np.random.default_rng(seed)
    faults = rng.uniform(0.02, 0.7, n)
    truths = [rng.integers(0, len(_WORDS), rng.integers(4, 10)) for _ in range(m)]

    def copy(i: int, j: int) -> str:
        truth, fault = truths[j], faults[i]
        written = np.where(rng.random(len(truth)) < fault, rng.integers(0, len(_WORDS), len(truth)), truth)
        written = written[rng.random(len(truth)) >= fault / 4]
        if len(written) > 1 and rng.random() < fault:
            written[[0, 1]] = written[[1, 0]]
        return " ".join(_WORDS[word] for word in written)

    return list_rows(draw_present(rng, n, m, missing), copy)


def draw_tree(seed: int, n: int, m: int, missing: float) -> list[Row]:
    """Name classes in a tree: bad workers name others, and some stop early."""
    leaves = ["animal/bird/owl", "animal/bird/swan", "animal/cat/lynx"]
    leaves += ["plant/rose/wild", "plant/tree/oak", "plant/tree/fir"]
    rng = np.random.default_rng(seed)
    truth = rng.integers(len(leaves), size=m)
    errs = rng.random((n, m)) < rng.uniform(0.05, 0.5, n)[:, None]
    said = np.where(errs, rng.integers(len(leaves), size=(n, m)), truth)
    depth = rng.choice([1, 2, 3], p=[0.1, 0.2, 0.7], size=(n, m))
    present = draw_present(rng, n, m, missing)
    return list_rows(present, lambda i, j: "/".join(leaves[said[i, j]].split("/")[: depth[i, j]]))


def draw_set(seed: int, n: int, m: int, missing: float) -> list[Row]:
    """Name sets: good workers forget and invent few elements, bad workers many."""
    rng = np.random.default_rng(seed)
    truth = rng.random((m, 12)) < 0.4
    named = truth ^ (rng.random((n, m, 12)) < rng.uniform(0.02, 0.4, n)[:, None, None])
    return list_rows(draw_present(rng, n, m, missing), lambda i, j: [f"e{k:02d}" for k in np.flatnonzero(named[i, j])])


def draw_interval(seed: int, n: int, m: int, missing: float) -> list[Row]:
    """Mark one to three intervals: good workers put boundaries almost right."""
    rng = np.random.default_rng(seed)
    blur = rng.uniform(1, 25, n)
    truth = [np.sort(rng.choice(400, 2 * rng.integers(1, 4), replace=False)) for _ in range(m)]

    def mark(i: int, j: int) -> list[list[int]]:
        bounds = np.sort(np.rint(truth[j] + rng.normal(0, blur[i], len(truth[j]))).astype(int))
        marked: list[list[int]] = bounds.reshape(-1, 2).tolist()
        return marked

    return list_rows(draw_present(rng, n, m, missing), mark)


RECORD_FIELDS = {"colour": "categorical", "size": "real", "tags": "set"}


def draw_record(seed: int, n: int, m: int, missing: float) -> list[Row]:
    """Fill in forms: a colour, a size and some tags; where answers are missing, so are a third of the sizes."""
    rng = np.random.default_rng(seed)
    colour, size, tags = rng.integers(4, size=m), rng.normal(20, 5, m).round(1), rng.random((m, 4)) < 0.5
    fault = rng.uniform(0.05, 0.6, n)[:, None]
    said = np.where(rng.random((n, m)) < fault, rng.integers(4, size=(n, m)), colour)
    measured = (size + fault * rng.normal(0, 4, (n, m))).round(1)
    named = tags ^ (rng.random((n, m, 4)) < fault[..., None] / 2)
    present = draw_present(rng, n, m, missing)
    empty = rng.random((n, m)) < (1 / 3 if missing else 0.0)

    def fill(i: int, j: int) -> dict[str, Any]:
        return {
            "colour": ("red", "green", "blue", "black")[said[i, j]],
            **({} if empty[i, j] else {"size": float(measured[i, j])}),
            "tags": [("new", "old", "rare", "sold")[k] for k in np.flatnonzero(named[i, j])],
        }

    return list_rows(present, fill)


def draw_ranking(seed: int, n: int, m: int, missing: float) -> list[Row]:
    """Rank two to six items, partly the task's own: good workers swap few neighbours, bad ones many."""
    rng = np.random.default_rng(seed)
    swaps = rng.uniform(0.0, 6.0, n)
    rows = []
    for task in range(m):
        own = rng.integers(0, 3)
        truth = rng.permutation([f"item{own + k}" for k in range(rng.integers(2, 7))])
        for worker in range(n):
            order = truth.tolist()
            for place in rng.integers(0, len(order) - 1, rng.poisson(swaps[worker])):
                order[place], order[place + 1] = order[place + 1], order[place]
            if worker < 2 or rng.random() >= missing:
                rows.append((f"w{worker:03d}", f"t{task:04d}", order))
    return rows


def draw_bitmap(seed: int, n: int, m: int, missing: float) -> list[Row]:
    """Draw discs with a shift and with stray pixels, more of both for bad workers."""
    rng = np.random.default_rng(seed)
    badness = rng.uniform(0, 1, n) ** 2
    rows = []
    for task in range(m):
        height, width = rng.integers(12, 30, 2)
        centre, radius = rng.uniform(0.35, 0.65, 2) * (height, width), rng.uniform(0.2, 0.4) * min(height, width)
        for worker in range(n):
            shift = badness[worker] * rng.normal(0, 3, 2)
            mask = disc(height, width, centre + shift, radius)
            stray = rng.random(mask.shape) < 0.1 * badness[worker]
            if worker < 2 or rng.random() >= missing:
                rows.append((f"w{worker:03d}", f"t{task:04d}", mask ^ stray))
    return rows


def disc(height: int, width: int, centre: npt.ArrayLike, radius: float) -> npt.NDArray[np.bool_]:
    """Return a table of pixels, on within a circle."""
    row, column = np.ogrid[:height, :width]
    top, left = np.asarray(centre)
    inside: npt.NDArray[np.bool_] = (row - top) ** 2 + (column - left) ** 2 <= radius**2
    return inside


def _look(
    seed: int, n: int, m: int, missing: float, blurs: tuple[float, float], draw: Callable[[Rng, int, float, float], Any]
) -> list[Row]:
    """Draw up to three things, far from each other; bad workers overlook some and invent others.

    ``draw(rng, place, blur, care)`` draws one thing as a worker of such blur and care does.
    """
    rng = np.random.default_rng(seed)
    blur, care = rng.uniform(*blurs, n), rng.uniform(0.6, 0.95, n)
    return _list_seen(rng, care, m, missing, lambda i, place: draw(rng, place, blur[i], care[i]))


def _list_seen(
    rng: Rng, care: npt.NDArray[np.float64], m: int, missing: float, draw: Callable[[int, int], Any]
) -> list[Row]:
    truth = [rng.integers(0, 3, rng.integers(0, 4)).tolist() for _ in range(m)]

    def see(i: int, j: int) -> list[Any]:
        seen = [place for place in truth[j] if rng.random() < care[i]]
        seen += [3] if rng.random() > care[i] else []
        return [draw(i, place) for place in seen]

    return list_rows(draw_present(rng, len(care), m, missing), see)


def draw_boxes(seed: int, n: int, m: int, missing: float) -> list[Row]:
    """Draw up to three boxes."""

    def draw(rng: Rng, place: int, blur: float, care: float) -> dict[str, Any]:
        sides = np.array([0, 0, 10, 10]) + 20 * place + rng.normal(0, blur, 4).clip(-4, 4)
        name = ("cat", "dog")[place % 2 if rng.random() < care else 1 - place % 2]
        return {**dict(zip(("x1", "y1", "x2", "y2"), sides.round(3).tolist(), strict=True)), "class": name}

    rows = _look(seed, n, m, missing, (0.3, 3), draw)
    return [(worker, task, sorted(boxes, key=lambda box: box["x1"])) for worker, task, boxes in rows]


def draw_points(seed: int, n: int, m: int, missing: float) -> list[Row]:
    """Click on up to three things."""

    def click(rng: Rng, place: int, blur: float, care: float) -> tuple[float, float, str]:
        name = ("cell", "dirt")[place % 2 if rng.random() < care else 1 - place % 2]
        x, y = (round(float(20 * place + off), 3) for off in rng.normal(0, blur, 2))
        return x, y, name

    rows = _look(seed, n, m, missing, (0.2, 2.5), click)
    return [(w, t, [dict(zip(("x", "y", "class"), each, strict=True)) for each in sorted(seen)]) for w, t, seen in rows]


def draw_spans(seed: int, n: int, m: int, missing: float) -> list[Row]:
    """Mark up to three names in texts."""
    rng = np.random.default_rng(seed)
    care = rng.uniform(0.55, 0.95, n)

    def mark(i: int, place: int) -> tuple[int, int, str]:
        blur = rng.integers(-3, 4, 2) * (rng.random(2) > care[i])
        name = ("LOC", "PER")[place % 2 if rng.random() < care[i] else 1 - place % 2]
        return int(20 * place + 3 + blur[0]), int(20 * place + 13 + blur[1]), name

    rows = _list_seen(rng, care, m, missing, mark)
    keys = ("start", "end", "class")
    return [(w, t, [dict(zip(keys, each, strict=True)) for each in sorted(seen)]) for w, t, seen in rows]
