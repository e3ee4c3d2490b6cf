"""The command `allalike demo`: the main job on generated answers."""

from __future__ import annotations

import click

from allalike.cli.console import can_report, echo, notes_for_warnings, rows, visible
from allalike.cli.options import take_write_options

__all__ = ["demo"]

_CLASSES = ("cat", "dog", "fox", "owl")
_GOOD, _BAD = 0.15, 0.7  # the faults; a guess among four classes is wrong in 0.75 of the cases
_WORKERS, _TASKS = 12, 400


@click.command
@click.option("-o", "--output", default="allalike-demo", help="The folder for the result.", show_default=True)
@take_write_options
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Which crowd to generate.", show_default=True)
def demo(output: str, overwrite: bool, seed: int) -> None:
    """Find the good workers in a generated crowd."""
    import numpy as np

    from allalike.api.discover import discover
    from allalike.methods import Auto
    from allalike.noise import OneCoin

    rng = np.random.default_rng(seed)
    faults = np.where(np.arange(_WORKERS) % 3 == 0, _GOOD, _BAD)
    names = [f"{'good' if fault == _GOOD else 'bad'}-{number:02d}" for number, fault in enumerate(faults, 1)]
    truth = rng.integers(0, len(_CLASSES), _TASKS)
    labels = OneCoin(classes=len(_CLASSES)).sample(truth, faults, seed)
    asked = rng.random(labels.shape) < 0.75
    answers = [
        (names[worker], f"task-{task:03d}", _CLASSES[labels[worker, task]]) for worker, task in np.argwhere(asked)
    ]
    gold = {f"task-{task:03d}": _CLASSES[code] for task, code in enumerate(truth)}
    with notes_for_warnings(quiet=False):
        result = discover(answers, method=Auto(use_gold=False), gold=gold)
    paths = result.save(output, overwrite=overwrite, report=can_report(quiet=False))

    summary, found = result.summary, result.weighing
    echo(
        f"{_WORKERS} workers named the animals on {_TASKS} photos, of {len(_CLASSES)} kinds: {summary['answers']:,}"
        f" answers.\nThe good workers err in {100 * _GOOD:g} % of their answers, the bad ones in {100 * _BAD:g} %."
        f" allalike was not told who is who.\n\nFound by {summary['method']['name']}, best first:\n"
    )
    order = np.argsort(found.fault)
    ids, fault = result.run.workers.tolist(), dict(zip(names, faults, strict=True))
    table = [(ids[i], *(round(float(x), 3) for x in (fault[ids[i]], found.fault[i], found.weight[i]))) for i in order]
    echo(rows([("worker", "true fault", "found fault", "weight"), *table]))
    before, after = summary["gold"]["unweighted_error"], summary["gold"]["error"]
    echo(
        f"\n{summary['changed']} of {_TASKS} answers differ from those of a vote. A vote errs in {100 * before:.1f} %"
        f" of the photos, allalike in {100 * after:.1f} %.\n\nWritten: {', '.join(map(visible, paths))}"
        "\nNow yours: allalike discover FILE"
    )
