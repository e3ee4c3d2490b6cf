"""The command `allalike discover`."""

from __future__ import annotations

import re
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from allalike._core.lazy_imports import late_pattern
from allalike.cli.console import Line, echo, note, progress_and_notes, show, spool_input, visible
from allalike.cli.gates import check_error, exit_if
from allalike.cli.lists import echo_json
from allalike.cli.options import (
    OFF,
    command,
    find_typed,
    list_notes,
    name_answers,
    name_engine,
    open_answers,
    option,
    take,
    write_flags,
)
from allalike.domains.contract import field_names
from allalike.errors import AllalikeError, ColumnError, DataWarning, InputError, OptionError, UnsupportedError
from allalike.result.summary import Summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike.readers import Scan
    from allalike.result.result import Result

    Results = dict[str | None, tuple[Result, Sequence[Path]]]  # by label column, if there are several

_MAX_NAME = 100  # characters of the name of a folder
_DEVICES = late_pattern("(con|prn|aux|nul|com[0-9]|lpt[0-9])([.].*)?", re.IGNORECASE)  # reserved on Windows
_RUN_OPTIONS = ("history", "screening", "seed", "ties", "min_confidence", "method", "engine", "use_gold")
_SAVE_OPTIONS = ("to", "overwrite", "report", "safe_csv", "probabilities")


def choose_labels(source: Scan, wanted: Sequence[str]) -> list[Scan]:
    """Return a scan per wanted label column, by name or pattern.

    If labels are records without named fields, several columns are the fields of one record.

    >>> from allalike.readers import scan
    >>> table = {"worker": ["ada"], "task": [1], "is.cat": ["x"], "is.dog": ["y"]}
    >>> [each.columns["label"] for each in choose_labels(scan(table), ["is.*"])]
    ['is.cat', 'is.dog']
    """
    if not wanted:
        return [source]
    if source.wide is not None:
        raise OptionError(
            f"--label {wanted[0]} names a label column, but in a matrix (--wide) all columns are labels. Select columns"
            " with --include and --exclude."
        )
    names = list(dict.fromkeys(name for each in wanted for name in _find_matching(source, each)))
    domain = source.domain
    if len(names) > 1 and domain and domain.record and domain.record.is_open and not field_names(domain):
        return [replace(source, domain=replace(domain, fields=names))]  # type: ignore[call-arg]
    return [replace(source, columns={**source.columns, "label": name}) for name in names]


def choose_label(source: Scan, wanted: Sequence[str]) -> Scan:
    """Return the scan of the wanted label column; raise an error for several."""
    sources = choose_labels(source, wanted)
    if len(sources) > 1:
        listed = [each.columns["label"] for each in sources]
        raise InputError(
            f"This command needs one label column, but there are {len(sources)}: {', '.join(map(repr, listed))}. Name"
            " one with --label.",
            columns={"label": listed[0]},
        )
    return sources[0]


def _find_matching(source: Scan, pattern: str) -> list[str]:
    """Return the columns that match a pattern; column names and names without wildcards are returned unchanged."""
    if not ("*" in pattern or "?" in pattern):
        return [pattern]
    table = source.open()
    if pattern in table.names:
        return [pattern]
    form = pattern.replace("[", "[[]")  # brackets in names are not wildcards
    others = [name for name in table.names if name not in source.columns.values()]
    if names := [name for name in others if fnmatchcase(name, form)]:
        return names
    raise ColumnError(
        f"{table.where} has no column like {pattern!r}. Columns: {', '.join(map(repr, table.names))}.",
        columns={"label": None},
    )


def name_folders(names: Sequence[str]) -> list[str]:
    """Return a unique folder name for each column, valid on every file system.

    >>> name_folders(["Answer.emotion", "is it/a cat?", "IS it:a cat ", "..", "../../etc", "nul.txt"])
    ['Answer.emotion', 'is it_a cat', 'IS it_a cat-2', 'column', 'etc', 'nul.txt_']
    """
    folders: list[str] = []
    for name in names:
        plain = re.sub(r"[^\w .+@=,()-]", "_", name)[:_MAX_NAME].strip(" ._") or "column"
        number, folder = 2, f"{plain}_" if _DEVICES.fullmatch(plain) else plain
        while folder.casefold() in map(str.casefold, folders):
            folder, number = f"{plain}-{number}", number + 1
        folders.append(folder)
    return folders


@command()
@option("-o", "--output", group="Output", default="allalike-out", help="Output folder.", show_default=True)
@option(
    "--method",
    group="Method",
    default="auto",
    help="Method, such as 'iP-TD(max_iter=3)'; see 'allalike list methods'.",
    show_default=True,
)
@option("--history", group="Method", help="Worker statistics from an earlier run: its folder or workers.csv.")
@option(
    "--no-screening", "screening", group="Method", help="Do not merge copies or exclude uninformative workers.", **OFF
)
@take("Input", "Columns", "Gold", "Method", "Large data", files=True)
@option("--no-use-gold", "use_gold", group="Gold", help="Only measure the error on gold.", **OFF)
@option("--fail-above", group="Output", type=float, help="Exit with code 3 if the error on gold is above, such as 0.1.")
@option(
    "--min-confidence", group="Method", type=float, help="Minimum confidence, from 0 to 1; labels below stay empty."
)
@take("Format")
@option("--block-list", group="Output", help="File for the ids of workers to exclude, one per line.")
@option("--to", group="Output", multiple=True, help="Tool to write labels for; see 'allalike list formats'.")
@option("--probabilities", group="Output", is_flag=True, help="Also write the probability of each class.")
@option("--no-report", "report", group="Output", help="Do not write report.html.", **OFF)
@option(
    "--no-save-answers",
    "save_answers",
    group="Output",
    help="Do not save the answers, which 'allalike update' needs.",
    **OFF,
)
@take("Tables", "Overwrite", "Output")
def discover(files: tuple[str, ...], as_json: bool, quiet: bool, **options: Any) -> None:
    """Estimate the label of each task in FILES, and the quality of each worker.

    FILES have one row per answer. They are CSV, Excel, JSON, Parquet, Arrow or PrefLib (compressed or not), a pattern
    such as 'answers/*.csv', a database, a folder of masks, or - for standard input. Addresses work as well: s3://,
    gs://, az://, https://, hf:// and postgresql://.

    The result is written atomically and replaces an earlier result in the same folder. With several --label columns,
    each has its own folder.
    """
    files = spool_input(files, options)
    _check_options(options)
    options |= {"engine": name_engine(options), "quiet": quiet}
    results: Results = {}
    failed: dict[str, str] = {}
    with progress_and_notes(options):
        sources = _name_results(choose_labels(name_answers(files, options), options["label"]), options)
        for name, (source, target) in sources.items():
            try:
                results[name] = _run(source, target, {**options, "typed": find_typed() if name is None else ()})
            except (AllalikeError, DataWarning) as error:
                if name is None:
                    raise
                failed[name] = str(error.args[0]) if isinstance(error, InputError) else str(error)
    if not quiet:
        _print_notes(results, safe_csv=options["safe_csv"])
    if as_json:
        records = {name: {**result.summary, "files": [*map(str, paths)]} for name, (result, paths) in results.items()}
        echo_json("discover", records.get(None, {"results": records, "failed": failed}))
    elif not quiet:
        _print_screens(results)
    for name, reason in failed.items():
        echo(f"allalike: no result for label column {visible(repr(name))}. {visible(write_flags(reason))}", err=True)
    if failed:
        click.get_current_context().exit(2)
    golds = [Summary.from_dict(result.summary).gold for result, _ in results.values()]
    exit_if(*(check_error(gold, options["fail_above"]) for gold in golds))


def _check_options(options: dict[str, Any]) -> None:
    """Check options before reading."""
    from allalike._core.options import check_choice
    from allalike._core.registry import make
    from allalike._core.system.tables import FORMATS
    from allalike.methods import METHODS

    if check_choice(options["file_format"], FORMATS, "--format") != "csv" and options["safe_csv"]:
        raise OptionError(
            f"--safe-csv needs --format csv, not {options['file_format']}. Leave out one of the two options."
        )
    make(options["method"], METHODS, "method")
    if options["fail_above"] is not None and options["gold"] is None:
        raise OptionError(f"--fail-above {options['fail_above']:g} needs gold labels. Name their file with --gold.")


def _name_results(sources: Sequence[Scan], options: dict[str, Any]) -> dict[str | None, tuple[Scan, str]]:
    """Return source and folder of each result, by label column if there are several; check all folders."""
    if len(sources) == 1:
        return {None: (sources[0], options["output"])}
    for name in ("block_list", "gold"):
        if options[name] is not None:
            flag = f"--{name.replace('_', '-')}"
            raise UnsupportedError(f"{flag} needs one label column, but --label names several. Name one.")
    names = [source.columns["label"] for source in sources]
    targets = [str(Path(options["output"]) / folder) for folder in name_folders(names)]
    for source, target in zip(sources, targets, strict=True):
        _check_output(source, target, options)
    return dict(zip(names, zip(sources, targets, strict=True), strict=True))


def _run(source: Scan, folder: str, options: dict[str, Any]) -> tuple[Result, Sequence[Path]]:
    """Estimate the labels of one column, and save the result."""
    from allalike._core.system.progress import report
    from allalike.discover import discover as run

    _check_output(source, folder, options)
    answers, gold = open_answers(source, options)
    result = run(answers, **gold, **{name: options[name] for name in _RUN_OPTIONS})
    result = replace(result, command=options["typed"])
    report("saving")
    how = {name: options[name] for name in _SAVE_OPTIONS}
    how |= {"format": options["file_format"], "answers": options["save_answers"]}
    listed = []
    if (path := options["block_list"]) is not None:  # first: if it cannot be written, nothing is
        if not result.save_block_list(path, overwrite=options["overwrite"]) and not options["quiet"]:
            note(f"Note: no worker needs to be excluded; {visible(path)} is empty.")
        listed.append(Path(path))
    return result, [*result.save(folder, **how), *listed]


def _check_output(source: Scan, folder: str, options: dict[str, Any]) -> None:
    """Raise an error, before a long run, if the output folder must not be written to."""
    from allalike.result.saving import REPORT, find_writers, result_names, result_output, written_names
    from allalike.sources import inputs_of

    inputs = inputs_of(source, options["gold"], options["history"])
    output = result_output(folder, inputs=inputs, overwrite=options["overwrite"])
    writers = find_writers(options["to"]).values()
    for writer in writers:
        writer.check(None if source.domain is None else source.domain.name, inputs)
    further = [*written_names(writers), *([REPORT] if options["report"] else [])]
    output.check([*result_names(options["file_format"]), *further])


def _print_notes(results: Results, *, safe_csv: bool) -> None:
    for name, (result, _) in results.items():
        for line in [*([] if name is None else [f"{visible(name)}:"]), *list_notes(Summary.from_dict(result.summary))]:
            note(line)
    if safe_csv:
        note("Note: texts in the tables that begin like a formula are prefixed with an apostrophe (--safe-csv).")


def _print_screens(results: Results) -> None:
    from allalike.cli.print_result import draw_screen

    lines: list[Line] = []
    for name, (result, paths) in results.items():
        heading = [] if name is None else [Line(visible(name), bold=True), Line("-" * len(visible(name)))]
        lines += [*([Line("")] if lines else []), *heading, *draw_screen(result, paths, typed=result.command)]
    show(lines)
