"""The command `allalike simulate`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from allalike.cli.console import bar_after_a_second, echo, rows, visible
from allalike.cli.lists import echo_json
from allalike.cli.options import command, option, take
from allalike.result.messages import say_counts

if TYPE_CHECKING:
    from allalike.simulation import Simulated


def _list(context: click.Context, _: click.Parameter, asked: bool) -> None:
    """List the models and exit."""
    if asked:
        from allalike.simulation import MODELS, POPULATIONS

        echo(rows([(name, model.summary) for name, model in MODELS.items()], indent=""))
        echo("\nPopulations:")
        echo(rows([(name, population.summary) for name, population in POPULATIONS.items()]))
        context.exit()


@command()
@click.argument("model")
@option(
    "-o", "--output", group="Output", required=True, help="File of the answers, .csv or .parquet; a folder for masks."
)
@option("--truth", help="File for the correct labels: task and label. A folder for masks.")
@option("--faults", help="File for the workers and their true errors.")
@option("--workers", type=int, default=20, help="Number of workers.", show_default=True)
@option("--tasks", type=int, help="Number of tasks (default: that of the model).")
@option("--answers-per-task", type=int, help="Answers per task (default: one by each worker).")
@option("--population", help="Distribution of errors, such as 'uniform(low=0.1, high=0.4)'.")
@option("--copiers", type=int, default=0, help="Number of workers who copy.", show_default=True)
@option("--fidelity", type=float, default=1.0, help="Probability that they copy an answer.", show_default=True)
@option("--sources", type=int, help="Number of workers that copiers copy from (default: any).")
@option("--seed", type=int, default=0, help="Random seed.", show_default=True)
@option("--list", is_flag=True, is_eager=True, expose_value=False, callback=_list, help="List the models.")
@take("Overwrite", "Output")
def simulate(model: str, as_json: bool, quiet: bool, **options: Any) -> None:
    """Simulate a crowd with known labels.

    MODEL is a crowd of the paper, such as 'real SYN.N', or a model with options, such as 'one-coin(classes=3)'.
    'allalike simulate --list' lists them.
    """
    from dataclasses import replace

    from allalike.simulation import Copiers, as_model
    from allalike.simulation import simulate as run

    chosen = as_model(model)
    if options["population"] is not None:
        chosen = replace(chosen, population=options["population"])
    copiers = Copiers(number=options["copiers"], fidelity=options["fidelity"], sources=options["sources"])
    counts = {name: options[name] for name in ("workers", "tasks", "answers_per_task", "seed")}
    with bar_after_a_second(quiet=quiet):
        crowd = run(chosen, copiers=copiers, **counts)
        paths = crowd.save(
            options["output"], truth=options["truth"], workers=options["faults"], overwrite=options["overwrite"]
        )
    summary = {
        "model": chosen.name,
        "domain": chosen.flag,
        "answers": len(crowd.drawn.label),
        "workers": len(crowd.drawn.faults),
        "tasks": len(crowd.drawn.truth),
        "seed": options["seed"],
        "mean_fault": float(crowd.drawn.faults.mean()),
        "files": list(map(str, paths)),
    }
    if as_json:
        echo_json("simulate", summary)
    elif not quiet:
        echo(_report(crowd, summary, options))


def _report(crowd: Simulated, summary: dict[str, Any], options: dict[str, Any]) -> str:
    """Format the counts, the files and the next commands."""
    flags = ["--domain", summary["domain"], *(["--gold", options["truth"]] if options["truth"] else [])]
    lines = [
        f"{say_counts(summary['answers'], summary['workers'], summary['tasks'])}, simulated by {summary['model']}"
        f" (seed {summary['seed']}).",
        f"Mean distance of a worker to the truth: {summary['mean_fault']:.4g} ({crowd.model.domain.name} labels).",
        f"\nWritten: {', '.join(map(visible, summary['files']))}",
        "\nNext steps",
        *(f"  {shlex.join(['allalike', command, options['output'], *flags])}" for command in ("discover", "compare")),
    ]
    return "\n".join(lines)
