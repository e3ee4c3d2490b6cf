"""Segmentations: masks of pixels that workers drew, and the pixels that most of them drew.

Here a pixel is on if at least half of the weight says so. Everywhere else in this library exactly half is off; so the
vote is taken on the pixels that were *not* drawn, and what is left by it is on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np

from allalike._core.late import pd
from allalike.compat.crowdkit.crowd import TIES, check_frame, check_repeats, find_weights, number_values
from allalike.domains import Bitmap
from allalike.engines import Memory
from allalike.readers import read

__all__ = ["SegmentationMajorityVote"]


@dataclass(eq=False)
class SegmentationMajorityVote:
    """A vote on each pixel, in which workers may have weights.

    Parameters
    ----------
    default_skill, on_missing_skill
        As in `MajorityVote`.

    >>> import pandas as pd
    >>> masks = [[[1, 0], [1, 1]], [[0, 1], [1, 1]], [[0, 1], [1, 0]]]
    >>> data = pd.DataFrame({"task": "t1", "worker": [1, 2, 3], "segmentation": [np.array(mask) for mask in masks]})
    >>> SegmentationMajorityVote().fit_predict(data)["t1"].astype(int)
    array([[0, 1],
           [1, 1]])
    """

    default_skill: float | None = None
    on_missing_skill: str = "error"
    segmentations_: pd.Series[Any] = field(init=False, repr=False)

    def fit(self, data: pd.DataFrame, skills: pd.Series[Any] | None = None) -> Self:
        """Count the votes on each pixel in a frame with the columns task, worker and segmentation."""
        check_frame(data, "task", "worker", "segmentation")
        _, workers = number_values(data, "worker")
        heard, weights = find_weights(data, workers, skills, self.on_missing_skill, self.default_skill)
        (worker, _), (task, tasks) = (number_values(heard, name) for name in ("worker", "task"))
        check_repeats(heard)
        outside = [(1 - (np.asarray(mask) != 0)).astype(np.uint8) for mask in heard["segmentation"]]
        answers = read(list(zip(worker.tolist(), task.tolist(), outside, strict=True)), domain=Bitmap())
        run = Memory().load(answers, TIES)
        left = run.find(partial(run.kernels.aggregate, ties=TIES), weights, np.zeros(len(weights))).joined()
        found = pd.Series(run.encoding.decode(left.found["label"]).tolist(), index=tasks.rename("task"))
        self.segmentations_ = found.map(lambda mask: np.asarray(mask) == 0).rename("agg_segmentation")
        return self

    def fit_predict(self, data: pd.DataFrame, skills: pd.Series[Any] | None = None) -> pd.Series[Any]:
        """Return the mask of each task."""
        return self.fit(data, skills).segmentations_
