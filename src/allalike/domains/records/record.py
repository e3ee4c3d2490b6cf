"""Records: labels with several fields of different label types.

Forms, product descriptions and data extracted from a page contain answers to several questions. As separate tasks,
these questions reveal little about a worker, because each has few answers. A record pools them:

    d(A, B) = sum_f lambda_f d_f(A_f, B_f) / sum_f lambda_f    over the fields filled in both

    The distance is unknown if no field is filled in both. Sums over peers pool fields in the same way as tasks
    (`allalike.domains.records.kernels`). The distances of different fields must be comparable. Most are between 0 and 1
    and enter unscaled, because dividing by their mean would inflate fields with high agreement. Numbers enter as min(1,
    |x - y| / m), where m is the mean difference between two answers to a task. Each field is estimated by its own rule.

Records work if they have many fields, and workers are similarly accurate in all of them. They fail if a worker is good
at one field and bad at another, because each worker has a single weight. Use ``weights="field"`` for a weight per
field, estimated only from the answers to that field; this loses information if accuracies are similar. Numbers that are
either right or wrong, such as times, years and ids, should be ``categorical``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from allalike._core.blocks.block import Add, Array, Block, Floats
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

_EACH = "each field"
_TAKEN = (  # columns of every truth table
    *("task", "label", "confidence", "support", "ci_low", "ci_high", "standard_error", "answers", "effective_answers"),
    *("tied", "unweighted", "changed", "is_gold"),
)


@dataclass(frozen=True, kw_only=True)
class Record(Domain):
    """Records with fields of different label types, compared by the mean distance of their fields.

    A label is a mapping from field to value, or a JSON object as text. Fields that are absent, null or empty count as
    missing. In a table, fields may be columns. Estimates are mappings, and JSON in files. The truth table also has a
    column for each field and its confidence.

    Parameters
    ----------
    fields
        Label types by field name: ``{"year": Real(), "tags": "set"}``, or as text ``"year:real, tags:set"``. Missing
        label types and missing names are detected.
    importance
        Weights of fields that differ from 1: ``{"year": 2}``.
    ignore
        Fields to exclude.
    weights
        Whether workers have a single weight (``worker``) or one per ``field``. With ``field`` the method runs for each
        field separately. The worker table then contains ``weight.NAME`` and ``mean_error.NAME``; ``weight`` is the
        mean.
    one
        Whether each label fills a single field, as in a survey whose questions have different scales. Estimates are
        then values of that field.
    rule
        Aggregation rule: ``each field`` by its own rule, or ``medoid`` or ``best worker`` of whole records.

    >>> import allalike
    >>> rows = [("ada", 1, {"colour": "red", "size": 3}), ("bob", 1, {"colour": "red", "size": 2}),
    ...         ("eve", 1, {"colour": "blue"})]
    >>> result = allalike.discover(rows, domain=Record({"colour": "categorical", "size": "real"}), method="UA")
    >>> result.truth[["colour", "colour.confidence", "size"]].round(3).values.tolist()
    [['red', 0.667, 2.5]]
    """

    name: ClassVar[str] = "record"
    summary: ClassVar[str] = "several fields of different label types; the mean of their distances"
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
            raise OptionError(f"The field {nested!r} is a record in a record. List its fields in the outer record.")
        if self.weights == "field" and self.rule != _EACH:
            raise OptionError(
                f"weights is 'field', but the rule {str(self.rule)!r} chooses whole records. Use the rule {_EACH!r}."
            )
        ignored = (self.ignore,) if isinstance(self.ignore, str) else tuple(self.ignore)
        if not all(isinstance(name, str) for name in ignored):
            raise OptionError(f"ignore is {self.ignore!r}. It must list field names, such as ['comment'].")
        object.__setattr__(self, "fields", fields)
        object.__setattr__(self, "ignore", ignored)
        object.__setattr__(self, "importance", read_importance(self.importance, fields))

    @property
    def field_names(self) -> tuple[str, ...]:
        """The names of the fields; they may be columns of a table."""
        return tuple(name for name, _ in self.fields)

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of each field in the total importance; its own importance if labels fill one field only."""
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
        """The name, with the label types of all fields."""
        fields = write_fields(self.fields)
        more = (", weights=field" if self.weights != "worker" else "") + (", one=True" if self.one else "")
        return f"record(fields={fields!r}{more})" if '"' in fields else f'record(fields="{fields}"{more})'

    def close(self, labels: Column, guess: Callable[[Column, Array], Domain]) -> Domain:
        """Detect the label type of each field without one; fields without answers become categorical."""
        known = self.fields or tuple((name, None) for name in list_names(labels, self.ignore))
        named = replace(self, fields=known)
        fields = dict(known)
        for (name, kind), (column, rows) in zip(known, named.take_apart(labels), strict=True):
            try:
                fields[name] = kind or (guess(column, rows) if len(rows) else Categorical())
            except InputError as error:
                kinds = {**fields, name: error.options.get("domain", Categorical.name)}
                question = f"The field {name!r}: {error.args[0]}"
                raise LabelError(question, domain=replace(self, fields=kinds).spec) from None
        return replace(self, fields=tuple(fields.items()))

    @property
    def recurring(self) -> bool:
        return self.rule != _EACH or all(kind is None or kind.recurring for _, kind in self.fields)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset((*self.field_names, *self.ignore))

    def _parse(self, value: Any) -> tuple[Any, ...]:
        """Return the value of each field; missing values are None.

        >>> Record("x:real, y:text", ignore="z")._parse({"y": " a b ", "z": 1})
        (None, ' a b ')
        """
        record = read_record(value)
        if strange := [name for name in record if name not in self._known]:
            raise ValueError(
                f"it has a field {strange[0]!r}, but the fields are {', '.join(self.field_names)}; add it to fields, or"
                f" exclude it with ignore=[{strange[0]!r}]"
            )
        values = tuple(value_of(record[name], kind) if name in record else None for name, kind in self.fields)
        if all(value is None for value in values):
            raise ValueError("none of its fields is filled; to mark an answer as missing, remove its row")
        return values

    def take_apart(self, labels: Column) -> list[tuple[Column, Array]]:
        """Return the column of filled values and their rows for each field."""
        return split_labels(labels, self.fields, self._parse)

    def learn(self, labels: Column) -> RecordEncoding:
        if self.is_open:
            raise OptionError(
                "The label types of the fields of the records are not known:"
                f" {write_fields(self.fields) or 'no field is listed'}."
                ' Define them as Record({"year": "real", "name": "text"}).'
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

    ``parts`` are the encodings. ``units`` are the differences of numbers with distance 1, and 0 for other fields.

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
        """Whether workers have a weight per field."""
        return self.domain.weights == "field"

    @property
    def vocabulary(self) -> list[Any]:
        return [None if each is None else each.vocabulary for each in self.parts]

    def merge(self, others: Sequence[Self]) -> Self:
        merged: list[Encoding | None] = []
        for name, *parts in zip(self.domain.field_names, *(each.parts for each in (self, *others)), strict=True):
            known = [each for each in parts if each is not None]
            with naming(name):
                merged.append(known[0].merge(known[1:]) if known else None)
        return replace(self, parts=tuple(merged))

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

    def remap(self, codes: Array, known: Self) -> Array:
        columns = [codes_of(codes, number) for number in range(len(self.parts))]
        for number, rows, each, own in self.each_cell(codes):
            old = known.parts[number]
            columns[number] = spread(own if old is None else each.remap(own, old), rows, len(codes))
        return join_cells(columns, filled_in(codes))

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
        fields = {}
        for (name, kind), each, unit in zip(self.domain.fields, self.parts, self.units, strict=True):
            about = {**kind.describe(), "filled": False} if each is None else each.describe()
            fields[name] = {**about, **({"unit": float(f"{unit:.6g}")} if unit else {})}
        return {**super().describe(), "fields": fields}

    @property
    def fields(self) -> Self:
        return self

    def each_cell(self, cells: Array) -> Iterator[tuple[int, Array, Encoding, Array]]:
        """Yield the number, rows, encoding and codes of each field that is filled in any label."""
        filled = filled_in(cells)
        for number, each in enumerate(self.parts):
            rows = np.flatnonzero(filled[:, number])
            if each is not None and len(rows):
                yield number, rows, each, codes_of(cells, number)[rows]

    def find_units(self, add: Add) -> Self:
        """Compute the mean difference between two answers to a task for each numeric field."""
        if not any(self.units):
            return self
        sums = add(self.kernels.length_sums)
        units = list(self.units)
        for number, unit in enumerate(units):
            pairs = sums[f"pairs {number}"].sum() if f"pairs {number}" in sums else 0.0
            length = sums[f"length {number}"].sum() if pairs else 0.0
            units[number] = float(length / pairs) if unit and length > 0 else float(unit > 0)
        return replace(self, units=tuple(units))

    def insert_gold(self, found: Mapping[str, Array], task: Array, truths: Array) -> dict[str, Array]:
        """Insert gold labels field by field; fields without gold keep their estimates."""
        label, sure = found["label"].copy(), found["sure"].copy()
        filled = filled_in(label)
        for number, rows, _, codes in self.each_cell(truths):
            codes_of(label, number)[task[rows]] = codes
            filled[task[rows], number], sure[task[rows], number] = True, 1.0
        return {**found, "label": label, "sure": sure}

    def worker_columns(self, add: Add, weights: Floats) -> dict[str, Floats]:
        """Return each worker's mean distance to the estimated labels per field: ``mean_error.year``."""
        sums, none = add(self.kernels.field_losses, weights), np.zeros(len(weights))
        columns = {}
        for number, name in enumerate(self.domain.field_names):
            distance, answers = (sums.get(f"{what} {number}", none) for what in ("distance", "answers"))
            columns[f"mean_error.{name}"] = np.divide(distance, answers, out=unknown(len(none)), where=answers > 0)
        return columns

    def count(self, block: Block) -> dict[str, Floats]:
        """Count the answers per worker and field."""
        filled = filled_in(block.label).astype(np.float64)
        return {"answers": np.stack([block.per_worker(column) for column in filled.T], axis=1)}

    def join(self, block: Block, find: Callable[[int, Block], Mapping[str, Array]]) -> dict[str, Array]:
        """Join the estimates of all fields; ``find`` returns the results for the block of a field."""
        return decide_fields(block, find).columns()


def _write_one(label: Any) -> str:
    """Format the value of a field, or a record."""
    return label if isinstance(label, str) else write_record(label)
