"""Add answers to a run: they become one more shard, and the shards that are there stay as they were prepared.

A task that gets another answer, or whose truth becomes known, is taken over: its old answers go into the new shard
together with the new ones, where repeats are dropped, and in the old shard they are the dummy worker's. So every
sum over the shards is one over all answers, and what is done anew is in proportion to the new answers and to the old
ones of the same tasks. Only where a class or an item is new are all blocks prepared again.

The sums of the first round are known but for the tasks that were taken over: their old sums are subtracted, and those
of the new shard added. Whole numbers stay exact. Where so much cancels that digits are lost, all is summed again.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats
from allalike._core.blocks.problems import Problems
from allalike._core.columns.factors import Codes, unite
from allalike._core.columns.matches import cast_like, find_places, write_plainly
from allalike._core.columns.values import Values, is_string
from allalike._core.late import pa
from allalike.answers import Answers
from allalike.engines.base import Run
from allalike.engines.news import News
from allalike.engines.shards import REPEATS, Shard, Tally, of_answers
from allalike.engines.sums import Sums
from allalike.errors import InputError, UnsupportedError

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.columns.hashes import Hashes
    from allalike.answers.gold import Gold
    from allalike.domains import Encoding

__all__ = ["Change", "Growing", "Overlay", "Picked", "count_small", "fit_answers", "grow", "list_answers", "pick"]

_JOIN_RATIO = 2  # a shard that has no more than so many times as many tasks as are new is joined with them
_MIN_REMAINDER = 1e-2  # below this share of the peak, sum again: subtraction has cancelled too many digits
_LARGEST_EXACT = float(1 << 53)  # up to here, whole numbers are exact
_WHOLE = re.compile("0|-?[1-9][0-9]{0,17}")


Change = Callable[[Block], Block]


class Growing(Run):
    """A run to which answers can be added later: it can pick some of its answers, and extend itself by a shard."""

    @property
    def has_first_sums(self) -> bool:
        """Whether the sums of the first round were added up, or are known otherwise."""
        return "unweighted_peer_sums" in vars(self)

    @cached_property
    def unweighted_peaks(self) -> dict[str, Floats]:
        """The largest sums of the first round since all of it was summed."""
        return self.unweighted_peer_sums

    def with_first_sums(self, sums: dict[str, Floats], peaks: dict[str, Floats]) -> Self:
        """Return the run with the sums of the first round, which need not be added up again."""
        known = replace(self)
        vars(known).update(unweighted_peer_sums=sums, unweighted_peaks=peaks)
        return known

    @property
    @abstractmethod
    def sample_tasks(self) -> Values:
        """The ids of some tasks."""

    @abstractmethod
    def absorb(self, n_tasks: int) -> Hashes:
        """Return the hashes of tasks that had better go into one shard with so many others."""

    @abstractmethod
    def pick(self, wanted: Hashes) -> list[Picked]:
        """Return the answers to the tasks with these hashes, from every shard that has any."""

    @abstractmethod
    def extend(
        self, shard: Shard, tally: Tally, overlay: Overlay, picked: list[Picked], again: Change | None
    ) -> Growing:
        """Return a run over one shard more, in which an overlay drops from the old ones what was picked from them.

        Their blocks are prepared ``again`` if need be. It has the workers and counts of the old run still.
        """


@dataclass(frozen=True)
class Overlay:
    """What becomes of blocks once there are more answers.

    Parameters
    ----------
    worker_map
        The new number of each worker, unless all kept theirs.
    dropped_tasks
        The hashes, in order, of the tasks that a later shard has taken over.

    >>> [covered] = Overlay(np.array([0, 2]), np.array([1], np.uint64)).apply([Block.of([[0, 1], [1, 1]])])
    >>> covered.workers, covered.live
    (array([0, 2]), array([ True, False]))
    """

    worker_map: Codes | None
    dropped_tasks: Hashes

    def apply(self, blocks: list[Block]) -> list[Block]:
        """Number the workers of blocks anew, and drop tasks that were taken over."""
        if self.worker_map is not None:
            blocks = [replace(block, workers=self.worker_map[block.workers]) for block in blocks]
        marked = zip(blocks, _mark(blocks, self.dropped_tasks), strict=True)
        return [block.without(gone) if gone.any() else block for block, gone in marked]

    def after(self, before: Overlay | None) -> Overlay:
        """Return the overlay that does what another does, and then what this one does."""
        if before is None:
            return self
        maps = [each for each in (before.worker_map, self.worker_map) if each is not None]
        worker_map = maps[1][maps[0]] if len(maps) == 2 else maps[0] if maps else None
        return Overlay(worker_map, np.union1d(before.dropped_tasks, self.dropped_tasks))


@dataclass(frozen=True)
class Picked:
    """The answers to some tasks of a shard, and for how many of these the truth is known."""

    shard: int
    answers: Answers
    n_gold: int


def pick(shard: Shard, number: int, encoding: Encoding, wanted: Hashes) -> Picked | None:
    """Return the answers to those tasks of a shard that have one of these hashes, and count."""
    tasks, sizes, workers, labels, first, n_gold = [], [], [], [], 0, 0
    for block, asked in zip(shard.blocks, _mark(shard.blocks, wanted), strict=True):
        mine = asked if block.live is None else asked & block.live
        if mine.any():
            rows = np.flatnonzero(block.to_answers(mine))
            who = block.worker[rows]
            tasks.append(first + np.flatnonzero(mine))
            sizes.append(block.sizes[mine])
            workers.append(who if isinstance(block.workers, slice) else block.workers[who])
            labels.append(encoding.kernels.restore_answers(block, rows))
            n_gold += int(mine[block.gold_task].sum())
        first += block.n_tasks
    if not tasks:
        return None
    label = np.concatenate(labels)
    answers = Answers(
        workers=Values([]),  # they are known where the shard is from
        tasks=shard.tasks.take(np.concatenate(tasks)),
        encoding=encoding,
        starts=np.concatenate([[0], np.cumsum(np.concatenate(sizes))]),
        worker=np.concatenate(workers).astype(np.int32),
        label=label,
        problems=Problems.single(0),
        gold_label=label[:0],
    )
    return Picked(number, answers, n_gold)


def list_answers(run: Run) -> Iterator[Answers]:
    """Yield all answers of a run, those of some tasks at a time.

    >>> import allalike
    >>> run = allalike.Memory().load(allalike.read([("ada", 1, 3), ("bob", 1, 3), ("bob", 2, 4)]))
    >>> [(part.workers.tolist(), part.tasks.tolist(), part.label.tolist()) for part in list_answers(run)]
    [(['ada', 'bob'], [1, 2], [0, 0, 1])]
    """
    for number, shard in enumerate(run.each_shard()):
        found = pick(shard, number, run.encoding, np.unique(shard.task_hash))
        if found is not None:
            yield replace(found.answers, workers=run.workers)


def count_small(sizes: list[int], n_tasks: int) -> int:
    """Say how many of the last shards, which have so many tasks, had better be joined with new tasks.

    So there are few shards, of which each is much larger than the next, and each answer is prepared again seldom.

    >>> count_small([900, 10, 4, 3], 2)
    3
    """
    number = 0
    while number < len(sizes) and sizes[-1 - number] <= _JOIN_RATIO * n_tasks:
        n_tasks += sizes[-1 - number]
        number += 1
    return number


def grow(
    run: Growing, more: Answers, *, repeats: str | None, gold: Gold | None = None, fresh: Gold | None = None
) -> tuple[Growing, Callable[[], News]]:
    """Return a run over the answers of another and more, which equals one over all of them; say what is new if asked.

    Parameters
    ----------
    run
        Where the old answers are; it stays as it is.
    more
        The new ones.
    repeats
        What becomes of a worker's second answer to a task: ``first``, ``last``, ``error`` or ``add``.
    gold, fresh
        All truths that are known, and those among them that are known only now.

    >>> import allalike
    >>> run = allalike.Memory().load(allalike.read([("ada", 1, 3), ("bob", 1, 3), ("bob", 2, 4)]))
    >>> grown, news = grow(run, allalike.read([("eve", 2, 4), ("bob", 3, 3)]), repeats="first")
    >>> grown.workers.tolist(), grown.answer_counts, grown.n_tasks
    (['ada', 'bob', 'eve'], array([1, 3, 1]), 3)
    >>> sorted(news().after.tasks.tolist()), [part.tasks.tolist() for part in news().before]
    ([2, 3], [[2]])
    """
    more, known = fit_answers(run, more), run.encoding
    workers, place, other = _place(run.workers, more.workers)
    encoding, truths = known.merge([more.encoding]), None
    if gold is not None:
        encoding, truths = gold.encode(encoding)
    again = partial(_prepare_again, encoding=encoding, known=known) if encoding.vocabulary != known.vocabulary else None
    taken = _taken(run, more, gold if again else None, fresh)
    picked = run.pick(taken)
    same = np.arange(len(workers), dtype=np.int32)
    old = [part.answers.among(workers, same if place is None else place) for part in picked]
    answers = Answers.join([*old, more.among(workers, other)], encoding, repeats=repeats)
    if truths is not None:
        answers = answers.with_truths(truths)
    shard, tally = of_answers(answers, run.block_answers)
    before, after = _placed(run.answer_counts, place, len(workers)), answers.answer_counts
    n_gold = run.n_gold + len(answers.gold_task) - sum(part.n_gold for part in picked)
    counted = {} if gold is None else {"gold": gold.count(n_gold, answers.tasks[0])}
    grown = replace(
        run.extend(shard, tally, Overlay(place, taken), picked, again),
        workers=workers,
        encoding=encoding,
        problems=Problems.single(len(workers)),
        answer_counts=before + after - sum(part.answer_counts for part in old),
        n_tasks=run.n_tasks + len(answers.tasks) - sum(len(part.tasks) for part in old),
        n_single=run.n_single + answers.n_single - sum(part.n_single for part in old),
        only_number=run.only_number if run.only_number == answers.only_number else None,
        n_gold=n_gold,
        notes={**_notes(run.notes, more.notes, answers.notes), **counted},
    )
    grown = _reuse_sums(run, grown, place, old, shard)
    return grown, partial(News.of, old, answers, more.tasks.hashes(), known, place)


def fit_answers(run: Growing, more: Answers) -> Answers:
    """Refuse answers that do not go together with those of a run."""
    if len(run.problems.sizes) > 1 or len(more.problems.sizes) > 1:
        raise UnsupportedError(
            "Where every task is a problem of its own, no answers can be added. Run it again on all answers."
        )
    if type(more.domain) is not type(run.domain):
        raise InputError(
            f"The new labels are {more.domain.name}, but those so far are {run.domain.name}. Read them with the same"
            " domain."
        )
    return replace(
        more,
        tasks=cast_like(more.tasks, run.sample_tasks, "tasks"),
        workers=cast_like(more.workers, run.workers, "workers"),
    )


def _place(known: Values, more: Values) -> tuple[Values, Codes | None, Codes]:
    """Return all workers in order, the places of those that were known unless they keep them, and of the others."""
    codes, workers = unite([known, more])
    if len(workers) == len(known):
        return known, None, codes[len(known) :]
    return workers, codes[: len(known)], codes[len(known) :]


def _taken(run: Growing, more: Answers, gold: Gold | None, fresh: Gold | None) -> Hashes:
    """Return the hashes of all tasks that get answers or a truth, and of those whose truth may be a new label."""
    hashes = [more.tasks.hashes(), run.absorb(len(more.tasks))]
    if fresh is not None:
        hashes.append(_hash_loosely(fresh.task.factors[1], run))
    if gold is not None:
        _, truths = gold.encode(run.encoding)
        unanswered = np.flatnonzero(run.encoding.is_unanswered(truths.label))
        hashes.append(_hash_loosely(truths.tasks.take(unanswered), run))
    return np.unique(np.concatenate(hashes))


def _hash_loosely(ids: Values, run: Growing) -> Hashes:
    """Hash ids as they are, as texts and as numbers: those of known truths match by their text.

    Where tasks are neither texts nor whole numbers, they are looked up among all.
    """
    known = run.sample_tasks.data
    if isinstance(known, list) or not (is_string(known.type) or pa.types.is_integer(known.type)):
        tasks = run.find(_nothing).joined().tasks
        place = find_places(ids, tasks)
        return tasks.take(place[place >= 0]).hashes()
    plain = list(map(write_plainly, ids.tolist()))
    numbers = [int(text) for text in plain if _WHOLE.fullmatch(text)]
    texts = [*map(str, ids.tolist()), *plain, *(f"{number}.0" for number in numbers)]
    forms = ids, Values(pa.array(texts, pa.large_string())), Values(pa.array(numbers, pa.int64()))
    return np.concatenate([form.hashes() for form in forms])


def _nothing(block: Block) -> dict[str, Array]:
    return {}


def _placed(values: Any, place: Codes | None, n_workers: int) -> Any:
    """Return one number per worker as a number for each of all workers."""
    if place is None:
        return values
    placed = np.zeros(n_workers, values.dtype)
    placed[place] = values
    return placed


def _notes(old: Mapping[str, Any], more: Mapping[str, Any], joined: Mapping[str, Any]) -> dict[str, Any]:
    """Add up what was set aside; what was guessed is what was guessed at first."""
    notes = dict(old)
    for name in (*REPEATS, "missing_dropped", "abstained_dropped"):
        number = sum(part.get(name, 0) for part in (old, more, joined))
        if number:
            notes[name] = number
    return notes


def _prepare_again(block: Block, *, encoding: Encoding, known: Encoding) -> Block:
    """Prepare a block that another encoding prepared, with codes of another vocabulary."""
    label = encoding.remap(known.kernels.restore_answers(block, np.arange(len(block.label))), known)
    gold = encoding.remap(known.kernels.restore_gold(block), known)
    return encoding.prepare(replace(block, label=label, gold_label=gold, prepared={}))


def _reuse_sums(run: Growing, grown: Growing, place: Codes | None, old: list[Answers], shard: Shard) -> Growing:
    """Find the sums of the first round from those of the old run, if they are known and digits are left.

    What is lost grows with the largest sums since all was summed, so these are remembered.
    """
    if not run.has_first_sums or grown.kernels != run.kernels:
        return grown
    gone = [block for part in old for block in of_answers(part.under(grown.encoding), run.block_answers)[0].blocks]
    minus, plus = _first_sums(grown, gone), _first_sums(grown, shard.blocks)
    sums, peaks = {}, {}
    for name, before in run.unweighted_peer_sums.items():
        was, peak = (_placed(part, place, len(grown.workers)) for part in (before, run.unweighted_peaks[name]))
        less = minus.get(name, np.zeros(len(was)))
        sums[name] = was - less + plus[name]
        peaks[name] = np.maximum(peak, sums[name])
        whole = all(np.all((part == np.rint(part)) & (part < _LARGEST_EXACT)) for part in (peak, was, less))
        if not whole and np.any(sums[name] < _MIN_REMAINDER * peak):
            return grown
    return grown.with_first_sums(sums, peaks)


def _first_sums(run: Run, blocks: Iterable[Block]) -> dict[str, Floats]:
    sums = Sums(len(run.workers))
    for block in blocks:
        sums.add(block, run.kernels.peer_sums, [np.ones(len(run.workers))])
    return sums.arrays


def _mark(blocks: list[Block], wanted: Hashes) -> list[npt.NDArray[np.bool_]]:
    """Tell which tasks of blocks have one of these hashes, which are in order.

    A table of their first bits rules most of the others out.
    """
    bits = min(len(wanted).bit_length() + 3, 24)
    shift = np.uint64(64 - bits)
    table = np.zeros(1 << bits, np.bool_)
    table[wanted >> shift] = True
    hashes = np.concatenate([block.task_hash for block in blocks])
    found = table[hashes >> shift]
    maybe = np.flatnonzero(found)
    place = np.searchsorted(wanted, hashes[maybe])
    place[place == len(wanted)] = 0
    found[maybe] = wanted[place] == hashes[maybe]
    return np.split(found, np.cumsum([block.n_tasks for block in blocks])[:-1])
