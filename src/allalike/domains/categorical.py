"""Classes: labels that are either equal or different.

    d(x, y) = [x != y]   (Hamming): 1 if two labels differ, and 0 if they are the same

The estimated label is the weighted majority vote (`allalike.rules.vote`), and the error of a worker is an error rate.
With k classes, a random guess is wrong with probability 1 - 1/k.

Classes work if labels come from a fixed list: photo categories, yes or no, quiz answers, numbers that are either right
or wrong. They fail if errors have different sizes: stars (`allalike.Ordinal`), sizes (`allalike.Real`), species of one
family (`allalike.Tree`). Different spellings of a label count as different classes, unless you normalise them
(``strip``, ``lower``, ``extract``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Block, Floats, group_labels
from allalike._core.columns.column import Column
from allalike._core.columns.factors import factorize_objects, unite
from allalike._core.columns.values import Values, find_places
from allalike._core.extraction import check_extract
from allalike._core.lazy_imports import pa
from allalike._core.options import flag, option, whole
from allalike.distances import hamming
from allalike.domains.contract import Domain, Encoding, Kernels
from allalike.domains.spelling import Spelling, list_some
from allalike.errors import LabelError
from allalike.noise import OneCoin
from allalike.rules.base import Rule
from allalike.rules.vote import plurality

_MAX_RATINGS = 11  # levels of a rating scale, such as 0 to 10


@dataclass(frozen=True, kw_only=True)
class Categorical(Domain):
    """Classes of any hashable type, compared by Hamming distance.

    Parameters
    ----------
    classes
        Number of classes, which determines the error rate of a guess. By default, the number of classes in the answers,
        which is too small if a rare class never occurs.
    rule
        Aggregation rule: ``plurality``.
    strip, lower
        Whether to strip whitespace around labels, and whether to ignore their case.
    extract
        Extraction of a label from free text: ``number`` ("The answer is 42." and 42.0 are 42), ``choice`` ("[[A]]" and
        "Answer: A" are A), ``json:KEY``, ``last line``, or a regular expression with one group. Labels without a match
        are missing, and are counted. A list of extractions is applied in order.

    >>> import allalike
    >>> rows = [("ada", 1, "cat"), ("bob", 1, "cat"), ("eve", 1, "dog")]
    >>> allalike.discover(rows, domain=Categorical(classes=3)).truth["label"].tolist()
    ['cat']
    >>> rows = [("ada", 1, "The answer is 42."), ("bob", 1, "**42**"), ("eve", 1, "24")]
    >>> allalike.discover(rows, domain=Categorical(extract="number")).truth["label"].tolist()
    ['42']
    """

    name: ClassVar[str] = "categorical"
    summary: ClassVar[str] = "classes of any hashable type; Hamming distance"
    rules: ClassVar[tuple[Rule, ...]] = (Rule("plurality", plurality),)
    distances: ClassVar[tuple[str, ...]] = ("hamming",)
    classes: int | None = whole(None, least=1)
    strip: bool = flag(True)
    lower: bool = flag(False)
    extract: str | tuple[str, ...] | None = option(None, check_extract)

    @property
    def spelling(self) -> Spelling:
        return Spelling(self.strip, self.lower, self.extract)

    @property
    def n_classes(self) -> int:
        return self.classes or 0

    @property
    def noise(self) -> OneCoin:
        return OneCoin(classes=self.n_classes)

    def learn(self, labels: Column) -> ClassEncoding:
        return ClassEncoding.of(self, labels.factors[1])


class ClassKernels(Kernels):
    """Sums of Hamming distances in linear time."""

    def distance_between(self, left: Array, right: Array) -> Floats:
        return hamming.distance(left, right)

    def peer_distances(self, block: Block, weights: Floats) -> tuple[Floats, Floats]:
        return hamming.peer_distances(block, weights)

    def pair_sums(self, block: Block, rows: slice | None = None) -> dict[str, Any]:
        return hamming.pair_sums(block, rows)


@dataclass(frozen=True, kw_only=True)
class ClassEncoding(Encoding):
    """The sorted distinct labels; a code is the index of a label among them."""

    kernels_type: ClassVar[type[Kernels]] = ClassKernels
    domain: Categorical
    labels: Values
    label_hash: npt.NDArray[np.uint64]

    @classmethod
    def of(cls, domain: Categorical, labels: Values) -> Self:
        """Number the labels; raise an error if there are more labels than classes."""
        if domain.classes is not None and len(labels) > domain.classes:
            raise LabelError(
                f"There are {len(labels)} distinct labels, but classes is {domain.classes}. Increase it, or correct"
                f" the labels: {list_some(labels.tolist(), 5)}."
            )
        return cls(domain=domain, labels=labels, label_hash=labels.hashes())

    @property
    def n_labels(self) -> int:
        return len(self.label_hash)

    @property
    def n_classes(self) -> int:
        return self.domain.classes or self.n_labels

    @property
    def noise(self) -> OneCoin:
        return OneCoin(classes=self.n_classes)

    @property
    def vocabulary(self) -> list[Any]:
        return [*self.labels.tolist(), *self.label_hash.tolist()]

    def merge(self, others: Sequence[Self]) -> Self:
        try:
            labels = unite([self.labels, *(other.labels for other in others)])[1]
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise LabelError("The labels have different types. Give all labels the same type.") from None
        return self.of(self.domain, labels)

    def encode(self, labels: Column) -> Array:
        codes, values = labels.factors
        if values is self.labels:
            return codes.astype(code_type(self.n_labels), copy=False)
        place = self._places(values)
        if (place == self.n_labels).any():
            row = int(np.argmax(place[codes] == self.n_labels))
            raise LabelError(
                f"The label {values[int(codes[row])]!r} in row {labels.row(row)} is not one of the classes."
            )
        return place.astype(code_type(self.n_labels))[codes]

    def encode_gold(self, labels: Column) -> tuple[Self, Array]:
        """Encode gold labels like answers; a gold label that occurs in no answer gets the index after the last.

        Gold labels are matched after normalisation, and 1, 1.0 and ``"1"`` are equal.
        """
        codes, values = labels.factors
        place = find_places(values, self.labels)
        missed = np.flatnonzero(place < 0)
        if len(missed):
            spelt = [self._spelt(values[int(number)]) for number in missed]
            place[missed] = find_places(factorize_objects(spelt)[1], self.labels)[factorize_objects(spelt)[0]]
        return self, np.where(place < 0, self.n_labels, place)[codes]

    def _spelt(self, value: Any) -> Any:
        """Return a gold label normalised like the answers, if possible."""
        spelt = self.domain.spelling(value) if isinstance(value, str) else None
        return value if spelt is None else spelt

    def is_unanswered(self, truths: Array) -> npt.NDArray[np.bool_]:
        return np.asarray(truths >= self.n_labels)

    def remap(self, codes: Array, known: Self) -> Array:
        place = np.append(self._places(known.labels), self.n_labels)
        return place.astype(code_type(self.n_labels))[codes]

    def _places(self, values: Values) -> npt.NDArray[np.int64]:
        """Return the indices of values, or the index after the last if unknown; ``"1"`` matches the number 1."""
        known, wanted = self.labels.tolist(), values.tolist()
        by_text = {isinstance(value, str) for value in (*known[:1], *wanted[:1])} == {True, False}
        place = {str(value) if by_text else value: code for code, value in enumerate(known)}
        found = [place.get(str(value) if by_text else value, len(known)) for value in wanted]
        return np.array(found, np.int64)

    def decode(self, codes: Array) -> Values:
        return self.labels.take(codes)

    def prepare(self, block: Block) -> Block:
        return block.keeping(group_labels(block, self.label_hash))

    def describe(self) -> dict[str, Any]:
        source = "data" if self.domain.classes is None else "given"
        chosen = {name: getattr(self.domain, name) for name in ("strip", "lower", "extract")}
        unusual = {name: value for name, value in chosen.items() if value != getattr(Categorical, name)}
        numbers = {"numbers": self._numbers} if self._numbers else {}
        return {**super().describe(), "classes": self.n_classes, "classes_from": source, **numbers, **unusual}

    @property
    def _numbers(self) -> str:
        """The kind of numeric labels: consecutive numbers, such as ratings, or any; empty if not numeric."""
        if isinstance(self.labels.data, list):
            return ""
        column = Column("label", self.labels.data)
        if not column.looks_numeric():
            return ""
        steps = np.diff(np.sort(column.numbers))
        return "in a row" if 2 <= len(steps) < _MAX_RATINGS and np.all(steps == 1) else "any"


def code_type(n_labels: int) -> Any:
    """Return the smallest integer type that holds the indices of all labels and one further index."""
    return next(t for t in (np.int8, np.int16, np.int32) if n_labels <= np.iinfo(t).max)
