"""Find which columns of a table are worker, task and label: by names, by what they contain, or by one question."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING, Any

from allalike.errors import ColumnError, InputError, Proposal
from allalike.readers.column_names import (
    SYNONYMS,
    check_chosen,
    is_gold,
    list_names,
    name_within,
    pick_columns,
    rate_name,
)
from allalike.readers.guessing.candidates import (
    EXAMPLE,
    Candidate,
    find_candidates,
    find_consensus,
    name_pattern,
    rate_agreement,
    rate_structure,
)
from allalike.readers.guessing.contents import TableSample
from allalike.readers.guessing.shapes import Shape, find_shape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allalike.readers.formats.tables import Table

SAMPLE_ROWS, _LEAST_ROWS, _SAMPLE_CELLS = 100_000, 5_000, 240_000
_MIN_ROWS = 12  # fewer rows do not tell what columns contain
_TRUSTED = 0.3  # structure from which columns that names tell are not doubted, and content from which others are good
_LEAST_STRUCTURE, _CLEARLY_BETTER = 0.25, 2.0  # of a candidate that wins over what names tell
_CLEAR_LEAD = 0.15  # a candidate is not taken without a question if the total of another comes as near
_AGREEMENT_LEAD = 0.2  # without names, labels must agree this much more within tasks than within workers
_TELLING = 0.4  # rate of a name that says something
UNLIKELY = -1.0  # nothing speaks for an arrangement but that it can be read
_MOST_PROPOSED, _MAX_BEHIND, _MOST_ARRANGED = 10, 0.6, 5  # candidates, totals behind the best, columns in any order
_FILES_LOOKED_AT, _ROWS_OF_A_FILE, _PATHS_LOOKED_AT = 20, 10_000, 30
_ROWS_SHOWN, _CELL, _NAME, _COLUMNS_SHOWN, _WIDTH = 3, 24, 60, 40, 110
_AXIS = re.compile(r"(\S*[^a-zA-Z\s]|)([xyzXYZ])([^a-zA-Z\s]{0,6})")


@dataclass(frozen=True)
class Roles:
    """A table, which of its columns are worker, task and label, and which of them were guessed."""

    table: Table
    picked: dict[str, str]
    guessed: dict[str, str]


def find_roles(table: Table, chosen: Mapping[str, str], na: frozenset[str] = frozenset()) -> Roles:
    """Find worker, task and label: as chosen, as a tool's reader knows, by their names, or by what columns contain.

    Names decide unless what the columns contain is impossible, such as a task that has a worker's answers many times,
    or a label that is the same in all answers to a task; then, and where names say nothing, the best candidate is taken
    if no other comes near. Else it is an error that asks.

    >>> from allalike.readers.formats.tables import of_records
    >>> pairs = [(worker, nr) for worker in range(5) for nr in range(9)]
    >>> rows = [{"who": f"w{w}", "task": "all", "item": nr, "label": (nr + (w == nr)) % 2} for w, nr in pairs]
    >>> find_roles(of_records(rows), {"worker": "who"}).picked
    {'worker': 'who', 'task': 'item', 'label': 'label'}
    """
    if table.expand is not None and any(name not in table.names for name in chosen.values()):
        table = _expand(table, chosen)
    check_chosen(table.names, chosen, table.where)
    known = dict(chosen)
    for role, names in table.roles.items():
        if role not in chosen:
            if not isinstance(names, str):
                raise _ask_which(table, role, names)
            known[role] = names
    picked = {**{role: role for role in SYNONYMS}, **known}
    if len(known) < len(SYNONYMS) and set(table.names) != set(picked.values()):
        picked = _look(table, known, na)
    guessed = {role: name for role, name in picked.items() if role not in chosen and name != role}
    return Roles(table, {role: picked[role] for role in SYNONYMS}, guessed)


def _expand(table: Table, chosen: Mapping[str, str]) -> Table:
    """Return a table of paths into nested records, with all that go through the same list if some are to be found."""
    assert table.expand is not None
    paths = list(chosen.values())
    if len(paths) < len(SYNONYMS) and table.list_paths is not None:
        same = (group for group in table.list_paths() if _find_list(group) == _find_list(paths))
        paths = list(dict.fromkeys((*paths, *next(same, []))))
    try:
        return table.expand(paths)
    except ColumnError as error:
        wrong = {role: None for role, name in chosen.items() if name not in table.names}
        error.proposals = (Proposal({"columns": wrong}),)
        raise


def _find_list(paths: Sequence[str]) -> str:
    """Return the innermost list that paths go through, such as ``said[]``."""
    return max((path[: path.rfind("[]") + 2] if "[]" in path else "" for path in paths), key=len, default="")


def _ask_which(table: Table, role: str, names: Sequence[str]) -> ColumnError:
    what = f"{table.where} has {len(names)} columns that may be the {role}: {list_names(names)}."
    proposals = [Proposal({"columns": {role: name}}) for name in names]
    return ColumnError(what + (name_pattern(names) if role == "label" else ""), proposals=proposals)


def _look(table: Table, known: Mapping[str, str], na: frozenset[str]) -> dict[str, str]:
    """Take the columns that names tell, unless what a sample contains makes them impossible."""
    by_name: dict[str, str] = {}
    unclear, structure = "", 0.0
    try:
        by_name = pick_columns(table.names, known, table.where)[0]
    except ColumnError as error:
        unclear = str(error.args[0])
    try:
        if by_name:
            named = TableSample(table.sample(SAMPLE_ROWS, list(by_name.values())), na)
            whole = named.n_rows < SAMPLE_ROWS
            structure = rate_structure(named, by_name, whole=whole, known=known) if named.n_rows >= _MIN_ROWS else 1.0
            if structure >= _TRUSTED:
                return by_name
        sample = _take_sample(table, na)
    except InputError:  # of which reading itself will tell, if it is not in a column that nobody needs
        if by_name:
            return by_name
        raise
    candidates = find_candidates(sample, known) if sample.n_rows >= _MIN_ROWS else []
    if by_name and not (candidates and _beats(candidates[0], by_name, structure)):
        return by_name
    return _take_best(table, sample, known, by_name, candidates, unclear)


def _beats(best: Candidate, by_name: Mapping[str, str], structure: float) -> bool:
    """Return whether a candidate is so much better than what names say that they cannot be right."""
    if best.structure < max(_CLEARLY_BETTER * structure, _LEAST_STRUCTURE):
        return False
    return all(name == by_name[role] or rate_name(name, role) >= 0 for role, name in best.columns.items())


def _take_best(
    table: Table,
    sample: TableSample,
    known: Mapping[str, str],
    by_name: Mapping[str, str],
    candidates: Sequence[Candidate],
    unclear: str,
) -> dict[str, str]:
    """Take the best candidate if it is clearly the best, or ask."""
    best = candidates[0] if candidates else None
    shape = _find_shape(sample, known, best)
    if shape and len(shape.cells) > 2 and best and not {best.columns["worker"], best.columns["task"]} & {*shape.cells}:
        shape = None
    task_of_files = "" if "worker" in known else _find_task_of_files(table)
    if shape or task_of_files:
        raise _ask(table, sample, candidates, "", shape, task_of_files)
    if best and best.content >= _TRUSTED:
        if doubt := _find_doubt(sample, known, by_name, candidates):
            raise _ask(table, sample, candidates, doubt)
        return best.columns
    if nested := _look_inside(table, known):
        raise nested
    if not candidates and unclear:
        raise _ask_by_names(table, sample, known, unclear)
    labels = [sample[each.columns["label"]] for each in candidates]
    unique = all(each.kind == "text" and each.n_present == each.n_filled for each in labels)
    why = "No column is left whose values recur, as those of a label do." if unique else "None of them fits well."
    raise _ask(table, sample, candidates, why)


def list_readings(table: Table, na: frozenset[str] = frozenset()) -> list[Proposal]:
    """Return what a table may be by what it contains, whatever columns are called or were said to be.

    >>> from allalike.readers.formats.tables import of_records
    >>> rows = [{"a": "xyz"[n % 3], "b": f"q{n // 3}", "c": "no" if n // 3 % 2 else "yes"} for n in range(36)]
    >>> print(list_readings(of_records(rows))[0])
    columns={'worker': 'a', 'task': 'b', 'label': 'c'}
    """
    if table.roles:
        return []
    sample = _take_sample(table, na)
    candidates = find_candidates(sample, {}) if sample.n_rows >= _MIN_ROWS else []
    shape = _find_shape(sample, {}, candidates[0] if candidates else None)
    return list(_ask(table, sample, candidates, "", shape, _find_task_of_files(table)).proposals)


def _take_sample(table: Table, na: frozenset[str]) -> TableSample:
    """Return a sample of all columns, of fewer rows if there are many."""
    return TableSample(table.sample(min(SAMPLE_ROWS, max(_LEAST_ROWS, _SAMPLE_CELLS // max(len(table.names), 1)))), na)


def _find_shape(sample: TableSample, known: Mapping[str, str], best: Candidate | None) -> Shape | None:
    """Return the shape of a matrix, of which the column that names the rows may be known.

    Two similar columns are a weak sign: they count only where no candidate is good.
    """
    shape = find_shape(sample) if "label" not in known and len(known) < 2 else None
    if shape is None or (best and best.content >= _TRUSTED and (known or len(shape.cells) == 2)):
        return None
    return replace(shape, rows=f"{next(iter(known))}s", named=True) if known else shape


def _find_doubt(
    sample: TableSample, known: Mapping[str, str], by_name: Mapping[str, str], candidates: Sequence[Candidate]
) -> str:
    """Say why the best candidate is not sure; nothing if it is."""
    best, columns = candidates[0], candidates[0].columns
    task, worker = (rate_agreement(sample, columns["label"], columns[role]) for role in ("task", "worker"))
    fewer = sample[columns["worker"]].n_values <= sample[columns["task"]].n_values
    turned = {**columns, "worker": columns["task"], "task": columns["worker"]}
    sure = task - worker >= _AGREEMENT_LEAD and fewer  # that worker and task are not the other way round
    near = [each for each in candidates[1:] if each.total > best.total - _CLEAR_LEAD and not best.is_like(each, sample)]
    rivals = [each.columns for each in near if not sure or each.columns != turned]
    if rivals and {*columns.values()} == {*rivals[0].values()}:
        return "Two of them may be the other way round."
    if rivals:
        role = next(role for role, name in columns.items() if name != rivals[0][role])
        labels = [columns["label"], *(each["label"] for each in rivals)] if role == "label" else []
        return f"The {role} may be {columns[role]!r} or {rivals[0][role]!r}." + name_pattern(labels)
    for role, name in columns.items():
        if role not in known and rate_name(name, role) < 0:
            return f"The name {name!r} says something else."
        if name != by_name.get(role, name) and rate_name(name, role) < _TELLING:
            return f"The name {by_name[role]!r} says that it is the {role}, but what it contains does not fit."
    if axes := [] if "label" in known else _find_axes(sample, columns["label"]):
        return f"{' and '.join(map(repr, axes))} may be the label together."
    if sum(role in known or rate_name(name, role) >= _TELLING for role, name in columns.items()) >= 2:
        return ""
    if len(sample.names) > len(SYNONYMS):
        return "Their names do not say so, and what they contain may mean something else."
    return "" if sure else "Worker and task may be the other way round."


def _find_axes(sample: TableSample, label: str) -> list[str]:
    """Return the columns of numbers that are x and y of the same thing, and perhaps z, if a label is one of them."""
    found = _AXIS.fullmatch(label)
    names = [f"{found[1]}{axis}{found[3]}" for axis in ("xyz" if found[2].islower() else "XYZ")] if found else []
    axes = [name for name in names if name in sample.names and sample[name].kind in ("whole", "number")]
    return axes if label in axes and axes[:2] == names[:2] else []


def _find_task_of_files(table: Table) -> str:
    """Return the column that is a task if each file is a worker: each has it once, and the files share values."""
    if len(table.parts) < 2:
        return ""
    samples = [TableSample(part.sample(_ROWS_OF_A_FILE)) for part in table.parts[:_FILES_LOOKED_AT]]
    for name in sorted(table.names, key=lambda name: -rate_name(name, "task")):
        times = Counter(str(value) for sample in samples for value in sample[name].values)
        once = all(sample[name].n_values == sample.n_rows > 0 for sample in samples)
        if once and 2 * sum(count > 1 for count in times.values()) > len(times):
            return name
    return ""


def _ask(
    table: Table,
    sample: TableSample,
    candidates: Sequence[Candidate],
    why: str,
    shape: Shape | None = None,
    task_of_files: str = "",
) -> ColumnError:
    """Return the question: files may be a worker each, the table a matrix, or its columns worker, task and label."""
    proposals = _propose_columns(table, sample, candidates)
    what = f"Cannot tell which columns of {name_within(table.where)} contain worker, task and label. {why} Columns:"
    if shape:
        rows = shape.rows.removesuffix("s") if shape.named else "task, or one per worker"
        what = f"{table.where} has no columns that fit worker, task and label, but looks like a matrix with one row per"
        what += f" {rows}."
        cells = {} if shape.alone else {"only": tuple(shape.cells)}
        turned = "workers" if shape.rows == "tasks" else "tasks"
        ways = [Proposal({"wide": shape.rows, **cells}, score=0.6 if shape.named else 0.3)]
        if shape.rows == "tasks" and shape.alone and (consensus := find_consensus(sample, shape.cells)):
            what += f" Column {consensus!r} may be the consensus of the others, and not a worker."
            ways.append(replace(ways[0], settles={"wide": "tasks", "skip": (consensus,)}))
        what += " Columns:"
        proposals = [*ways, Proposal({"wide": turned, **cells}, score=-0.7 if shape.named else 0.3), *proposals]
    if task_of_files:
        what = f"{table.where} have no column that fits the worker, but each file has each {task_of_files!r} once: each"
        what += " may be a worker's. Columns:"
        proposals = [Proposal({"worker_from": "filename"}, score=0.5), *proposals]
    return ColumnError(f"{what} {list_names(table.names)}.", lines=_show_rows(sample), proposals=proposals)


def _propose_columns(table: Table, sample: TableSample, candidates: Sequence[Candidate]) -> list[Proposal]:
    """Propose the best candidates, each of which says something else, before them x and y together."""
    best: list[Candidate] = []
    for candidate in candidates:
        near = not best or candidate.total > best[0].total - _MAX_BEHIND
        if near and len(best) < _MOST_PROPOSED and not any(candidate.is_like(other, sample) for other in best):
            best.append(candidate)
    proposals = []
    if best and not table.roles and (axes := _find_axes(sample, best[0].columns["label"])):
        worker, task, _ = (best[0].columns[role] for role in SYNONYMS)
        once = sample.count_partners(worker, task).sum() == sample.n_rows
        columns = {"worker": worker, "task": task, "label": " ".join(axes)}
        kind = {"domain": "vector" if once else "points"}
        proposals.append(Proposal({"columns": columns, **kind}, score=best[0].total + _CLEAR_LEAD))
    for each in best:
        columns = {role: name for role, name in each.columns.items() if role not in table.roles}
        proposals.append(Proposal({"columns": columns}, score=each.total))
    return proposals


def _ask_by_names(table: Table, sample: TableSample, known: Mapping[str, str], unclear: str) -> ColumnError:
    """Return the question where there are too few rows or columns to tell."""
    proposals = _propose_any(table.names, known)
    if len(table.names) < len(SYNONYMS):
        verb = "is" if len(table.names) == 1 else "are"
        unclear += f" Answers need three columns, and there {verb} {len(table.names)}."
    return ColumnError(unclear, lines=[*_show_rows(sample), *([] if proposals else EXAMPLE)], proposals=proposals)


def _propose_any(names: Sequence[str], known: Mapping[str, str]) -> list[Proposal]:
    """Propose each way to give columns the roles that are not known, the best by their names first."""
    roles = [role for role in SYNONYMS if role not in known]
    free = [name for name in names if name not in known.values() and not is_gold(name)][:_MOST_ARRANGED]
    ways = []
    for chosen in permutations(free, len(roles)):
        rates = [rate_name(name, role) for role, name in zip(roles, chosen, strict=True)]
        told = sum(rate >= _TELLING for rate in rates) + (len(free) == len(roles))  # one is left for the last role
        columns = {"columns": dict(zip(roles, chosen, strict=True))}
        ways.append((sum(rates), Proposal(columns, score=None if told >= len(roles) else UNLIKELY)))
    return [proposal for _, proposal in sorted(ways, key=lambda way: -way[0])]


def _look_inside(table: Table, known: Mapping[str, str]) -> ColumnError | None:
    """Return the question that proposes paths into nested records, if one of their lists gives a candidate."""
    if table.list_paths is None or table.expand is None:
        return None
    groups = [group for group in table.list_paths() if any("[]" in path or path not in table.names for path in group)]
    questions: list[tuple[float, ColumnError]] = []
    for paths in groups:
        inner = table.expand(list(dict.fromkeys((*known.values(), *paths)))[:_PATHS_LOOKED_AT])
        sample = TableSample(inner.sample(SAMPLE_ROWS))
        candidates = find_candidates(sample, known) if sample.n_rows >= _MIN_ROWS else []
        question = _ask(inner, sample, candidates, "Its records are nested.")
        proposals = list(question.proposals or _propose_any(inner.names, known))
        proposals += [first for each in proposals if (first := _propose_first(each))]
        question.proposals = tuple(proposals)
        questions += [(candidates[0].total if candidates else 0.0, question)] if proposals else []
    if questions:
        return max(reversed(questions), key=lambda question: question[0])[1]
    paths = list(dict.fromkeys(path for group in groups for path in group))
    what = f"{table.where} has no columns that fit worker, task and label, but its records are nested."
    return ColumnError(f"{what} Name paths into them. It has: {list_names(paths)}.", lines=EXAMPLE) if groups else None


def _propose_first(proposal: Proposal) -> Proposal | None:
    """Propose the first of the elements that labels are in, if they are in a list of a worker's own."""
    columns = dict(proposal.settles["columns"])
    before, inner, after = columns.pop("label", "").rpartition("[]")
    if not inner or before.count("[]") < max((name.count("[]") for name in columns.values()), default=0):
        return None
    return replace(proposal, settles={"columns": {**columns, "label": f"{before}[0]{after}"}})


def _show_rows(sample: TableSample) -> list[str]:
    """Write down the first rows, each cell cut; in a wide table each of its columns is a line."""

    def cut(value: Any, length: int = _CELL) -> str:
        text = " ".join(str("" if value is None else value).split())
        return text if len(text) <= length else text[: length - 3] + "..."

    def write(rows: Sequence[Sequence[str]]) -> list[str]:
        widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
        return ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]

    columns = []
    for content in list(sample.contents.values())[:_COLUMNS_SHOWN]:
        cells = [content.values[code] for code in content.codes[:_ROWS_SHOWN]]
        columns.append([cut(content.name, _NAME), *map(cut, cells)])
    lines = write(list(zip(*columns, strict=True)))
    return lines if max(map(len, lines), default=0) <= _WIDTH else write(columns)
