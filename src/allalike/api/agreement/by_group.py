"""Agreements: how much workers agree in each group of answers, such as blocks of questions or groups of workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from allalike._core.late import pd
from allalike.api.frames import dress

if TYPE_CHECKING:
    from allalike.api.agreement.agreement import Agreement

__all__ = ["Agreements"]

_MIN_LIMITED = 20  # tasks; limits held in 86 % of drawn crowds with 12 tasks, and in 67 % of those with 5
_NUMBERS = ("answers", "workers", "tasks", "alpha", "low", "high", "percent", "fleiss", "ac1")


@dataclass(frozen=True, repr=False)
class Agreements(Mapping[tuple[str, ...], "Agreement"]):
    """How much the workers agree in each group of answers, by the values that a group has in common.

    Parameters
    ----------
    by
        The columns whose values make the groups.
    groups
        The agreement in each group.

    >>> import allalike
    >>> said = {"ada": "xxyyx", "bob": "xxyyx", "eve": "xyyyx", "zoe": "yxyxx"}
    >>> rows = [(who, task, label, who < "c") for who, labels in said.items() for task, label in enumerate(labels)]
    >>> table = dict(zip(("worker", "task", "label", "early"), zip(*rows)))
    >>> allalike.agreement(table, by="early").table[["early", "workers", "domain", "alpha"]].round(3)
       early  workers       domain  alpha
    0  False        2  categorical  -0.08
    1   True        2  categorical   1.00
    """

    by: tuple[str, ...]
    groups: Mapping[tuple[str, ...], Agreement]

    def __getitem__(self, values: tuple[str, ...] | str) -> Agreement:
        """Return the agreement of the group with these values, or with this one."""
        return self.groups[(values,) if isinstance(values, str) else values]

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def summary(self) -> dict[str, Any]:
        """Return all numbers of each group as what JSON can hold.

        Where there is one task only, nothing is known of agreement beyond chance, and with a few nothing of limits.

        >>> Agreements(("sex",), {}).summary()
        {'by': ['sex'], 'groups': []}
        """
        groups = [
            {"group": dict(zip(self.by, values, strict=True)), **_of_tasks(found.summary())}
            for values, found in self.groups.items()
        ]
        return {"by": list(self.by), "groups": groups}

    @cached_property
    def table(self) -> Any:
        """One row per group: its values, how many answers, workers and tasks, the domain, alpha and all else."""
        rows = [
            {**group["group"], "domain": group["domain"]["name"], **{name: group[name] for name in _NUMBERS}}
            for group in self.summary()["groups"]
        ]
        names = [*self.by, *_NUMBERS[:3], "domain", *_NUMBERS[3:]]
        table = pd.DataFrame(rows, columns=names).astype(dict.fromkeys(_NUMBERS[3:], float))
        return dress(table, next((found.run.frame for found in self.groups.values()), "pandas"))

    def __repr__(self) -> str:
        return "\n".join(f"{', '.join(values) or '(none)'}: {found!r}" for values, found in self.groups.items())


def _of_tasks(summary: dict[str, Any]) -> dict[str, Any]:
    """Return a summary without what needs more tasks than there are."""
    unknown = ["alpha", "fleiss", "ac1", "cohen"] if summary["paired_tasks"] < 2 else []
    unknown += ["low", "high"] if summary["paired_tasks"] < _MIN_LIMITED else []
    return {**summary, **dict.fromkeys(unknown)}
