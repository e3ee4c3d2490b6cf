"""Evaluations: models' answers, and what judges said of them, as the logs of evaluation frameworks have them.

Such a log can be read in three ways. Where several judges said something of each answer, they are the workers, and an
answer is a task. Where several models answered the same items, these are the workers: their labels are what they
answered, with the known answer as gold, or the scores that they got. If more than one way is open, it is asked.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from allalike._core.extraction import find_extractor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from allalike.readers.formats.tables import Table
    from allalike.readers.tools.collection import Collection

__all__ = ["Case", "Evaluations", "count_up"]

_JUDGES, _SCORES, _ANSWERS = "judges", "scores", "answers"  # the three ways, which are questions to choose from
_MAX_CHARACTERS = 80  # of an answer that can be compared with others; longer ones are texts, which are not copied,
_EXTRACTED, _MOST_WITHOUT = ("number", "choice"), 0.1  # unless most have an answer that can be extracted


@dataclass(frozen=True)
class Case:
    """One answer of a model: the item, the suite of items, and which of several samples it is.

    >>> Case("gpt-4", 7).sample
    1
    """

    model: str
    item: str | int
    suite: str = ""
    sample: int = 1


@dataclass(frozen=True)
class _Said:
    """Something that was said of a case, or in it."""

    case: Case
    label: Any
    judge: str = ""
    known: Any = None


@dataclass
class Evaluations:
    """What is found in logs, until it is known whether models or judges are the workers.

    Parameters
    ----------
    collection
        Where the answers go.

    >>> from pathlib import Path
    >>> from allalike.readers.formats.files import Files
    >>> from allalike.readers.tools import TOOLS
    >>> from allalike.readers.tools.collection import Collection
    >>> log = Evaluations(Collection(TOOLS["inspect"](), [Path("log.json")], Files()))
    >>> log.judge(Case("gpt-4", 7), "claude", "C")
    >>> log.judge(Case("gpt-4", 7), "gemini", "I")
    >>> log.table().load(["worker", "task", "label"])
    {'worker': ['claude', 'gemini'], 'task': [7, 7], 'label': ['C', 'I']}
    """

    collection: Collection
    _verdicts: defaultdict[str, list[_Said]] = field(default_factory=lambda: defaultdict(list))
    _scores: defaultdict[str, list[_Said]] = field(default_factory=lambda: defaultdict(list))
    _answers: defaultdict[str, list[_Said]] = field(default_factory=lambda: defaultdict(list))

    def judge(self, case: Case, judge: str, label: Any, aspect: str = "") -> None:
        """Add what a judge said of an answer, or of an aspect of it; nothing is no verdict, and counted."""
        if label is None:
            self.collection.leave_out("cases without a verdict")
        else:
            self._verdicts[aspect].append(_Said(case, _plain(label), judge))

    def score(self, case: Case, judge: str, score: float, aspect: str = "") -> None:
        """Add the number behind a verdict, which is read if it says more than the verdict does."""
        self._scores[aspect].append(_Said(case, score, judge))

    def answer(self, case: Case, label: Any, known: Any = None, aspect: str = "") -> None:
        """Add what a model answered, and the known answer."""
        if label is not None:
            self._answers[aspect].append(_Said(case, _plain(label), known=known))

    def labels(self) -> set[Any]:
        """Return everything that judges said."""
        return {said.label for verdicts in self._verdicts.values() for said in verdicts}

    def leave_out(self, label: Any, what: str) -> None:
        """Count verdicts that are none."""
        for aspect, verdicts in self._verdicts.items():
            self._verdicts[aspect] = [said for said in verdicts if said.label != label]
            self.collection.leave_out(what, len(verdicts) - len(self._verdicts[aspect]))

    def table(self) -> Table:
        """Return the answers as a table, in the way that was asked for, or in the only one."""
        for aspect, scores in self._scores.items():
            if any(said.label not in (0, 1) for said in scores):
                self._verdicts[f"{aspect} score".strip()].extend(scores)
        cases = [said.case for each in (self._verdicts, self._answers) for those in each.values() for said in those]
        several = len({case.model for case in cases}) > 1
        suites = len({case.suite for case in cases}) > 1
        for question, said, by_judge in self._questions(several=several):
            worker = said.judge if by_judge else said.case.model
            known = {"gold": said.known} if question.startswith(_ANSWERS) else {}
            task = _name_task(said.case, suite=suites, model=by_judge and several)
            kind = "numbers" if _is_number(said.label) else "classes"
            self.collection.add(
                worker, task, said.label, question=question, kind=kind, sample=said.case.sample, **known
            )
        self._remark()
        return self.collection.table()

    def _questions(self, *, several: bool) -> Iterator[tuple[str, _Said, bool]]:
        """List what was said: to which question, and whether it is an answer of the judge or of the model."""
        for aspect, verdicts in _by_type(self._verdicts):
            judges = {said.judge for said in verdicts}
            for said in _in_order(verdicts):
                if len(judges) > 1:
                    yield _join(_JUDGES, aspect), said, True
                if len(judges) == 1 or several:
                    by = f"{aspect} by {said.judge}".strip() if len(judges) > 1 else aspect
                    yield _join(_SCORES, by), said, False
        for aspect, answers in self._answers.items():
            if several and (all(_is_short(said.label) for said in answers) or _end_alike(answers)):
                for said in _in_order(answers):
                    yield _join(_ANSWERS, aspect), said, False

    def _remark(self) -> None:
        tag = (self.collection.files.tag or "").casefold()
        for question, answers in self.collection.questions.items():
            if tag in ("", question.casefold()):
                self._remark_on(answers)

    def _remark_on(self, answers: list[dict[str, Any]]) -> None:
        if (most := max(answer["sample"] for answer in answers)) > 1:
            self.collection.remarks.append(
                f"The column 'sample' numbers the samples of an item, of which there are up to {most:,}."
            )


def _plain(label: Any) -> Any:
    return str(label).lower() if isinstance(label, bool) else label


def _is_number(label: Any) -> bool:
    return isinstance(label, int | float)


def _is_short(label: Any) -> bool:
    return _is_number(label) or (len(label) <= _MAX_CHARACTERS and "\n" not in label.strip())


def _end_alike(answers: list[_Said]) -> bool:
    """Return whether texts end in a number or a letter, which can be extracted, with few exceptions."""
    texts = [str(said.label) for said in answers]
    most = (1 - _MOST_WITHOUT) * len(texts)
    return any(sum(find(text) is not None for text in texts) >= most for find in map(find_extractor, _EXTRACTED))


def _by_type(verdicts: dict[str, list[_Said]]) -> Iterator[tuple[str, list[_Said]]]:
    """Ask for words and for numbers apart, if there are both."""
    for aspect, those in verdicts.items():
        numbers = [said for said in those if _is_number(said.label)]
        if not numbers or len(numbers) == len(those):
            yield aspect, those
        else:
            yield aspect, [said for said in those if not _is_number(said.label)]
            yield f"{aspect} numbers".strip(), numbers


def _in_order(those: list[_Said]) -> list[_Said]:
    """Put first samples first, for these are read."""
    return sorted(those, key=lambda said: said.case.sample)


def _join(question: str, aspect: str) -> str:
    return f"{question}: {aspect}" if aspect else question


def _name_task(case: Case, *, suite: bool, model: bool) -> str | int:
    if not suite and not model:
        return case.item
    return " | ".join([*([case.suite] if suite else []), str(case.item), *([case.model] if model else [])])


def count_up(names: Iterable[str]) -> list[str]:
    """Number names that stand in a list again.

    >>> count_up(["gpt-4", "claude", "gpt-4"])
    ['gpt-4', 'claude', 'gpt-4 (2)']
    """
    seen: defaultdict[str, int] = defaultdict(int)
    counted = []
    for name in names:
        seen[name] += 1
        counted.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return counted
