"""Make a run ready: what only sums over all answers tell is found before anybody is weighed, in this order.

1. The units in which the fields of records are compared.
2. What is each worker's own, such as her bias; it is taken away from her answers.
3. What is known of the workers from earlier answers.

Whoever loads answers to weigh workers makes the run ready. Answers are added to the run as it was loaded
(`allalike.engines.growing`), for more answers have other units and offsets.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block
    from allalike.answers.history import History
    from allalike.domains import Encoding
    from allalike.engines.base import Run

__all__ = ["make_ready"]


def make_ready(run: Run, history: History | None = None, *, corrected: bool = True) -> Run:
    """Return a run with all that is found before workers are weighed; it is the same run if there is nothing.

    Unless they are to be ``corrected``, answers stay as they were given.

    >>> import allalike
    >>> rows = [("ada", 1, 2.0), ("bob", 1, 4.0), ("ada", 2, 3.0), ("bob", 2, 5.0)]
    >>> run = allalike.Memory().load(allalike.read(rows, domain=allalike.Real(bias=True)))
    >>> make_ready(run).unweighted_peer_sums["distance"].round(9)
    array([0., 0.])
    >>> domain = allalike.Record({"size": "real"})
    >>> run = allalike.Memory().load(allalike.read([(w, t, {"size": x}) for w, t, x in rows], domain=domain))
    >>> make_ready(run).encoding.describe()["fields"]["size"]["unit"]
    2.0
    """
    encoding = run.encoding
    if encoding.fields is not None and (measured := encoding.fields.find_units(run.sum)) is not encoding:
        run = replace(run, encoding=measured)
    if encoding.offsets is not None and corrected:
        encoding = replace(encoding, offsets=encoding.offsets.find(run.sum, run.problems))
        run = replace(run.map(partial(_correct, encoding=encoding)), encoding=encoding)
    if history is not None:
        most = 1.0 if run.encoding.n_classes else np.inf
        run = replace(run, history=history.of_workers(run.workers.tolist(), most=most))
    return run


def _correct(block: Block, *, encoding: Encoding) -> Block:
    """Take away offsets and factors, and prepare the block again."""
    assert encoding.offsets is not None
    label = encoding.kernels.restore_answers(block, np.arange(len(block.label)))
    gold = encoding.kernels.restore_gold(block)
    label = encoding.offsets.of_block(block).remove(label, block.worker)
    return encoding.prepare(replace(block, label=label, gold_label=gold, prepared={}))
