"""update: more answers for a saved result, which stays until the new one is whole, and what changed by them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from allalike._core.system.addresses import find_folder
from allalike._core.system.progress import report
from allalike.api.discover import renew
from allalike.api.inputs.saved_files import check_complete
from allalike.api.inputs.state import read_state
from allalike.api.load import reopen
from allalike.api.results.targets import result_output
from allalike.api.since import find_changes
from allalike.errors import UnsupportedError
from allalike.readers.tools import PLAIN

if TYPE_CHECKING:
    import os

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
    check_complete(place)
    result_output(place).check([])  # before hours of work
    state = read_state(place)
    if (how := state.told["saved"]) is None:
        raise UnsupportedError(f"The result in {place} is that of a panel. Run 'allalike jury' on all verdicts.")
    tools = {state.scan.files.tool, state.told["notes"].get("guessed", {}).get("tool")}
    if how["to"] and tools - {None, PLAIN}:
        raise UnsupportedError(
            f"The result in {place} was written for {', '.join(how['to'])}, too, which takes the exports of all"
            " answers. Run 'allalike discover' on them with --to."
        )
    basis = reopen(state, engine)
    result = renew(replace(basis, parts=state.files), answers, gold)
    told, table = find_changes(result, state, basis.run)
    result = replace(result, summary={**result.summary, "changes": told})
    report("saving")
    result.save_with({}, {}, place, changes=table, unchanged=state.digest, **how)
    return result
