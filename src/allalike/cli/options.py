"""Options of the commands, each declared once, in the groups under which ``--help`` lists them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from allalike._core.options import check_length
from allalike._core.registry import make
from allalike._core.words import write_options
from allalike.cli.console import echo, keep_whole, visible
from allalike.errors import OptionError
from allalike.result.commands import write_flag
from allalike.result.messages import Remark, describe_input, describe_warnings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from allalike.answers import Answers
    from allalike.domains import Domain
    from allalike.engines import Engine
    from allalike.readers import Scan
    from allalike.result.summary import Summary

GROUPS = ("Input", "Columns", "Gold", "Method", "Panel", "Output", "Large data", "Options")
_ALL, _MAX_BRIEF = "allalike.help_all", 20
_MAIN = (  # options that a short help lists
    *("domain", "worker", "task", "label", "wide", "gold", "method", "methods", "min_confidence", "output", "as_json"),
    *("force", "engine", "help", "help_all", "by", "positive", "baseline", "fail_under", "prices"),
)
_ENGINE_OF_OPTION = {"memory": "disk", "work_dir": "disk", "spark_master": "spark"}


class _Text(click.types.StringParamType):
    """Text that is not longer than options are."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return check_length(super().convert(value, param, ctx), param.opts[-1] if param else "An option")


class Option(click.Option):
    """An option of a group."""

    def __init__(self, *names: Any, group: str = "Options", **how: Any) -> None:
        super().__init__(*names, **how)
        self.group = group
        if self.type is click.STRING:
            self.type = _Text()


class Command(click.Command):
    """A command whose options ``--help`` lists by groups: the main ones, and with ``--help-all`` all."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, those without a group last."""
        brief = len(self.params) > _MAX_BRIEF and not ctx.meta.get(_ALL)
        listed: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record and (not brief or param.name in _MAIN):
                listed[getattr(param, "group", "Options")].append(record)
        for group, records in listed.items():
            if records:
                with formatter.section(group):
                    formatter.write_dl(records)


def _print_all(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        context.meta[_ALL] = True
        echo(context.get_help())
        context.exit()


def option(*names: str, group: str = "Options", **how: Any) -> Callable[..., Any]:
    """Give a command an option of a group.

    >>> command = click.command(cls=Command)(option("--how", group="Input")(lambda how: None))
    >>> command.main(["--how", "x" * 2000], standalone_mode=False)
    Traceback (most recent call last):
    allalike.errors.OptionError: --how has 2,000 characters. The maximum is 1,000.
    """
    return click.option(*names, cls=Option, group=group, **how)


def command(name: str | None = None, **how: Any) -> Callable[..., Any]:
    """Make a command with grouped options; without arguments it prints its help.

    >>> made = command("one")(take("Input", "Columns", "Large data")(lambda **options: None))
    >>> made.main(["--help-all"], standalone_mode=False, prog_name="one")  # doctest: +ELLIPSIS
    Usage: one [OPTIONS]
    <BLANKLINE>
    Input:
      --domain TEXT     Label type, such as real or 'categorical(classes=4)' ...
    """

    def decorate(function: Callable[..., Any]) -> click.Command:
        made: click.Command = click.command(name, cls=Command, **{"no_args_is_help": True, **how})(function)
        if len(made.params) > _MAX_BRIEF:
            all_: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False, "callback": _print_all}
            made.params.append(Option(["--help-all"], help="Show all options.", **all_))
        return made

    return decorate


_FLAG: dict[str, Any] = {"is_flag": True}
_MANY: dict[str, Any] = {"multiple": True}
_SHOWN: dict[str, Any] = {"show_default": True}
OFF: dict[str, Any] = {"flag_value": False, "is_flag": True, "default": True}  # of a flag that turns something off
_DECLARED: Mapping[str, Mapping[str, tuple[str, dict[str, Any]]]] = {
    "Input": {
        "--domain": ("Label type, such as real or 'categorical(classes=4)' (default: inferred).", {}),
        "--distance": ("Distance between labels; see 'allalike list domains'.", {}),
        "--rule": ("Rule that aggregates a task's labels; see 'allalike list rules'.", {}),
        "--fields": ("Fields of records with their types, such as 'name:text, year:real'.", {}),
        "--per-task": ("Make every task a problem of its own, with its own weights.", _FLAG),
        "--tool": ("Tool that exported the files (default: detected); see 'allalike list formats'.", {}),
        "--question": ("Question of an export to read.", {}),
        "--missing": ("Rows without a label: error or drop.", {"default": "error", **_SHOWN}),
        "--na-values": ("Word for a missing label, instead of NA, null and the like.", _MANY),
        "--abstain-label": ("Label that means 'no answer', such as --abstain-label=-1.", _MANY),
        "--label-map": ("Meaning of spellings: a file with the columns from and to.", {}),
        "--encoding": ("Character encoding, such as latin-1 (default: detected).", {}),
        "--decimal": ("Decimal mark: a point or a comma.", {"default": "."}),
        "--table": ("Table of a database.", {}),
        "--query": ("SELECT statement whose rows are read from a database.", {"type": click.UNPROCESSED}),
        "--force": ("Continue despite data warnings.", _FLAG),
    },
    "Columns": {
        "--worker": ("Column of the worker (default: inferred).", {}),
        "--task": ("Column of the task (default: inferred).", {}),
        "--label": ("Column of the label; several, or 'Answer.*', give a result for each.", _MANY),
        "--worker-from": ("Source of the worker, if each has a file: filename.", {}),
        "--wide": ("Matrix with one row per task ('tasks') or per worker ('workers').", {}),
        "--duplicates": (
            "Several labels by a worker for a task: first, last, error, add (rankings) or set (one answer)."
            " [default: first; add]",
            {},
        ),
        "--include": ("Columns of a matrix that are answers, such as 'Q*'.", _MANY),
        "--exclude": ("Columns of a matrix that are not answers.", _MANY),
        "--layout": ("Masks in a folder: tasks/workers or workers/tasks (default: inferred from names).", {}),
    },
    "Gold": {
        "--gold": (
            "Gold labels, as evidence and to measure errors: a file with task and label, column:NAME of FILES, or"
            " export for those that a tool marks.",
            {},
        ),
        "--gold-columns": ("Columns of the gold labels: task=...,label=... .", {}),
        "--gold-map": ("Mapping of gold labels to answers: 0=no,1=yes, a file with from and to, or same.", {}),
    },
    "Method": {
        "--seed": ("Random seed for breaking ties.", {"type": int, "default": 0, **_SHOWN}),
        "--ties": ("Ties: random (by the seed) or first.", {"default": "random", **_SHOWN}),
    },
    "Format": {
        "--format": ("Format of the tables: csv or parquet.", {"default": "csv", **_SHOWN}),
    },
    "Tables": {
        "--safe-csv": ("Put an apostrophe before texts that a spreadsheet takes for formulas.", _FLAG),
    },
    "Overwrite": {
        "--overwrite": ("Replace files that allalike did not write. Inputs are never replaced.", _FLAG),
    },
    "Json": {
        "--json": ("Print the summary as JSON on standard output.", _FLAG),
    },
    "Quiet": {
        "--quiet": ("Print errors only (and JSON, with --json).", _FLAG),
    },
    "Large data": {
        "--engine": ("Engine: memory, disk or spark (default: memory, and disk for large files).", {}),
        "--memory": ("Memory of the disk engine, such as 2GB (default: half of the free).", {}),
        "--work-dir": ("Folder of the disk engine's work folder (default: the system's).", {}),
        "--spark-master": ("Address of Spark, such as spark://host:7077 (default: spark-submit's, or local[*]).", {}),
    },
}
_NAMES = {"--json": ("--json", "as_json"), "--quiet": ("-q", "--quiet"), "--format": ("--format", "file_format")}


def take(*groups: str, files: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of groups, and perhaps FILES; *Output* is --json and --quiet.

    >>> made = click.command(cls=Command)(take("Large data", files=True)(lambda **options: None))
    >>> [parameter.name for parameter in made.params]
    ['files', 'engine', 'memory', 'work_dir', 'spark_master']
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        parts = [part for group in groups for part in (("Json", "Quiet") if group == "Output" else (group,))]
        declared = [(group, *each) for group in parts for each in _DECLARED[group].items()]
        for group, name, (text, how) in reversed(declared):
            shown = group if group in GROUPS else "Output"
            function = option(*_NAMES.get(name, (name,)), group=shown, help=text, **how)(function)
        return click.argument("files", nargs=-1, required=True)(function) if files else function

    return decorate


def name_answers(files: tuple[str, ...], options: Mapping[str, Any]) -> Scan:
    """Return how files are to be read, except for labels in several columns."""
    from allalike.readers import READ_OPTIONS, scan

    choices = {name: options[name] for name in ("distance", "rule") if options[name] is not None}
    named = {role: options[role] for role in ("worker", "task") if options[role] is not None}
    how = {name: options[name] for name in ("domain", *READ_OPTIONS) if options.get(name) not in ((), None)}
    if options["fields"] is not None:
        how["domain"] = _name_record(options["fields"], options["domain"])
    return replace(scan(list(files), **how, columns=named), choices=choices)


def _name_record(fields: str, domain: str | None) -> Domain:
    """Return the record that has these fields."""
    from allalike.domains import DOMAINS, Record

    kind = make(domain or Record.name, DOMAINS, "domain")
    if kind.name != Record.name:
        raise OptionError(f"--fields names the fields of records, but --domain is {kind.name}. Leave one of them out.")
    return replace(kind, fields=fields)  # type: ignore[call-arg]


def open_answers(source: Scan, options: Mapping[str, Any]) -> tuple[Answers | Scan, dict[str, Any]]:
    """Return answers, and the gold options; both are read here if every task is a problem of its own."""
    columns = read_roles(options["gold_columns"])
    named = {"gold_columns": columns or None, "gold_map": options["gold_map"]}
    if not options["per_task"]:
        return source, {"gold": options["gold"], **named}
    from allalike.readers import Scan
    from allalike.sources import open_source

    answers, known = open_source(source, options["gold"], **named)
    whole = answers.read() if isinstance(answers, Scan) else answers
    return whole.per_task(), {"gold": known}


def name_engine(options: Mapping[str, Any]) -> Engine | None:
    """Return the engine that the options name, if they do."""
    from allalike.engines import ENGINES

    chosen = {name: options[name] for name in _ENGINE_OF_OPTION if options[name] is not None}
    name = options["engine"] or next((_ENGINE_OF_OPTION[each] for each in chosen), None)
    if name is None:
        return None
    engine = make(name, ENGINES, "engine")
    for each in chosen:
        if _ENGINE_OF_OPTION[each] != engine.name:
            raise OptionError(f"--{each} is for --engine {_ENGINE_OF_OPTION[each]}, not for {engine.name}.")
    return replace(engine, **chosen)  # type: ignore[type-var]


def find_typed() -> tuple[str, ...]:
    """Return the words that were typed behind the name of the program, without options of what is printed."""
    typed = click.get_current_context().find_root().obj or ()
    return tuple(word for word in typed if word not in ("--json", "-q", "--quiet"))


def read_roles(columns: str | None) -> dict[str, str]:
    """Parse the columns of gold labels.

    >>> read_roles("task=photo, label=what")
    {'task': 'photo', 'label': 'what'}
    """
    pairs = {}
    for part in re.split(r",(?=\s*\w+\s*=)", columns) if columns else ():  # names may have commas
        role, equals, name = part.partition("=")
        if not equals:
            raise OptionError(f"--gold-columns is {columns!r}. Write it as task=...,label=... .")
        pairs[role.strip()] = name.strip()
    return pairs


# Messages of the library as the command line prints them, with flags in place of options of Python.


def write_flags(message: str) -> str:
    """Name the options of a message of the library as flags.

    >>> write_flags("Use domain='real(distance=absolute)', or leave per_task() out.")
    "Use --domain 'real(distance=absolute)', or leave --per-task out."
    """
    return write_options(message, write_flag)


def list_notes(summary: Summary) -> list[str]:
    """List what was inferred or excluded, with the flag that overrides it, and data warnings."""
    notes = [*map(Remark, summary.remarks), *describe_warnings(summary)]
    return [*map(dress, describe_input(summary)), *(f"Note: {dress(each)}" for each in notes)]


def dress(remark: Remark) -> str:
    r"""Format a message with its flag.

    >>> dress(Remark("Detected: 'who' is the worker.", "columns", {"worker": "who", "task": "a b"}))
    "Detected: 'who' is the worker (--worker who --task 'a b')."
    >>> dress(Remark("Copies: ada b, bob (screening=False counts each).", names=["ada b", "bob"]))
    'Copies: ada\x00b, bob (--no-screening counts each).'
    """
    said = visible(write_flags(remark.sentence))
    for name in remark.names:
        said = said.replace(visible(name), keep_whole(name))
    flag = f" ({visible(write_flag(remark.option, remark.value))})." if remark.option else ""
    return f"{said.removesuffix('.')}{flag}" if flag else said
