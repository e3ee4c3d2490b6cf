"""Draws that depend on nothing but ids and seeds: the same on every engine, for every order of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike._core.columns.hashes import mix

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Floats

_HASH_STEPS = 2.0**53  # different numbers between 0 and 1 that are made of a hash


def draw_evenly(ids: npt.NDArray[np.uint64], seed: tuple[int, int], size: int) -> Floats:
    """Draw so many numbers between 0 and 1 for each hash of an id, by the seed and the number of the start.

    >>> draw_evenly(np.array([5, 6], np.uint64), (0, 1), 3).round(2).tolist()
    [[0.28, 0.0, 0.63], [0.93, 0.63, 0.0]]
    """
    salt = mix(np.array([seed[0] % (1 << 64)], np.uint64))
    cells = mix(np.arange(size, dtype=np.uint64) + np.uint64(1 + seed[1] * size))
    bits = mix(mix(ids ^ salt)[:, None] ^ cells) >> np.uint64(11)
    return np.asarray((bits + 0.5) / _HASH_STEPS, np.float64)


def draw_subtypes(task_hash: npt.NDArray[np.uint64], seed: tuple[int, int], shape: tuple[int, int]) -> Floats:
    """Draw from Dirichlet(1, ..., 1), for each task and class, by hashes of the task, the seed and the start.

    >>> draw_subtypes(np.array([5, 6], np.uint64), (0, 1), (1, 3)).round(2).tolist()
    [[[0.03, 0.96, 0.01]], [[0.0, 0.01, 0.99]]]
    """
    drawn = -np.log(draw_evenly(task_hash, seed, shape[0] * shape[1])).reshape(-1, *shape)
    shares: Floats = drawn / drawn.sum(axis=2, keepdims=True)
    return shares
