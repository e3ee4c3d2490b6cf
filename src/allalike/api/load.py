"""load: a saved result, as it was, from what its folder keeps."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

from allalike._core.system.addresses import find_folder
from allalike.api.discover import find_ties, load_run, read_whole, renew, solve
from allalike.api.inputs.opening import Basis, Origin
from allalike.api.inputs.state import read_state
from allalike.errors import InputError

if TYPE_CHECKING:
    import os

    from allalike.api.inputs.state import SavedState
    from allalike.api.result import Result
    from allalike.engines import Engine


def load(folder: str | os.PathLike[str], *, engine: str | Engine | None = None) -> Result:
    r"""Load a saved result: the same truths, workers and summary, with all that a result can do.

    The answers are taken from the folder, and workers are weighed again as they were; so it works on another machine,
    and on another engine, where numbers may differ in the last digits. A result that was saved without its answers, or
    before allalike kept them, is refused.

    Parameters
    ----------
    folder
        Where `Result.save` or ``allalike discover`` wrote it.
    engine
        Where it runs, as in `discover`; it need not be where it ran before.

    >>> import allalike, tempfile
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = result.save(folder + "/out")
    ...     again = allalike.load(folder + "/out")
    >>> again.truth.equals(result.truth), again.workers.equals(result.workers), again.summary == result.summary
    (True, True, True)
    """
    state = read_state(find_folder(folder))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there was to say was said when it was found
        result = solve(reopen(state, engine), [])
    told = {name: note for name, note in state.told["notes"].items() if name != "gold"}
    told |= {name: state.told[name] for name in ("warnings", "changes") if name in state.told}
    return replace(result, summary={**result.summary, **told})


def reopen(state: SavedState, engine: str | Engine | None) -> Basis:
    """Put the answers of a saved result where they are needed."""
    settings, kept = state.told["settings"], state.told["generations"][-1]
    answers = state.answers
    where, held = read_whole(answers.read().per_task() if state.told["per_task"] else answers, engine)
    run = load_run(where, held, state.gold, find_ties(settings["seed"], settings["ties"]), guessed=False)
    origin = Origin(state.scan, state.gold, history=state.history, gold_map=state.gold_map)
    counts = int(run.answer_counts.sum()), len(run.workers), run.n_tasks
    if counts != tuple(kept[name] for name in ("answers", "workers", "tasks")):
        raise InputError(
            f"The answers in {state.folder} are not those that were saved: there are {counts[0]:,} of {counts[1]:,}"
            f" workers to {counts[2]:,} tasks. Run 'allalike discover' again."
        )
    run = replace(run, notes=state.told["notes"])
    settings = {"engine": where.name, **settings}
    return Basis(run, state.method, origin, settings, generations=tuple(state.told["generations"]), renew=renew)
