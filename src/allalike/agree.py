"""Measure the agreement between workers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack, overload

from allalike._core.blocks.block import Ties
from allalike.answers import Answers
from allalike.discover import load_run, read_whole
from allalike.engines import Engine, make_ready
from allalike.errors import OptionError
from allalike.readers import ReadOptions, check_read_options
from allalike.reliability.agreement import Agreement, Agreements, measure_agreement
from allalike.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike.domains import Domain
    from allalike.readers import Scan


@overload
def agreement(
    answers: Any,
    *,
    domain: str | Domain | None = None,
    engine: str | Engine | None = None,
    by: None = None,
    **how: Unpack[ReadOptions],
) -> Agreement: ...


@overload
def agreement(
    answers: Any,
    *,
    domain: str | Domain | None = None,
    engine: str | Engine | None = None,
    by: str | Sequence[str],
    **how: Unpack[ReadOptions],
) -> Agreements: ...


def agreement(
    answers: Any,
    *,
    domain: str | Domain | None = None,
    engine: str | Engine | None = None,
    by: str | Sequence[str] | None = None,
    **how: Unpack[ReadOptions],
) -> Agreement | Agreements:
    """Measure inter-annotator agreement: Krippendorff's alpha for any label type, kappas and AC1 for classes.

    Parameters
    ----------
    answers, domain, engine, **how
        As in `discover`.
    by
        One or several columns whose values define groups of tasks or workers; agreement is measured per group. Survey
        questions with different scales always form separate groups, which are named in the column ``block``.

    >>> answers = {"ada": [1, 2, 3, 3, 2, 1], "bob": [1, 2, 3, 3, 2, 2], "eve": [2, 3, 3, 3, 2, 3]}
    >>> rows = [(worker, task, float(x)) for worker, numbers in answers.items() for task, x in enumerate(numbers)]
    >>> agreement(rows, domain="real")
    Krippendorff's alpha 0.509 (-0.088 to 0.886)
    """
    check_read_options(agreement, how)
    source, _ = open_source(answers, None, domain=domain, **how)
    if by is None:
        return _measure(source, engine, source.frame)
    if isinstance(source, Answers):
        raise OptionError(
            f"by is {by!r}, but the answers were read without this column. Pass the file or table instead."
        )
    names = name_groups(source, [by] if isinstance(by, str) else by)
    return Agreements(
        tuple(names), {values: _measure(part, engine, source.frame) for values, part in source.split(names).items()}
    )


def name_groups(source: Scan, by: Sequence[str]) -> list[str]:
    """Return the columns that define groups: the given ones, and the scale of each task if there are several scales.

    >>> from allalike.readers import scan
    >>> name_groups(scan({"worker": ["ada"], "task": [1], "label": ["x"], "sex": ["f"]}), ["sex"])
    ['sex']
    """
    table = source.open()
    apart = table.scales and source.domain is None and not {table.scales, table.roles["task"]} & {*by}
    return [table.scales, *by] if apart else list(by)


def _measure(source: Answers | Scan, engine: str | Engine | None, frame: str) -> Agreement:
    where, held = read_whole(source, engine)
    run = load_run(where, held, None, Ties(), guessed=engine is None)
    return measure_agreement(replace(make_ready(run, corrected=False), frame=frame))
