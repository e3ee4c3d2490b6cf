"""Measure GLEU against nltk: ratios of CPU time, taken in one run on the same sentences.

Ten workers copy 10,000 sentences of 20 words, with more or fewer errors, and all 450,000 pairs of answers are
compared. nltk compares a sample of the pairs, whose time is scaled; its sentences are split beforehand, ours are not.
The program ends with an error if the bar is missed.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from allalike.domains.text import Text

WORKERS, TASKS, LENGTH, VOCABULARY, SAMPLE = 10, 10_000, 20, 5_000, 5_000
LEAST = 20.0  # times faster than nltk


def sentences() -> list[str]:
    """Write the answers, task after task; frequent words are as frequent as in a language (Zipf's law)."""
    rng = np.random.default_rng(0)
    words = np.array([f"word{number}" for number in range(VOCABULARY)])
    chance = 1 / np.arange(1, VOCABULARY + 1)
    size = (TASKS, WORKERS, LENGTH)
    truth, other = rng.choice(VOCABULARY, (2, *size), p=chance / chance.sum())
    errs = rng.random(size) < np.linspace(0.05, 0.6, WORKERS)[:, None]
    written = np.where(errs, other, truth[:, :1])
    return [" ".join(words[sentence]) for sentence in written.reshape(-1, LENGTH)]


def main() -> None:
    """Measure, print and judge."""
    from nltk.translate.gleu_score import sentence_gleu
    from scipy import sparse  # noqa: F401 (imported before the clock starts)

    texts = sentences()
    first, second = np.triu_indices(WORKERS, 1)
    tasks = WORKERS * np.arange(TASKS)[:, None]
    i, j = (tasks + first).ravel(), (tasks + second).ravel()
    domain, ours, packing = Text(), np.inf, np.inf
    for _ in range(3):
        start = time.process_time()
        store = domain._pack(texts)
        packed = time.process_time()
        found = domain._compare(store, i, store, j)
        packing, ours = min((packing, ours), (packed - start, time.process_time() - start), key=lambda pair: pair[1])

    sample = np.random.default_rng(1).choice(len(i), SAMPLE, replace=False)
    pairs = [(texts[a].split(" "), texts[b].split(" ")) for a, b in zip(i[sample], j[sample], strict=True)]
    start = time.process_time()
    expected = [sentence_gleu([left], right) for left, right in pairs]
    theirs = (time.process_time() - start) * len(i) / SAMPLE
    np.testing.assert_allclose(1 - found[sample], expected, rtol=0, atol=1e-12)

    ratio = theirs / ours
    print(f"{len(i):,} pairs of sentences with {LENGTH} words")
    print(f"  GLEU {ours:.2f} s CPU, of it {packing:.2f} s to split and count; nltk {theirs:.1f} s CPU, from a sample")
    print(f"  {'kept  ' if ratio >= LEAST else 'missed'}  nltk / GLEU, CPU {ratio:8.1f}  (at least {LEAST:.0f})")
    sys.exit(0 if ratio >= LEAST else "a bar is missed")


if __name__ == "__main__":
    main()
