"""Records: labels of several fields, each of a kind of its own, answered together.

Whoever fills in a form, describes a product or extracts data from a page answers several questions at once. Taken for
questions of their own, they say little about a worker, because each has few answers. Taken together they say how good
they are, once:

    d(A, B) = sum_f lambda_f d_f(A_f, B_f) / sum_f lambda_f    over the fields that both filled,

and unknown where there are none. Sums over peers pool fields as they pool tasks (`allalike.domains.records.kernels`).
Distances of different fields must be comparable. Most kinds have distances between 0 and 1, which enter as they are:
rescaling them by their mean would make a field shout in which everybody agrees. Numbers have no largest distance, and
enter as min(1, |x - y| / m), with m the mean difference of two answers to a task. Each field is decided by its rule.

It works where fields are many and workers careful in all of them or in none. It fails where a worker is good in one
field and bad in another: they have one weight. Then ``weights="field"`` weighs workers in each field alone, from the
answers to it and nothing else. Where fields tell the same of workers it loses what they tell together, which is usually
more. And numbers that are right or wrong, such as times, years and ids, should be ``categorical``: two minutes off is
as wrong as two hours.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from allalike._core.blocks.pairs import AnswerHashes, PairDistances
from allalike._core.columns.column import Column
from allalike._core.columns.hashes import hash_objects
from allalike._core.columns.values import Values
from allalike._core.options import choice, flag
from allalike.domains import DOMAINS
from allalike.domains.categorical import Categorical
from allalike.domains.contract import Domain, Encoding
from allalike.domains.records.fields import (
    list_names,
    naming,
    place_bare,
    read_fields,
    read_importance,
    read_record,
    split_labels,
    value_of,
    write_fields,
    write_record,
)
from allalike.domains.records.kernels import (
    FieldCells,
    RecordKernels,
    codes_of,
    decide_fields,
    each_field,
    filled_in,
    join_cells,
    prepare_field,
    spread,
)
from allalike.errors import InputError, LabelError, OptionError
from allalike.noise import General
from allalike.rules.base import Rule, unknown
from allalike.rules.vote import CHOICES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from allalike._core.blocks.block import Add, Array, Block, Floats

_EACH = "each field"
_TAKEN = (  # columns that a table of truths has anyway
    *("task", "label", "confidence", "support", "ci_low", "ci_high", "standard_error", "answers", "effective_answers"),
    *("tied", "unweighted", "changed", "is_gold"),
)


@dataclass(frozen=True, kw_only=True)
class Record(Domain):
    """Records: several fields, each of a kind of its own; the average of their distances.

    A label is a mapping from field to value, or a text that is a JSON object. A field that is absent, null or empty is
    missing: it is no answer. In a table, fields may be columns. A record comes back as a mapping, as JSON in files, and
    the table of truths has a column for each field, with its confidence beside it.

    Parameters
    ----------
    fields
        The kind of each field, by its name: ``{"year": Real(), "tags": "set"}``, or as text ``"year:real, tags:set"``.
        What has no kind is guessed, and without any name so are the names.
    importance
        Weights of fields that differ from 1: ``{"year": 2}``.
    ignore
        Fields that labels have, and that are left out.
    weights
        Whether a worker has one weight (``worker``), or one for each ``field``: the whole method then runs for each of
        them alone, and the table of workers has ``weight.NAME`` and ``mean_error.NAME``; ``weight`` is the mean.
    one
        Whether each label fills one field only, as the answers to a survey whose questions have scales of their own:
        truths are then what stands in it, and no record.
    rule
        Aggregation rule: ``each field`` by its own rule, or one of the records: ``medoid`` or
        ``best worker``.

    >>> import allalike
    >>> rows = [("ada", 1, {"colour": "red", "size": 3}), ("bob", 1, {"colour": "red", "size": 2}),
    ...         ("eve", 1, {"colour": "blue"})]
    >>> result = allalike.discover(rows, domain=Record({"colour": "categorical", "size": "real"}), method="UA")
    >>> result.truth[["colour", "colour.confidence", "size"]].round(3).values.tolist()
    [['red', 0.667, 2.5]]
    """

    name: ClassVar[str] = "record"
    summary: ClassVar[str] = "several fields, each of a kind of its own; the mean of their distances"
    rules: ClassVar[tuple[Rule, ...]] = (Rule(_EACH, each_field), *CHOICES)
    distances: ClassVar[tuple[str, ...]] = ("mean",)
    noise: ClassVar[General] = General()
    fields: Any = field(default=(), kw_only=False)
    importance: Any = ()
    ignore: Any = ()
    weights: str = choice("worker", "field")
    one: bool = flag(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        fields = read_fields(self.fields, DOMAINS)
        if nested := next((name for name, kind in fields if kind is not None and kind.name == self.name), None):
            raise OptionError(f"The field {nested!r} is a record in a record. Name its fields in the outer one.")
        if self.weights == "field" and self.rule != _EACH:
            raise OptionError(
                f"weights is 'field', but the rule {str(self.rule)!r} takes a whole record. Decide {_EACH} by its own."
            )
        ignored = (self.ignore,) if isinstance(self.ignore, str) else tuple(self.ignore)
        if not all(isinstance(name, str) for name in ignored):
            raise OptionError(f"ignore is {self.ignore!r}. Give names of fields, such as ['comment'].")
        object.__setattr__(self, "fields", fields)
        object.__setattr__(self, "ignore", ignored)
        object.__setattr__(self, "importance", read_importance(self.importance, fields))

    @property
    def field_names(self) -> tuple[str, ...]:
        """The names of the fields; they may be columns of a table."""
        return tuple(name for name, _ in self.fields)

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of each field in all importance, or in that of a label which fills no other."""
        weights = [float(dict(self.importance).get(name, 1.0)) for name in self.field_names]
        return tuple(weight / (1.0 if self.one else sum(weights)) for weight in weights)

    @property
    def is_open(self) -> bool:
        """Whether the label type of a field is still to be detected."""
        return not self.fields or any(kind is None for _, kind in self.fields)

    @property
    def record(self) -> Self:
        return self

    @property
    def spec(self) -> str:
        """The name, with the kinds of all fields."""
        fields = write_fields(self.fields)
        more = (", weights=field" if self.weights != "worker" else "") + (", one=True" if self.one else "")
        return f"record(fields={fields!r}{more})" if '"' in fields else f'record(fields="{fields}"{more})'

    def close(self, labels: Column, guess: Callable[[Column, Array], Domain]) -> Domain:
        """Guess the kind of each field that has none; one without answers may be anything."""
        known = self.fields or tuple((name, None) for name in list_names(labels, self.ignore))
        named = replace(self, fields=known)
        fields = dict(known)
        for (name, kind), (column, rows) in zip(known, named.take_apart(labels), strict=True):
            try:
                fields[name] = kind or (guess(column, rows) if len(rows) else Categorical())
            except InputError as error:
                said = {**fields, name: error.options.get("domain", Categorical.name)}
                asked = f"The field {name!r}: {error.args[0]}"
                raise LabelError(asked, domain=replace(self, fields=said).spec) from None
        return replace(self, fields=tuple(fields.items()))

    @property
    def recurring(self) -> bool:
        return self.rule != _EACH or all(kind is None or kind.recurring for _, kind in self.fields)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset((*self.field_names, *self.ignore))

    def _parse(self, value: Any) -> tuple[Any, ...]:
        """Return the value of each field, None where it is missing.

        >>> Record("x:real, y:text", ignore="z")._parse({"y": " a b ", "z": 1})
        (None, ' a b ')
        """
        record = read_record(value)
        if strange := [name for name in record if name not in self._known]:
            raise ValueError(
                f"it has a field {strange[0]!r}, but the fields are {', '.join(self.field_names)}; name it, or"
                f" ignore it with ignore=[{strange[0]!r}]"
            )
        values = tuple(value_of(record[name], kind) if name in record else None for name, kind in self.fields)
        if all(value is None for value in values):
            raise ValueError("none of its fields is filled; a missing answer is a missing row")
        return values

    def take_apart(self, labels: Column) -> list[tuple[Column, Array]]:
        """Return, for each field, the column of what was filled in, and in which rows."""
        return split_labels(labels, self.fields, self._parse)

    def learn(self, labels: Column) -> RecordEncoding:
        if self.is_open:
            raise OptionError(
                "It is not said what kinds the fields of the records are:"
                f" {write_fields(self.fields) or 'none is named'}."
                ' Write them as Record({"year": "real", "name": "text"}).'
            )
        fields: list[Encoding | None] = []
        for (name, kind), (column, rows) in zip(self.fields, self.take_apart(labels), strict=True):
            with naming(name):
                fields.append(kind.learn(column) if len(rows) else None)
        return RecordEncoding(domain=self, parts=tuple(fields), units=tuple(float(k.power > 0) for _, k in self.fields))

    def describe(self) -> dict[str, Any]:
        more = {"importance": dict(self.importance)} if self.importance else {}
        apart = {"weights": self.weights} if self.weights != "worker" else {}
        return {**super().describe(), **more, **apart}


@dataclass(frozen=True, kw_only=True)
class RecordEncoding(Encoding):
    """The encoding of each field; a code is a row of cells (`allalike.domains.records.kernels`).

    ``parts`` are the encodings, ``units`` the differences at which distances of numbers are 1, and 0 for other fields.

    >>> import allalike
    >>> rows = [("ada", 1, {"x": "a", "y": "b"}), ("bob", 1, {"x": "a"})]
    >>> answers = allalike.read(rows, domain=allalike.Record("x:categorical, y:categorical", weights="field"))
    >>> [block] = answers.blocks(9)
    >>> answers.encoding.fields.count(answers.encoding.prepare(block))["answers"].tolist()
    [[1.0, 1.0], [1.0, 0.0]]
    """

    domain: Record
    parts: tuple[Encoding | None, ...]
    units: tuple[float, ...]

    @property
    def kernels(self) -> RecordKernels:
        return RecordKernels(
            domain=self.domain,
            fields=tuple(None if each is None else each.kernels for each in self.parts),
            names=self.domain.field_names,
            shares=self.domain.shares,
            units=self.units,
        )

    @property
    def encodings(self) -> tuple[tuple[str, Encoding | None], ...]:
        """The name of each field and its encoding."""
        return tuple(zip(self.domain.field_names, self.parts, strict=True))

    @property
    def alone(self) -> bool:
        """Whether workers have a weight for each field."""
        return self.domain.weights == "field"

    @property
    def vocabulary(self) -> list[Any]:
        return [None if each is None else each.vocabulary for each in self.parts]

    def merge(self, others: Sequence[Self]) -> Self:
        parts = zip(*(each.parts for each in (self, *others)), strict=True)
        return replace(self, parts=tuple(map(_merged, self.domain.field_names, parts)))

    def encode(self, labels: Column) -> Array:
        return self._encode(labels, lambda number, each, column: each.encode(column))

    def encode_gold(self, labels: Column) -> tuple[Self, Array]:
        grown = list(self.parts)
        if self.domain.one:
            labels = place_bare(labels, {name: each.vocabulary or () for name, each in self.encodings if each})

        def encode(number: int, each: Encoding, column: Column) -> Array:
            grown[number], codes = each.encode_gold(column)
            return codes

        cells = self._encode(labels, encode)
        return replace(self, parts=tuple(grown)), cells

    def _encode(self, labels: Column, encode: Callable[[int, Encoding, Column], Array]) -> Array:
        parts = self.domain.take_apart(labels)
        n = len(labels)
        filled, columns = np.zeros((n, len(parts)), np.bool_), []
        for number, (each, (column, rows)) in enumerate(zip(self.parts, parts, strict=True)):
            if each is None:
                columns.append(np.zeros(n, np.int8))
                continue
            with naming(self.domain.field_names[number]):
                codes = encode(number, each, column) if len(rows) else each.encode(Column("label", []))
            columns.append(spread(codes, rows, n))
            filled[rows, number] = True
        return join_cells(columns, filled)

    def is_unanswered(self, truths: Array) -> Array:
        found = np.zeros(len(truths), np.bool_)
        for _, rows, each, codes in self.each_cell(truths):
            found[rows] |= each.is_unanswered(codes)
        return found

    def _recoded(self, cells: Array, recode: Callable[[int, Array, Encoding, Array], Array]) -> Array:
        """Return cells with other codes."""
        columns = [codes_of(cells, number) for number in range(len(self.parts))]
        for number, rows, each, codes in self.each_cell(cells):
            columns[number] = spread(recode(number, rows, each, codes), rows, len(cells))
        return join_cells(columns, filled_in(cells))

    def fit_tasks(self, codes: Array, task: Array, tasks: Values) -> Array:

        def fit(number: int, rows: Array, each: Encoding, own: Array) -> Array:
            there, place = np.unique(task[rows], return_inverse=True)
            return each.fit_tasks(own, place, tasks.take(there))

        return self._recoded(codes, fit)

    def remap(self, codes: Array, known: Self) -> Array:

        def remap(number: int, rows: Array, each: Encoding, own: Array) -> Array:
            old = known.parts[number]
            return own if old is None else each.remap(own, old)

        return self._recoded(codes, remap)

    def decode(self, codes: Array) -> Values:
        records: list[dict[str, Any]] = [{} for _ in range(len(codes))]
        names = self.domain.field_names
        for number, rows, each, own in self.each_cell(codes):
            for row, value in zip(rows.tolist(), each.decode(own).tolist(), strict=True):
                records[row][names[number]] = value
        if self.domain.one:
            return Values([next(iter(record.values()), None) for record in records], text=_write_one)
        return Values(records, text=write_record)

    def truth_columns(self, found: Mapping[str, Array]) -> dict[str, Values | Array]:
        columns: dict[str, Values | Array] = {}
        if self.domain.one:
            return columns
        cells, missing = found["label"], ~filled_in(found["label"])
        for number, field_name in enumerate(self.domain.field_names):
            name = f"field.{field_name}" if field_name in _TAKEN else field_name
            each, gone = self.parts[number], missing[:, number]
            if each is None or gone.all():
                columns[name] = Values([None] * len(cells))
            else:
                codes = codes_of(cells, number)
                codes = codes[np.where(gone, np.argmin(gone), np.arange(len(gone)))]
                columns[name] = each.decode(codes).without(gone) if gone.any() else each.decode(codes)
            columns[f"{name}.confidence"] = found["sure"][:, number]
        return columns

    def prepare(self, block: Block) -> Block:
        parts = [
            None if each is None else prepare_field(block, number, name, each)
            for number, (name, each) in enumerate(self.encodings)
        ]
        kept: list[object] = [FieldCells(tuple(parts))]
        if self.domain.rule != _EACH:
            compare = self.kernels.distance_between
            kept.append(PairDistances.of(block, lambda i, j: compare(block.label[i], block.label[j])))
            kept.append(AnswerHashes(hash_objects(map(_write_one, self.decode(block.label).tolist()))))
        return block.keeping(*kept)

    def describe(self) -> dict[str, Any]:
        told = {}
        for (name, kind), each, unit in zip(self.domain.fields, self.parts, self.units, strict=True):
            about = {**kind.describe(), "filled": False} if each is None else each.describe()
            told[name] = {**about, **({"unit": float(f"{unit:.6g}")} if unit else {})}
        return {**super().describe(), "fields": told}

    @property
    def fields(self) -> Self:
        return self

    def each_cell(self, cells: Array) -> Iterator[tuple[int, Array, Encoding, Array]]:
        """Yield number, rows, encoding and codes of each field that is filled somewhere."""
        filled = filled_in(cells)
        for number, each in enumerate(self.parts):
            rows = np.flatnonzero(filled[:, number])
            if each is not None and len(rows):
                yield number, rows, each, codes_of(cells, number)[rows]

    def find_units(self, add: Add) -> Self:
        """Measure the mean difference of two answers to a task, in each field of numbers."""
        if not any(self.units):
            return self
        sums = add(self.kernels.length_sums)
        units = list(self.units)
        for number, unit in enumerate(units):
            pairs = sums[f"pairs {number}"].sum() if f"pairs {number}" in sums else 0.0
            length = sums[f"length {number}"].sum() if pairs else 0.0
            units[number] = float(length / pairs) if unit and length > 0 else float(unit > 0)
        return replace(self, units=tuple(units))

    def put_known(self, found: Mapping[str, Array], task: Array, truths: Array) -> dict[str, Array]:
        """Insert gold labels field by field; fields without gold keep their estimates."""
        label, sure = found["label"].copy(), found["sure"].copy()
        filled = filled_in(label)
        for number, rows, _, codes in self.each_cell(truths):
            codes_of(label, number)[task[rows]] = codes
            filled[task[rows], number], sure[task[rows], number] = True, 1.0
        return {**found, "label": label, "sure": sure}

    def worker_columns(self, add: Add, weights: Floats) -> dict[str, Floats]:
        """Return how far each worker is from the truths in each field: ``fault.year``."""
        sums, none = add(self.kernels.field_losses, weights), np.zeros(len(weights))
        columns = {}
        for number, name in enumerate(self.domain.field_names):
            distance, answers = (sums.get(f"{what} {number}", none) for what in ("distance", "answers"))
            columns[f"mean_error.{name}"] = np.divide(distance, answers, out=unknown(len(none)), where=answers > 0)
        return columns

    def count(self, block: Block) -> dict[str, Floats]:
        """Count, per worker and field, the answers."""
        filled = filled_in(block.label).astype(np.float64)
        return {"answers": np.stack([block.per_worker(column) for column in filled.T], axis=1)}

    def join(self, block: Block, find: Callable[[int, Block], Mapping[str, Array]]) -> dict[str, Array]:
        """Join the labels of all fields; ``find`` returns the results in the block of a field."""
        return decide_fields(block, find).columns()


def _write_one(label: Any) -> str:
    """Write what stands in a field, or a record."""
    return label if isinstance(label, str) else write_record(label)


def _merged(name: str, parts: Sequence[Encoding | None]) -> Encoding | None:
    known = [each for each in parts if each is not None]
    if not known:
        return None
    with naming(name):
        return known[0].merge(known[1:])
