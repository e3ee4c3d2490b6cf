"""Roles: which columns of a table are worker, task and label, by their names and by what they hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from allalike.errors import ColumnError, InputError, Proposal
from allalike.readers.column_names import SYNONYMS, check_chosen, list_names, pick_columns, rate_name
from allalike.readers.guessing.candidates import (
    EXAMPLE,
    Candidate,
    ask_candidates,
    ask_columns,
    find_candidates,
    name_pattern,
    rate_structure,
    show_rows,
)
from allalike.readers.guessing.column_proposals import (
    CLEAR_LEAD,
    TELLING_RATE,
    find_axes,
    propose_any,
    propose_columns,
    propose_first,
    propose_names,
    propose_shape,
)
from allalike.readers.guessing.consensus import find_consensus
from allalike.readers.guessing.contents import TableSample
from allalike.readers.guessing.shapes import Shape, find_shape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allalike.readers.formats.tables import Table

SAMPLE_ROWS, _LEAST_ROWS, _SAMPLE_CELLS = 100_000, 5_000, 240_000
_MIN_ROWS = 12  # fewer rows do not tell what columns hold
_TRUSTED_STRUCTURE = 0.3  # columns that names tell are not doubted if their structure is as good
_LEAST_STRUCTURE = 0.25  # a candidate wins over what names tell only if its structure is as good
_CLEARLY_BETTER = 2.0  # a candidate wins over what names tell only if its structure is this many times as good
_LEAST_CONTENT = 0.3  # a candidate whose content is worse is not taken without a question
_AGREEMENT_LEAD = 0.2  # without names, labels must agree this much more within tasks than within workers
_FILES_LOOKED_AT, _ROWS_OF_A_FILE = 20, 10_000
_PATHS_LOOKED_AT = 30
_EACH_A_FILE = 0.5  # this much speaks for it beside what is read


@dataclass(frozen=True)
class Roles:
    """A table, which of its columns are worker, task and label, which of them were guessed, and what to say of it."""

    table: Table
    picked: dict[str, str]
    guessed: dict[str, str]


def find_roles(table: Table, chosen: Mapping[str, str], na: frozenset[str] = frozenset()) -> Roles:
    """Find worker, task and label: as chosen, as a tool's reader knows, by their names, or by what columns hold.

    Names decide unless what the columns hold is impossible, such as a task that has a worker's answers many times, or
    a label that is the same in all answers to a task; then, and where names say nothing, the best candidate is taken if
    no other comes near. Else it is an error that asks.

    >>> from allalike.readers.formats.tables import of_records
    >>> pairs = [(worker, nr) for worker in range(5) for nr in range(9)]
    >>> rows = [{"who": f"w{w}", "task": "all", "item": nr, "label": (nr + (w == nr)) % 2} for w, nr in pairs]
    >>> find_roles(of_records(rows), {"worker": "who"}).picked
    {'worker': 'who', 'task': 'item', 'label': 'label'}
    """
    if table.expand is not None and any(name not in table.names for name in chosen.values()):
        table = _expand(table, chosen)
    known = _known(table, chosen)
    if len(known) == len(SYNONYMS):
        return _found(table, known, chosen)
    named = {**{role: role for role in SYNONYMS}, **known}
    if set(table.names) == set(named.values()):
        return _found(table, named, chosen)
    return _found(table, _look(table, known, na), chosen)


def _expand(table: Table, chosen: Mapping[str, str]) -> Table:
    """Return a table of paths into nested records; where they are wrong, propose to find others."""
    assert table.expand is not None
    try:
        return table.expand(_in_step(table, list(chosen.values())))
    except ColumnError as error:
        wrong = {role: None for role, name in chosen.items() if name not in table.names}
        error.proposals = (Proposal({"columns": wrong}),)
        raise


def _in_step(table: Table, paths: list[str]) -> list[str]:
    """Return paths with all others that are in step with them, if some are still to be found."""
    if len(paths) == len(SYNONYMS) or table.list_paths is None:
        return paths
    same = (group for group in table.list_paths() if _through(group) == _through(paths))
    return list(dict.fromkeys((*paths, *next(same, []))))


def _through(paths: Sequence[str]) -> str:
    """Return the innermost list that paths go through.

    >>> _through(["id", "said[].by"]), _through(["id"])
    ('said[]', '')
    """
    return max((path[: path.rfind("[]") + 2] if "[]" in path else "" for path in paths), key=len, default="")


def _known(table: Table, chosen: Mapping[str, str]) -> dict[str, str]:
    """Return the columns that are given, and that a tool's reader knows."""
    check_chosen(table.names, chosen, table.where)
    known = dict(chosen)
    for role, names in table.roles.items():
        if role not in chosen:
            if not isinstance(names, str):
                raise ask_candidates(table, role, names)
            known[role] = names
    return known


def _found(table: Table, picked: Mapping[str, str], chosen: Mapping[str, str]) -> Roles:
    guessed = {role: name for role, name in picked.items() if role not in chosen and name != role}
    return Roles(table, {role: picked[role] for role in SYNONYMS}, guessed)


def _look(table: Table, known: Mapping[str, str], na: frozenset[str]) -> dict[str, str]:
    """Look at a sample, and take the columns that names tell, or the best candidate, or ask."""
    by_name, missing = _read_names(table, known)
    structure = 0.0
    if by_name:
        try:
            named = TableSample(table.sample(SAMPLE_ROWS, list(by_name.values())), na)
            whole = named.n_rows < SAMPLE_ROWS
            structure = rate_structure(named, by_name, whole=whole, known=known) if named.n_rows >= _MIN_ROWS else 1.0
            if structure >= _TRUSTED_STRUCTURE:
                return by_name
            sample = _sample(table, na)
        except InputError:  # of which reading itself will tell, if it is not in a column that nobody needs
            return by_name
    else:
        sample = _sample(table, na)
    candidates = find_candidates(sample, known) if sample.n_rows >= _MIN_ROWS else []
    best = candidates[0] if candidates else None
    if by_name and not _beats(best, by_name, structure):
        return by_name
    rivals = [
        other
        for other in candidates[1:]
        if best is not None and other.total > best.total - CLEAR_LEAD and not best.is_like(other, sample)
    ]
    shape = _find_shape(sample, known, best)
    ids = {best.columns["worker"], best.columns["task"]} if best is not None else set()
    if shape is not None and len(shape.cells) > 2 and ids and not ids & {*shape.cells}:
        shape = None
    if best is not None and best.content >= _LEAST_CONTENT and shape is None and not _has_files(table, known):
        doubt = _doubt(sample, known, best, rivals) or _contradict(by_name, best) or _doubt_axes(sample, known, best)
        if not doubt:
            return best.columns
        raise ask_columns(table, sample, doubt, propose_columns(table, sample, candidates))
    raise _ask_without(table, sample, known, missing, candidates, shape)


def list_readings(table: Table, na: frozenset[str] = frozenset()) -> list[Proposal]:
    """Return what a table may be by what it holds, whatever columns are called or were said to be.

    >>> from allalike.readers.formats.tables import of_records
    >>> rows = [{"a": "xyz"[n % 3], "b": f"q{n // 3}", "c": "no" if n // 3 % 2 else "yes"} for n in range(36)]
    >>> print(list_readings(of_records(rows))[0])
    columns={'worker': 'a', 'task': 'b', 'label': 'c'}
    """
    if table.roles:
        return []
    sample = _sample(table, na)
    candidates = find_candidates(sample, {}) if sample.n_rows >= _MIN_ROWS else []
    shape = _find_shape(sample, {}, candidates[0] if candidates else None)
    return [
        *([Proposal({"worker_from": "filename"}, score=_EACH_A_FILE)] if _has_files(table, {}) else []),
        *(propose_shape(shape) if shape is not None else []),
        *propose_columns(table, sample, candidates),
    ]


def _find_shape(sample: TableSample, known: Mapping[str, str], best: Candidate | None) -> Shape | None:
    """Return the shape of a matrix, of which the column that names the rows may be known.

    Two columns alike are a weak sign: they count only where no candidate is good.
    """
    shape = find_shape(sample) if "label" not in known and len(known) < 2 else None
    good = best is not None and best.content >= _LEAST_CONTENT
    if shape is None or (good and (known or len(shape.cells) == 2)):
        return None
    return replace(shape, rows=f"{next(iter(known))}s", named=True) if known else shape


def _sample(table: Table, na: frozenset[str]) -> TableSample:
    """Return a sample of all columns, of fewer rows if there are many."""
    return TableSample(table.sample(min(SAMPLE_ROWS, max(_LEAST_ROWS, _SAMPLE_CELLS // max(len(table.names), 1)))), na)


def _beats(best: Candidate | None, by_name: Mapping[str, str], structure: float) -> bool:
    """Tell whether a candidate is so much better than what names say that they cannot be right."""
    if best is None or best.structure < max(_CLEARLY_BETTER * structure, _LEAST_STRUCTURE):
        return False
    return all(name == by_name[role] or rate_name(name, role) >= 0 for role, name in best.columns.items())


def _read_names(table: Table, known: Mapping[str, str]) -> tuple[dict[str, str], ColumnError | None]:
    """Return what the names alone say, or else why they do not."""
    try:
        return pick_columns(table.names, known, table.where)[0], None
    except ColumnError as error:
        return {}, error


def _doubt(sample: TableSample, known: Mapping[str, str], best: Candidate, rivals: list[Candidate]) -> str:
    """Say why a candidate is not sure; nothing if it is."""
    if rivals:
        other = rivals[0].columns
        role = next(role for role, name in best.columns.items() if not sample.alike(name, other[role]))
        if not {*best.columns.values()} - {*other.values()}:
            return "Two of them may be the other way round."
        labels = [best.columns["label"], *(each.columns["label"] for each in rivals)] if role == "label" else []
        return f"The {role} may be {best.columns[role]!r} or {other[role]!r}." + name_pattern(labels)
    odd = [name for role, name in best.columns.items() if role not in known and rate_name(name, role) < 0]
    if odd:
        return f"The name {odd[0]!r} says something else."
    named = [role for role, name in best.columns.items() if role in known or rate_name(name, role) >= TELLING_RATE]
    if len(named) >= 2:
        return ""
    if len(sample.contents) > len(SYNONYMS):
        return "Their names do not say so, and what they hold may mean something else."
    worker, task, label = best.columns.values()
    apart = sample.agreement(label, task) - sample.agreement(label, worker)
    if apart >= _AGREEMENT_LEAD and sample[worker].n_values <= sample[task].n_values:
        return ""
    return "Worker and task may be the other way round."


def _contradict(by_name: Mapping[str, str], best: Candidate) -> str:
    """Say what the names say, where another column is better that no name speaks for; nothing if one does."""
    for role, name in by_name.items():
        if name != best.columns[role] and rate_name(best.columns[role], role) < TELLING_RATE:
            return f"The name {name!r} says that it is the {role}, but what it holds does not fit."
    return ""


def _ask_without(
    table: Table,
    sample: TableSample,
    known: Mapping[str, str],
    missing: ColumnError | None,
    candidates: list[Candidate],
    shape: Shape | None,
) -> ColumnError:
    """Return the error where no columns fit: a table may be a matrix, one of several, a worker each, or nested."""
    proposals = propose_columns(table, sample, candidates)
    if _has_files(table, known):
        return ColumnError(
            f"{table.where} have no column that fits the worker, but each file has each {_task_of_files(table)!r} once:"
            " each may be a worker's.",
            lines=show_rows(sample),
            proposals=[Proposal({"worker_from": "filename"}, score=_EACH_A_FILE), *proposals],
        )
    if shape is not None:
        return _ask_shape(table, sample, shape, proposals)
    if (nested := _look_inside(table, known)) is not None:
        return nested
    if not candidates and missing is not None:
        named = propose_names(table, known)
        options = [*([Proposal(named)] if named else []), *propose_any(table.names, known)]
        few = f" Answers need three columns, and there {'is' if len(table.names) == 1 else 'are'} {len(table.names)}."
        said = str(missing.args[0]) + (few if len(table.names) < len(SYNONYMS) else "")
        return ColumnError(said, lines=[*show_rows(sample), *([] if options else EXAMPLE)], proposals=options)
    return ask_columns(table, sample, _name_fault(sample, known, candidates), proposals)


def _name_fault(sample: TableSample, known: Mapping[str, str], candidates: Sequence[Candidate]) -> str:
    """Say why no candidate fits: what is left for the label are ids or times, if it is so."""
    labels = (
        []
        if "label" in known
        else list({each.columns["label"]: sample[each.columns["label"]] for each in candidates}.values())
    )
    if labels and all(each.kind == "date" for each in labels):
        return f"What is left for the label are times, {list_names([each.name for each in labels])}."
    if labels and all(each.kind == "text" and each.n_present == (~each.missing).sum() for each in labels):
        return "No column is left whose values recur, as those of a label do."
    return "None of them fits well."


def _ask_shape(table: Table, sample: TableSample, shape: Shape, others: list[Proposal]) -> ColumnError:
    """Return the error that says how to read a matrix, either way round."""
    rows = shape.rows.removesuffix("s") if shape.named else "task, or one per worker"
    proposals, hint = propose_shape(shape), ""
    if shape.rows == "tasks" and shape.alone and (consensus := find_consensus(sample, shape.cells)):
        hint = f" Column {consensus!r} may be the consensus of the others, and not a worker."
        proposals.insert(1, Proposal({"wide": "tasks", "skip": (consensus,)}, score=proposals[0].score))
    return ColumnError(
        f"{table.where} has no columns that fit worker, task and label, but looks like a matrix with one row per"
        f" {rows}.{hint} It has: {list_names(table.names)}.",
        lines=show_rows(sample),
        proposals=[*proposals, *others],
    )


def _doubt_axes(sample: TableSample, known: Mapping[str, str], best: Candidate) -> str:
    axes = [] if "label" in known else find_axes(sample, best.columns["label"])
    return f"{' and '.join(map(repr, axes))} may be the label together." if axes else ""


def _has_files(table: Table, known: Mapping[str, str]) -> bool:
    """Tell whether each file may be a worker's."""
    return "worker" not in known and bool(_task_of_files(table))


def _task_of_files(table: Table) -> str:
    """Return the column that is a task if each file is a worker: each has it once, and the files share values."""
    if len(table.parts) < 2:
        return ""
    samples = [TableSample(part.sample(_ROWS_OF_A_FILE)) for part in table.parts[:_FILES_LOOKED_AT]]
    for name in sorted(table.names, key=lambda name: -rate_name(name, "task")):
        columns = [sample[name] for sample in samples]
        times = Counter(str(value) for column in columns for value in column.values)
        once = all(column.n_values == sample.n_rows > 0 for column, sample in zip(columns, samples, strict=True))
        if once and 2 * sum(count > 1 for count in times.values()) > len(times):
            return name
    return ""


def _look_inside(table: Table, known: Mapping[str, str]) -> ColumnError | None:
    """Return the error that proposes paths into nested records, if one of their lists gives a candidate."""
    if table.list_paths is None or table.expand is None:
        return None
    groups = [group for group in table.list_paths() if any("[]" in path or path not in table.names for path in group)]
    if not groups:
        return None
    best: tuple[float, Table, TableSample, list[Proposal]] | None = None
    for paths in groups:
        inner = table.expand(list(dict.fromkeys((*known.values(), *paths)))[:_PATHS_LOOKED_AT])
        sample = TableSample(inner.sample(SAMPLE_ROWS))
        candidates = find_candidates(sample, known) if sample.n_rows >= _MIN_ROWS else []
        named = propose_names(inner, known).get("columns")
        rate = candidates[0].total if candidates else 0.0
        proposals = [*([Proposal({"columns": named}, score=rate)] if named else [])]
        proposals += propose_columns(inner, sample, candidates)
        proposals = proposals or propose_any(inner.names, known)
        proposals += [first for each in proposals if (first := propose_first(each))]
        if proposals and (best is None or rate >= best[0]):
            best = rate, inner, sample, proposals
    if best is not None:
        return ask_columns(best[1], best[2], "Its records are nested.", best[3])
    paths = list(dict.fromkeys(path for group in groups for path in group))
    return ColumnError(
        f"{table.where} has no columns that fit worker, task and label, but its records are nested. Name paths into"
        f" them. It has: {list_names(paths)}.",
        lines=EXAMPLE,
    )
