"""The command `allalike demo`, which runs `discover` on a simulated crowd.

The crowd has good and bad workers, one who always gives the same answer, and two who copy each other. A few photos have
only two answers. The correct labels are used only to measure the error.
"""

from __future__ import annotations

from pathlib import Path

import click

from allalike.cli.console import echo, fold, progress_and_notes, show
from allalike.cli.options import command, option, take
from allalike.cli.print_result import draw_screen

_CLASSES = ("cat", "dog", "fox", "owl")
_KINDS = (*("good", "good", "bad") * 3, "bad", "same", "copy", "copy")
_ERRORS = {"good": 0.15, "bad": 0.7, "same": 0.75, "copy": 0.5}  # 0.75 is the error rate of guessing among four classes
_FIDELITY = 0.98  # share of copied answers
_TASKS, _RARE, _FEW_ANSWERS = 400, 8, 2  # number of the last photos, and of their answers


def draw_crowd(seed: int) -> tuple[list[tuple[str, str, str]], dict[str, str]]:
    """Simulate a crowd; return rows of worker, task and label, and the correct labels.

    >>> rows, truth = draw_crowd(0)
    >>> len(truth), {label for worker, _, label in rows if worker == "same-11"}
    (400, {'cat'})
    """
    import numpy as np

    rng, error_rng = (np.random.default_rng(seed) for _ in range(2))
    names = [f"{kind}-{number:02d}" for number, kind in enumerate(_KINDS, 1)]
    truth = rng.integers(0, len(_CLASSES), _TASKS)
    shape = len(_KINDS), _TASKS
    wrong = error_rng.random(shape) < np.array([[_ERRORS[kind]] for kind in _KINDS])
    labels = (truth + wrong * error_rng.integers(1, len(_CLASSES), shape)) % len(_CLASSES)
    labels[_KINDS.index("same")] = 0
    copied, copy = (number for number, kind in enumerate(_KINDS) if kind == "copy")
    labels[copy] = np.where(rng.random(_TASKS) < _FIDELITY, labels[copied], labels[copy])
    answered = rng.random(shape) < 0.75
    for task in range(_TASKS - _RARE, _TASKS):
        answered[:, task] = False
        answered[rng.permutation(len(_KINDS))[:_FEW_ANSWERS], task] = True
    answers = [(names[i], f"task-{task:03d}", _CLASSES[labels[i, task]]) for i, task in np.argwhere(answered)]
    return answers, {f"task-{task:03d}": _CLASSES[code] for task, code in enumerate(truth)}


@command(no_args_is_help=False)
@option("-o", "--output", group="Output", default="allalike-demo", help="Output folder.", show_default=True)
@take("Overwrite")
@option("--seed", type=click.IntRange(min=0), default=0, help="Random seed of the crowd.", show_default=True)
def demo(output: str, overwrite: bool, seed: int) -> None:
    """Run allalike on a simulated crowd."""
    from allalike.discover import discover

    answers, truth = draw_crowd(seed)
    with progress_and_notes({}):
        result = discover(answers)
        paths = result.save(output, overwrite=overwrite, report=True)
    errors = {kind: f"{100 * error:g} %" for kind, error in _ERRORS.items()}
    about = (
        f"{len(_KINDS)} simulated workers named the animals on {_TASKS} photos. Error rates: good workers"
        f" {errors['good']}, bad workers {errors['bad']}. One worker always answers {_CLASSES[0]}. Two copy each other,"
        f" with an error rate of {errors['copy']}. allalike does not use this information."
    )
    echo("\n".join([*fold(about), ""]))
    show(draw_screen(result, paths))
    correct = result.truth["task"].map(truth)
    before, after = (100 * (result.truth[name] != correct).mean() for name in ("unweighted", "label"))
    echo(f"\nWrong labels: {before:.1f} % by majority vote, {after:.1f} % by allalike (the estimate is cautious).")
    echo(f"Your own file: allalike discover FILE. Report: {Path(output).absolute() / 'report.html'}")
