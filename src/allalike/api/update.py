"""update: more answers for a saved result, which stays until the new one is whole, and what changed by them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from allalike._core.system.addresses import find_folder
from allalike._core.system.json_text import parse_json
from allalike._core.system.progress import report
from allalike.api.discover import renew
from allalike.api.inputs.state import read_state
from allalike.api.load import load, open_basis
from allalike.api.results.targets import REPORT, list_saved
from allalike.api.since import find_changes
from allalike.api.writers import WRITERS
from allalike.errors import UnsupportedError
from allalike.methods.base import Streaming

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from allalike.api.result import Result
    from allalike.engines import Engine

__all__ = ["update"]


def update(
    folder: str | os.PathLike[str], answers: Any, *, gold: Any = None, engine: str | Engine | None = None
) -> Result:
    """Add answers to a saved result, save the new one in its place, and say what changed.

    The old answers are taken from the folder, and are not written again. The new result is the one that all answers at
    once would give, and is saved as the old one was: tables of the same format, with a report if there was one, and
    ``changes.csv``. Until it is whole, the old one stays.

    Parameters
    ----------
    folder
        Where `Result.save` or ``allalike discover`` wrote the result, with its answers.
    answers
        The new ones, in any form that `discover` takes; they are read as the first ones were.
    gold
        Further truths that are known.
    engine
        Where it runs, ``memory`` or ``disk``; it need not be where it ran before.

    >>> import allalike, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("ada", 2, "y"), ("bob", 2, "y")]).save(folder)
    ...     result = update(folder, [("eve", 1, "y"), ("kim", 1, "y"), ("lea", 1, "y"), ("eve", 3, "x")])
    ...     allalike.load(folder).summary == result.summary
    True
    >>> result.truth["label"].tolist(), result.summary["changes"]["turned"]
    (['y', 'y', 'x'], 1)
    """
    place = find_folder(folder)
    state, files = read_state(place), list_saved(place)
    if state is None:
        raise _refuse(place)
    if isinstance(state.method, Streaming):
        old = load(place, engine=engine)
        known, result = old.run.encoding, old.update(answers, gold=gold)
    else:
        basis = open_basis(state, engine)
        known, result = basis.run.encoding, renew(basis, None, answers, gold)
    told, table = find_changes(result, state, known)
    result = replace(result, summary={**result.summary, "changes": told})
    report("saving")
    summary = parse_json((place / "summary.json").read_text(encoding="utf-8"))
    result.save_with(
        {},
        {},
        place,
        changes=table,
        format="parquet" if "truth.parquet" in files else "csv",
        to=[name for name in WRITERS if any(file.startswith(f"{name}/") for file in files)],
        report=REPORT in files,
        probabilities=any(file.startswith("probabilities.") for file in files),
        safe_csv=bool(summary.get("safe_csv")),
        unchanged=state.digest,
    )
    return result


def _refuse(place: Path) -> UnsupportedError:
    """Say why answers cannot be added to what is there."""
    summary = place / "summary.json"
    if not summary.is_file():
        return UnsupportedError(f"There is no result in {place}. 'allalike discover' writes one.")
    return UnsupportedError(
        f"The result in {place} was saved without its answers, so that none can be added. Run 'allalike discover' once"
        " more on all of them; a panel is found again by 'allalike jury'."
    )
