"""agreement: from answers to how much workers agree, without looking for truths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from allalike._core.blocks.ties import Ties
from allalike.api.agreement.agreement import Agreement, measure_agreement
from allalike.api.discover import open_run
from allalike.api.inputs.opening import open_source
from allalike.engines import Engine, make_ready
from allalike.readers import ReadOptions, check_read_options

if TYPE_CHECKING:
    from allalike.domains import Domain

__all__ = ["agreement"]


def agreement(
    answers: Any,
    *,
    domain: str | Domain | None = None,
    engine: str | Engine | None = None,
    **how: Unpack[ReadOptions],
) -> Agreement:
    """Measure how much workers agree: Krippendorff's alpha for any kind of label, and for classes the kappas and AC1.

    Parameters
    ----------
    answers, domain, engine, **how
        As in `discover`.

    >>> said = {"ada": [1, 2, 3, 3, 2, 1], "bob": [1, 2, 3, 3, 2, 2], "eve": [2, 3, 3, 3, 2, 3]}
    >>> rows = [(worker, task, float(x)) for worker, numbers in said.items() for task, x in enumerate(numbers)]
    >>> agreement(rows, domain="real")
    Krippendorff's alpha 0.509 (-0.088 to 0.886)
    """
    check_read_options(agreement, how)
    source, _ = open_source(answers, None, domain=domain, **how)
    _, run = open_run(source, None, engine=engine, ties=Ties())
    return measure_agreement(make_ready(run, corrected=False))
