"""A crowd that copies sentences of four to nine words; bad workers replace, drop and swap many words."""

from typing import Any

import numpy as np

_SENTENCE = "the a cat dog sat ran on under mat tree and then rain über São 猫"
WORDS = _SENTENCE.split()


def answers(seed: int, n: int, m: int, missing: float) -> list[tuple[str, str, Any]]:
    rng = np.random.default_rng(seed)
    faults = rng.uniform(0.02, 0.7, n)
    truths = [rng.integers(0, len(WORDS), rng.integers(4, 10)) for _ in range(m)]
    present = rng.random((n, m)) >= missing
    present[:2] = True
    return [(f"w{i:03d}", f"t{j:04d}", copy(truths[j], faults[i], rng)) for i, j in np.argwhere(present)]


def copy(truth: np.ndarray[Any, Any], fault: float, rng: np.random.Generator) -> str:
    written = np.where(rng.random(len(truth)) < fault, rng.integers(0, len(WORDS), len(truth)), truth)
    written = written[rng.random(len(truth)) >= fault / 4]
    if len(written) > 1 and rng.random() < fault:
        written[[0, 1]] = written[[1, 0]]
    return " ".join(WORDS[word] for word in written)
