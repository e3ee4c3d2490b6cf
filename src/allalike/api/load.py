"""load: a saved result, as it was, from what its folder keeps, or found again from the files that it came from."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike._core.registry import choose
from allalike._core.system.addresses import HIDDEN, find_folder
from allalike._core.system.json_text import parse_json
from allalike.api.discover import discover, find_ties, load_run, read_whole, renew, solve
from allalike.api.inputs.opening import Basis, Origin
from allalike.api.inputs.outside import find_outside, list_named, refuse_outside
from allalike.api.inputs.recipes import open_recipe
from allalike.api.inputs.state import read_state
from allalike.api.results.summaries import describe_answers
from allalike.engines import ENGINES, Engine
from allalike.engines.spark import Spark
from allalike.errors import AllalikeError, InputError, UnsupportedError
from allalike.methods import METHODS, Method
from allalike.methods.base import Streaming
from allalike.readers.formats.compression import check_regular

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from allalike.api.inputs.state import SavedState
    from allalike.api.result import Result

__all__ = ["find_strange", "load", "open_basis"]

_SUMMARY = "summary.json"
_COUNTS = ("answers", "workers", "tasks")


def load(folder: str | os.PathLike[str], *, engine: str | Engine | None = None, open_inputs: bool = False) -> Result:
    r"""Load a saved result: the same truths, workers and summary, with all that a result can do.

    The answers are taken from the folder, and workers are weighed again as they were; so it works on another machine,
    and on another engine, where numbers may differ in the last digits. A result that was saved without its answers, or
    before allalike kept them, is found again from the files that it came from, which must be as they were.

    Parameters
    ----------
    folder
        Where `Result.save` or ``allalike discover`` wrote it.
    engine
        Where it runs, as in `discover`; it need not be where it ran before.
    open_inputs
        Whether to open files that the result names outside of its folder, if it did not keep its answers, also where
        nothing proves that this user's own program saved it.

    >>> import allalike, tempfile
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = result.save(folder + "/out")
    ...     again = allalike.load(folder + "/out")
    >>> again.truth.equals(result.truth), again.workers.equals(result.workers), again.summary == result.summary
    (True, True, True)
    """
    place = find_folder(folder)
    state = read_state(place)
    if state is None:
        return _find_again(place, engine, open_inputs=open_inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there was to say was said when it was found
        if not isinstance(state.method, Streaming):
            return _keep_warnings(solve(open_basis(state, engine), []), state)
        result = solve(open_basis(state, engine, last=1), [])
        for number in range(1, len(state.files)):
            assert result.basis is not None
            result = renew(result.basis, result.weighing, state.answers(number, number + 1).read(), None)
        assert result.basis is not None
        basis = replace(result.basis, parts=state.files, run=replace(result.basis.run, notes=state.told["notes"]))
        return _keep_warnings(replace(result, basis=basis), state)


def _keep_warnings(result: Result, state: SavedState) -> Result:
    """Return a result with what was said of the answers when they were read."""
    told = state.told
    notes = {name: each for name, each in told["notes"].items() if name != "gold"}
    notes |= {name: told[name] for name in ("warnings", "changes") if name in told}
    return replace(result, summary={**result.summary, **notes})


def open_basis(state: SavedState, engine: str | Engine | None, *, last: int | None = None) -> Basis:
    """Put the answers of a saved result where they are needed: those of all files, or of the first ones."""
    settings = state.settings
    stored, ties = state.answers(last=last), find_ties(settings["seed"], settings["ties"])
    chosen = None if engine is None else choose(engine, ENGINES, "engine", Engine)
    apart = bool(state.told["per_task"])
    given = stored.read().per_task() if apart else stored.read() if isinstance(chosen, Spark) else stored
    where, held = read_whole(given, chosen)
    run = load_run(where, held, state.gold, ties, guessed=False)
    counts = [int(run.answer_counts.sum()), len(run.workers), run.n_tasks]
    if last is None and counts != state.told["counts"]:
        raise InputError(
            f"The answers in {state.folder} are not those that were saved: there are {counts[0]:,} of {counts[1]:,}"
            f" workers to {counts[2]:,} tasks. Run 'allalike discover' again."
        )
    origin = Origin(state.scan, state.gold, history=state.history, gold_map=state.told["gold_map"])
    run = replace(run, notes=state.told["notes"])
    return Basis(run, state.method, origin, {"engine": where.name, **settings}, state.files, state.generations, renew)


def _find_again(folder: Path, engine: str | Engine | None, *, open_inputs: bool) -> Result:
    """Read the answers of a saved result again, where they came from, and find it again."""
    summary = _read_summary(folder)
    method = _make_method(summary["method"])
    if not open_inputs and (outside := find_outside(folder, summary)):
        raise refuse_outside(folder, outside)
    for name, what in list_named(summary).items():
        _check_file(name, what)
    answers, known = open_recipe(summary)
    settings = {name: summary[name] for name in ("seed", "ties", "min_confidence") if name in summary}
    result = discover(answers, method=method, engine=engine, **known, **settings)
    _check_counts(summary, describe_answers(result.run))
    return result


def find_strange(folder: str | os.PathLike[str]) -> list[str]:
    """List what would be opened only with ``open_inputs``; nothing where a result cannot be found again anyway.

    >>> find_strange("nowhere")
    []
    """
    try:
        place = find_folder(folder)
        return [] if read_state(place) else find_outside(place, _read_summary(place))
    except AllalikeError:  # which whoever opens it will say
        return []


def _read_summary(folder: Path) -> Any:
    path = folder / _SUMMARY
    try:
        check_regular(path)
        summary = parse_json(path.read_text(encoding="utf-8"))
        counts = [summary[name] for name in ("method", "seed", "ties", *_COUNTS)]
    except OSError as error:
        raise InputError(
            f"There is no {_SUMMARY} in {folder}. Name a folder that 'allalike discover' wrote a result into."
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not the summary of a result. Run 'allalike discover' again.") from error
    if not counts or not isinstance(summary.get("read"), dict) or not isinstance(summary.get("inputs"), list):
        raise UnsupportedError(
            f"The result in {folder} was saved without its answers, and {path} does not say which files they came from:"
            " they were Python objects, or were read in a way that cannot be written. Run it again on the answers."
        )
    return summary


def _make_method(described: Mapping[str, Any]) -> Method:
    name = described["name"]
    if name not in METHODS:
        raise UnsupportedError(f"The method {name!r} is not known here. Run it again on the answers.")
    options = {key: tuple(each) if isinstance(each, list) else each for key, each in described["options"].items()}
    return METHODS[name](**options)


def _check_file(name: str, what: str) -> None:
    if HIDDEN in name and "://" in name:
        raise InputError(
            f"The {what} of this result came from {name}, of which no password or token was kept. Run 'allalike"
            " discover' once more."
        )
    if "://" in name:
        return
    if not Path(name).is_absolute():  # such as standard input
        raise InputError(
            f"The {what} of this result came from {name}. They are needed again, and were not kept: save them in a"
            " file, and run 'allalike discover' with it once more."
        )
    if not Path(name).exists():
        raise InputError(f"The {what} were read from {name}, which is not there any more.")


def _check_counts(before: Mapping[str, Any], now: Mapping[str, int]) -> None:
    for name in _COUNTS:
        if before[name] != now[name]:
            raise InputError(
                f"The answers changed since the result was found: there were {before[name]:,} {name}, and now there are"
                f" {now[name]:,}. Run 'allalike discover' again."
            )
