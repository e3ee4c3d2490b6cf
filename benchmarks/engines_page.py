"""The page of benchmarks: bars, and what they say about larger machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from measuring import machine

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Bar", "write_page"]

_PAGE = """# Benchmarks

`make bench` measures and writes this page. Every ratio is of two programs that ran one after the other on the same
machine and the same answers, so that a noisy machine does not matter much; CPU seconds count all processes. The answers
are shuffled rows with string ids, ten per task, four classes, a worker for every thousand answers.

Measured on {machine}.

| what | ours | theirs | ratio | bar | |
| --- | --- | --- | --- | --- | --- |
{rows}

## On a cluster, on paper

A round broadcasts one number per worker to every executor, and each partition sends two sums per worker back. So the
bytes that a round shuffles are workers x partitions x 16, and do not depend on the number of answers:

| answers | workers | executors | cores | partitions | blocks per executor | shuffled per round | kernels per round |
| --- | --- | --- | --- | --- | --- | --- | --- |
{shapes}

Blocks take 13 bytes per answer here (the worker in four, the label in one, its group in four to eight), and a core does
about {speed:.0f} million answers per second, as measured above. A partition holds a million answers, and at least ten
for every worker, so that sums are small beside blocks. Where the sums of all partitions together are large, executors
add up ranges of workers first, so that the driver receives every sum once.
"""
_BYTES = 13


@dataclass(frozen=True)
class Bar:
    """Hold a ratio, what it was made of, and the largest that is allowed, if there is one."""

    name: str
    ours: str
    theirs: str
    ratio: float
    most: float | None

    @property
    def kept(self) -> bool:
        """Whether the ratio is small enough."""
        return self.most is None or self.ratio <= self.most

    def line(self) -> str:
        """Say it in a line of text."""
        limit = "" if self.most is None else f" (at most {self.most:.3g})"
        return f"{'kept  ' if self.kept else 'missed'} {self.ratio:8.3f}{limit}  {self.name}: {self.ours} {self.theirs}"

    def row(self) -> str:
        """Say it in a row of a Markdown table."""
        most = "" if self.most is None else _short(self.most)
        judged = "" if self.most is None else "kept" if self.kept else "**missed**"
        ratio = _short(self.ratio) if self.most is not None or self.theirs else ""
        return f"| {self.name} | {self.ours} | {self.theirs} | {ratio} | {most} | {judged} |"


def _short(ratio: float) -> str:
    """Write a ratio; small ones as fractions.

    >>> _short(1.104), _short(0.05)
    ('1.1', '1/20')
    """
    return f"{ratio:.3g}" if ratio >= 0.4 else f"1/{1 / ratio:.3g}"


def write_page(path: Path, bars: list[Bar]) -> None:
    """Write the page."""
    rounds = next(bar for bar in bars if bar.name.startswith("spark (local): a round"))
    answers = float(rounds.name.split(",")[1].split()[0]) * 1e6
    speed = answers / float(rounds.ours.split()[0])
    shapes = [_shape(10**9, 10**5, 10, speed), _shape(10**10, 10**6, 100, speed)]
    rows = "\n".join(bar.row() for bar in bars)
    text = _PAGE.format(machine=machine(), rows=rows, shapes="\n".join(shapes), speed=speed / 1e6)
    path.write_text(text, encoding="utf-8")


def _shape(answers: int, workers: int, executors: int, speed: float) -> str:
    """Say what a round takes on executors of eight cores.

    >>> _shape(10**10, 10**6, 100, 6e6)
    '| 10^10 | 10^6 | 100 | 800 | 1,000 | 1.3 GB | 16.0 GB | 2.1 s |'
    """
    cores, partitions = 8 * executors, answers // max(10**6, 10 * workers)
    memory, shuffled = answers * _BYTES / executors, workers * partitions * 16
    powers = f"| 10^{len(str(answers)) - 1} | 10^{len(str(workers)) - 1} "
    sizes = f"| {memory / 1e9:.1f} GB | {shuffled / 1e9:.1f} GB | {answers / speed / cores:.1f} s |"
    return f"{powers}| {executors} | {cores} | {partitions:,} {sizes}"
