"""Calibration: what is taken away from each worker's answers before anybody is weighed, such as her bias."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block
    from allalike.domains import Encoding
    from allalike.engines import Run

__all__ = ["calibrate"]


def calibrate(run: Run) -> Run:
    """Return the run over answers without what is each worker's own, if the domain estimates such a thing.

    >>> import allalike
    >>> rows = [("ada", 1, 2.0), ("bob", 1, 4.0), ("ada", 2, 3.0), ("bob", 2, 5.0)]
    >>> run = allalike.Memory().load(allalike.read(rows, domain=allalike.Real(bias=True)))
    >>> calibrate(run).unweighted_peer_sums["distance"].round(9)
    array([0., 0.])
    """
    if run.encoding.offsets is None:
        return run
    encoding = replace(run.encoding, offsets=run.encoding.offsets.find(run.sum, run.problems))
    return replace(run.map(partial(_correct, encoding=encoding)), encoding=encoding)


def _correct(block: Block, *, encoding: Encoding) -> Block:
    """Take away offsets and factors, and prepare the block again."""
    assert encoding.offsets is not None
    label = encoding.kernels.restore_answers(block, np.arange(len(block.label)))
    gold = encoding.kernels.restore_gold(block)
    label = encoding.offsets.of_block(block).remove(label, block.worker)
    return encoding.prepare(replace(block, label=label, gold_label=gold, prepared={}))
