"""agreement: from answers to how much workers agree, without looking for truths."""

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
    """Measure how much workers agree: Krippendorff's alpha for any kind of label, and for classes the kappas and AC1.

    Parameters
    ----------
    answers, domain, engine, **how
        As in `discover`.
    by
        A column, or several, to measure it for each of their values alone: a block of tasks, or a group of workers. In
        surveys, questions of different scales are kept apart in any case: ``block`` names the scale of each.

    >>> said = {"ada": [1, 2, 3, 3, 2, 1], "bob": [1, 2, 3, 3, 2, 2], "eve": [2, 3, 3, 3, 2, 3]}
    >>> rows = [(worker, task, float(x)) for worker, numbers in said.items() for task, x in enumerate(numbers)]
    >>> agreement(rows, domain="real")
    Krippendorff's alpha 0.509 (-0.088 to 0.886)
    """
    check_read_options(agreement, how)
    source, _ = open_source(answers, None, domain=domain, **how)
    if by is None:
        return _measure(source, engine, source.frame)
    if isinstance(source, Answers):
        raise OptionError(
            f"The answers have been read already, without the column {by!r}. Give what they were read from."
        )
    names = name_groups(source, [by] if isinstance(by, str) else by)
    return Agreements(
        tuple(names), {values: _measure(part, engine, source.frame) for values, part in source.split(names).items()}
    )


def name_groups(source: Scan, by: Sequence[str]) -> list[str]:
    """Return the columns that make groups: those that are given, and the scale of each task where there are several.

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
