"""Revisits: the result in a folder, found once more from the answers that it came from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike._core.system.addresses import HIDDEN
from allalike._core.system.json_text import parse_json
from allalike.api.discover import discover
from allalike.api.inputs.outside import find_outside, list_named, refuse_outside
from allalike.api.inputs.recipes import open_recipe
from allalike.api.results.summaries import describe_answers
from allalike.errors import AllalikeError, InputError, UnsupportedError
from allalike.methods import METHODS, Method
from allalike.readers.formats.compression import check_regular

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from allalike.api.result import Result
    from allalike.engines import Engine

__all__ = ["find_strange", "revisit"]

_SUMMARY = "summary.json"
_COUNTS = ("answers", "workers", "tasks")


def revisit(folder: str | os.PathLike[str], *, engine: str | Engine | None = None, open_inputs: bool = False) -> Result:
    r"""Read the answers of a saved result again, and find it again.

    Parameters
    ----------
    folder
        Where `Result.save` or ``allalike discover`` wrote it.
    engine
        Where it runs, as in `discover`; it need not be where it ran before.
    open_inputs
        Whether to open what the result names outside of its folder, also where nothing proves that this user's own
        program saved it.

    >>> import allalike, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "answers.csv")
    ...     _ = path.write_text("worker,task,label\nada,1,x\nbob,1,x\neve,1,y\n", encoding="utf-8")
    ...     _ = allalike.discover(path).save(folder + "/out")
    ...     revisit(folder + "/out").truth["label"].tolist()
    ['x']
    """
    summary = _read_summary(Path(folder))
    method = _make_method(summary["method"])
    if not open_inputs and (outside := find_outside(Path(folder), summary)):
        raise refuse_outside(Path(folder), outside)
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
        return find_outside(Path(folder), _read_summary(Path(folder)))
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
            f"{path} does not say which files the answers came from: they were Python objects, or were read in a way"
            " that cannot be written. In Python, result.explain(task=...) and result.explain(worker=...) do it."
        )
    return summary


def _make_method(described: Mapping[str, Any]) -> Method:
    name = described["name"]
    if name not in METHODS:
        raise UnsupportedError(f"The method {name!r} is not known here. In Python, result.explain does it.")
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
