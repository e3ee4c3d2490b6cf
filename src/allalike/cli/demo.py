"""The command `allalike demo`: the main job on generated answers.

The crowd has what the tool is for: good and bad workers, one who always gives the same answer, two who copy each other,
and some photos that only two workers were asked about. The truths of some photos are known, but not used: they show
how well disparity tells who errs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from allalike.cli.console import echo, fold, keep_whole, notes_for_warnings, rows, visible
from allalike.cli.options import command, option, take
from allalike.result.summary import Summary

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_CLASSES = ("cat", "dog", "fox", "owl")
_NAMES = (*("good", "good", "bad") * 3, "bad", "same", "copy", "copy")
_FAULTS = {"good": 0.15, "bad": 0.7, "same": 0.75, "copy": 0.5}  # a guess among four classes is wrong in 0.75
_COPIES = 0.98  # of the answers of two, which they share
_TASKS, _KNOWN, _RARE, _ASKED_RARELY = 400, 100, 8, 2  # the last photos are shown to so many workers only


def draw_crowd(seed: int) -> tuple[list[tuple[str, str, str]], dict[str, str], dict[str, float]]:
    """Draw the answers of a crowd; return rows of worker, task and label, the truths, and the faults of the workers.

    The fault of a worker is how often she errs, as far as she was asked.

    >>> rows, truths, faults = draw_crowd(0)
    >>> len(truths), len(faults), {label for worker, _, label in rows if worker == "same-11"}
    (400, 13, {'cat'})
    """
    import numpy as np

    rng, of_errors = (np.random.default_rng(seed) for _ in range(2))
    names = [f"{kind}-{number:02d}" for number, kind in enumerate(_NAMES, 1)]
    truth = rng.integers(0, len(_CLASSES), _TASKS)
    shape = len(_NAMES), _TASKS
    wrong = of_errors.random(shape) < np.array([[_FAULTS[kind]] for kind in _NAMES])
    labels = (truth + wrong * of_errors.integers(1, len(_CLASSES), shape)) % len(_CLASSES)
    labels[_NAMES.index("same")] = 0
    copied, copy = (number for number, kind in enumerate(_NAMES) if kind == "copy")
    labels[copy] = np.where(rng.random(_TASKS) < _COPIES, labels[copied], labels[copy])
    asked = _ask(rng)
    answers = [
        (names[worker], f"task-{task:03d}", _CLASSES[labels[worker, task]]) for worker, task in np.argwhere(asked)
    ]
    errors = [float((labels[each] != truth)[asked[each]].mean()) for each in range(len(names))]
    gold = {f"task-{task:03d}": _CLASSES[code] for task, code in enumerate(truth)}
    return answers, gold, dict(zip(names, errors, strict=True))


def _ask(rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Choose who is asked what: three of four workers about most photos, and two about the last ones."""
    asked = rng.random((len(_NAMES), _TASKS)) < 0.75
    for task in range(_TASKS - _RARE, _TASKS):
        asked[:, task] = False
        asked[rng.permutation(len(_NAMES))[:_ASKED_RARELY], task] = True
    return asked


@command(no_args_is_help=False)
@option("-o", "--output", group="Output", default="allalike-demo", help="Output folder.", show_default=True)
@take("Overwrite")
@option("--seed", type=click.IntRange(min=0), default=0, help="Random seed of the crowd.", show_default=True)
def demo(output: str, overwrite: bool, seed: int) -> None:
    """Run allalike on a simulated crowd."""
    import numpy as np

    from allalike.discover import discover
    from allalike.methods import Auto
    from allalike.result.flags import list_reasons

    answers, gold, faults = draw_crowd(seed)
    with notes_for_warnings(quiet=False):
        result = discover(answers, method=Auto(use_gold=False), gold=dict(list(gold.items())[:_KNOWN]))
    paths = result.save(output, overwrite=overwrite, report=True)

    summary, found = Summary.from_dict(result.summary), result.weighing
    about = (
        f"Good workers err in {100 * _FAULTS['good']:g} % of their answers, bad ones in {100 * _FAULTS['bad']:g} %. One"
        f" always says {_CLASSES[0]}, two copy each other and err in {100 * _FAULTS['copy']:g} %, and {_RARE} photos"
        f" have {_ASKED_RARELY} answers only. allalike was not told who is who."
    )
    echo(
        f"{len(faults)} workers named the animals on {_TASKS} photos, of {len(_CLASSES)} kinds: {summary.answers:,}"
        " answers."
    )
    echo("\n".join([*fold(about), "", f"Found by {summary.method.name}, best first:", ""]))
    flags = list_reasons(result.run, result.weighing)
    order = np.lexsort((found.fault, -found.weight))
    ids = result.run.workers.tolist()
    table = [
        (ids[i], *(round(float(x), 3) for x in (faults[ids[i]], found.fault[i], found.weight[i])), ", ".join(flags[i]))
        for i in order
    ]
    echo(rows([("worker", "true fault", "found fault", "weight", "flags"), *table]))
    truths = result.truth
    right = truths["task"].map(gold)
    before, after = ((truths[name] != right).mean() for name in ("unweighted", "label"))
    unsure = ", ".join(result.next_tasks(_RARE)["task"])
    echo(
        f"\n{summary.changed} of {_TASKS} labels differ from the majority vote.\nThe majority vote errs in"
        f" {100 * before:.1f} % of the photos, allalike in {100 * after:.1f} %."
    )
    echo("\n".join(fold(f"One more answer would help most on {unsure}.")))
    written = fold(f"Written: {', '.join(map(keep_whole, paths))}", "  ")
    echo("\n".join(["", *written, "Now yours: allalike discover FILE"]))
    for page in (path for path in paths if path.name == "report.html"):
        echo(f"The report: {visible(page.absolute())}")
