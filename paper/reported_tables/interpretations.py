"""Interpretations: which experiment stands behind a row, and which variant of a method behind a column.

Nothing is tuned to a row: a variant is chosen once for a kind of label.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from allalike.datasets import DATASETS
from paper.experiments.settings import Setting
from paper.reported_tables.slips import SLIPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from allalike.rules import Rule
    from paper.reported_tables.tables import Row

__all__ = ["FOLDED", "KINDS", "POOL", "Interpretation", "Kind", "Variant", "interpret_row"]

FOLDED = "real SYN.N(population=\"normal(mean=1.0, sd=0.5, high=10.0, outside='fold')\")"
_TRUNCATED = "real SYN.N"
# A crowd of 2,000 workers, as the paper has one of each kind, still is a draw: with four classes, RI differs by up to
# 6 points from one to another. So every hundred repetitions have a crowd of their own, which may then be smaller.
POOL = 500


class Variant(NamedTuple):
    """A method with its options, and why these."""

    method: str
    why: str = ""


_AS_IN_CODE = "In the authors' code, chance is the mean agreement of all pairs, and the tail takes p for 1 - p."
_CLIPPED = "A loss of 0 is clipped as in the authors' code, so that a worker without errors decides alone."
_INVERSE = "One over the disparity fits the printed numbers; the weight that is printed, max - disparity, does not."
_CHANCE = (
    "The weight is the distance to a worker who guesses. It fits better than the printed one, max - disparity, and that"
    " is why the columns P-TD-D and P-TD-AK of several classes are alike: their weights are the same to first order."
)
_THREE = "Three workers; see the slips."
_UNSCALED = (
    "Distances keep their unit, as in the authors' code. Error scales have a lower bound, without which the density has"
    " no mode."
)

_CLASSES = {
    "CRH": Variant("CRH(zero='clip')", _CLIPPED),
    "IBP": Variant("IBP"),
    "DS": Variant("DS-1", "The paper has one probability of error per worker, not a confusion matrix."),
    "EVD": Variant("EVD"),
    "EXP": Variant("EXP(chance='mean', tail='printed')", _AS_IN_CODE),
    "TOP2": Variant("TOP2(size=3, chance='mean', tail='printed')", f"{_THREE} {_AS_IN_CODE}"),
    "MAS": Variant("MAS(scaled=False)", _UNSCALED),
    "P-TD-D": Variant("P-TD(weighting='chance')", _CHANCE),
    "P-TD-AK": Variant("P-TD-AK"),
    "iP-TD": Variant("iP-TD(weighting='chance')", _CHANCE),
}
_NUMBERS = {
    "CRH": Variant("CRH(zero='clip')", _CLIPPED),
    "CATD": Variant("CATD(zero='clip')", _CLIPPED),
    "GTM": Variant("GTM"),
    "KDE": Variant("KDE(max_iter=15)", "All iterative methods of the paper have at most 15 rounds."),
    "EXP": Variant("EXP"),
    "TOP2": Variant("TOP2(size=3)", _THREE),
    "MAS": Variant("MAS(scaled=False, least=0.3)", _UNSCALED),
    "P-TD-D": Variant("P-TD", _INVERSE),
    "P-TD-AK": Variant("P-TD-AK(nonpositive='clip')", "As in the authors' code: who seems perfect decides alone."),
    "iP-TD": Variant("iP-TD", _INVERSE),
}
_RANKINGS = {
    "D-TD": Variant("D-TD(weighting='inverse')", "Weighed as P-TD is."),
    "EXP": Variant("EXP"),
    "TOP2": Variant("TOP2(size=3)", _THREE),
    "MAS": Variant("MAS(scaled=False)", _UNSCALED),
    "P-TD-D": Variant("P-TD(weighting='inverse')", _INVERSE),
    "iP-TD": Variant("iP-TD(weighting='inverse')", _INVERSE),
}
_OTHERS = {
    "EXP": Variant("EXP"),
    "TOP2": Variant("TOP2(size=3)", _THREE),
    "MAS": Variant("MAS(scaled=False)", _UNSCALED),
    "P-TD-D": Variant("P-TD"),
    "iP-TD": Variant("iP-TD"),
}


@dataclass(frozen=True, kw_only=True)
class Kind:
    """The interpretation of rows of one kind of label.

    Parameters
    ----------
    variants
        The method behind each column.
    sources
        The crowd or data set behind each label, where it has another name here.
    beside
        Another interpretation of a label, shown beside the first but not counted: what it is, and its source.
    by_rule
        Whether rows are grouped by rule.
    """

    variants: Mapping[str, Variant]
    sources: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    by_rule: bool = True


KINDS: dict[str, Kind] = {
    "classes": Kind(
        variants=_CLASSES,
        sources={"SYN.HS": "binary SYN.HS", "SYN.N": "binary SYN.N", "SYN": "k=4 SYN"},
        by_rule=False,
    ),
    "numbers": Kind(
        variants=_NUMBERS,
        sources={"SYN.N": FOLDED, "TRI1": "TRI1.trials", "TRI2": "TRI2.trials", "EMO": "EMO.first"},
        beside={
            "SYN.N": ("SYN.N, truncated", _TRUNCATED),
            "TRI1": ("TRI1, means of experiment 1", "TRI1"),
            "TRI2": ("TRI2, means of experiment 2", "TRI2"),
            "EMO": ("EMO, all headlines", "EMO"),
        },
        by_rule=False,
    ),
    "rankings": Kind(
        variants=_RANKINGS,
        sources={"SYN.HS": "ranking SYN.HS", "SYN.N": "ranking SYN.N", "BUILD": "BUILD.ranking"},
    ),
    "texts": Kind(variants=_OTHERS),
    "outlines": Kind(variants=_OTHERS),
}


@dataclass(frozen=True, kw_only=True)
class Interpretation:
    """The experiment that a row is compared with.

    Parameters
    ----------
    dataset
        The data set in the paper's words.
    kind, source, rule, workers, tasks
        What is drawn, from where, and how it is aggregated.
    measure
        ``ri``, or ``change`` of the mean error.
    as_labelled
        Whether slips are ignored.
    counts
        Whether it is the interpretation that counts, and not another one beside it.

    >>> from paper.reported_tables.tables import TABLES
    >>> row = TABLES["table-2"].rows[0]
    >>> row.dataset, interpret_row(row).source, interpret_row(row, as_labelled=True).source
    ('SYN.HS', 'binary SYN.N', 'binary SYN.HS')
    """

    dataset: str
    kind: str
    source: str
    rule: str | Rule
    workers: int
    tasks: int
    measure: str = "ri"
    as_labelled: bool = False
    counts: bool = True

    def method(self, column: str) -> str:
        """Return the method behind a column, with its options."""
        method = KINDS[self.kind].variants[column].method
        return method.replace("size=3", "size=2") if self.as_labelled else method

    def setting(self, columns: Iterable[str]) -> Setting:
        """Return the experiment with the methods of these columns."""
        return Setting(
            source=self.source,
            workers=self.workers,
            tasks=self.tasks,
            methods=tuple(map(self.method, columns)),
            rule=self.rule,
            pool=POOL,
            fresh=self.source not in DATASETS,
        )

    def beside(self) -> Interpretation | None:
        """Return the other interpretation of its data set, if it has one."""
        other = KINDS[self.kind].beside.get(self.dataset)
        if other is None:
            return None
        dataset, source = other
        return replace(self, dataset=dataset, source=source, counts=False)


def interpret_row(row: Row, *, as_labelled: bool = False) -> Interpretation:
    """Find the experiment behind a row, with the slips of the paper put right unless asked otherwise.

    >>> from paper.reported_tables.tables import TABLES
    >>> interpret_row(TABLES["table-B"].parts[1].rows[0]).workers
    30
    """
    kind = KINDS[row.kind]
    means: dict[str, Any] = {"dataset": row.dataset, "workers": row.workers, "rule": row.group if kind.by_rule else ""}
    for slip in SLIPS if not as_labelled else ():
        if slip.concerns(row):
            means |= slip.changes(row)
    source = kind.sources.get(means["dataset"], means["dataset"])
    return Interpretation(**means, kind=row.kind, source=source, tasks=row.tasks, as_labelled=as_labelled)
