"""The command `allalike simulate`."""

from __future__ import annotations

import shlex
from typing import Any

import click

from allalike.cli.console import echo, progress_and_notes, visible
from allalike.cli.options import command, option, take
from allalike.result.messages import format_counts


@command()
@click.argument("model")
@option(
    "-o", "--output", group="Output", required=True, help="File for the answers (.csv, .parquet), or folder for masks."
)
@option("--truth", help="File for the correct labels, or folder for masks.")
@option("--faults", help="File for the true errors of workers.")
@option("--workers", type=int, default=20, help="Number of workers.", show_default=True)
@option("--tasks", type=int, help="Number of tasks (default: defined by the model).")
@option("--answers-per-task", type=int, help="Answers per task (default: one by each worker).")
@option("--population", help="Distribution of worker errors, such as 'uniform(low=0.1, high=0.4)'.")
@option("--copiers", type=int, default=0, help="Number of workers who copy.", show_default=True)
@option("--fidelity", type=float, default=1.0, help="Probability of copying an answer.", show_default=True)
@option("--sources", type=int, help="Number of workers to copy from (default: any).")
@option("--seed", type=int, default=0, help="Random seed.", show_default=True)
@take("Overwrite", "Quiet")
def simulate(model: str, output: str, truth: str | None, quiet: bool, **options: Any) -> None:
    """Simulate a crowd with known labels.

    MODEL is a crowd from the paper, such as 'real SYN.N', or a model with options, such as 'one-coin(classes=3)'. See
    'allalike list models'.
    """
    from dataclasses import replace

    from allalike.simulation import Copiers, as_model
    from allalike.simulation import simulate as run

    chosen = as_model(model)
    if options["population"] is not None:
        chosen = replace(chosen, population=options["population"])
    copiers = Copiers(number=options["copiers"], fidelity=options["fidelity"], sources=options["sources"])
    counts = {name: options[name] for name in ("workers", "tasks", "answers_per_task", "seed")}
    with progress_and_notes({"quiet": quiet}):
        crowd = run(chosen, copiers=copiers, **counts)
        paths = crowd.save(output, truth=truth, workers=options["faults"], overwrite=options["overwrite"])
    if quiet:
        return
    drawn, flags = crowd.drawn, ["--domain", chosen.flag, *(["--gold", truth] if truth else [])]
    size = format_counts(len(drawn.label), len(drawn.faults), len(drawn.truth))
    echo(f"{size}, simulated by {chosen.name} (seed {options['seed']}).")
    echo(f"Mean distance between a worker and the truth: {drawn.faults.mean():.4g} ({chosen.domain.name} labels).\n")
    echo(f"Written: {', '.join(map(visible, paths))}\n\nNext steps")
    for name in ("discover", "compare"):
        echo(f"  {visible(shlex.join(['allalike', name, output, *flags]))}")
