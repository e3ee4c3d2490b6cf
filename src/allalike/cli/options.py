"""Options of the commands, declared once, in the groups of ``--help``."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from allalike._core.options import check_length
from allalike._core.registry import make
from allalike._core.text_format import write_options
from allalike.cli.console import echo, keep_whole, visible
from allalike.errors import OptionError
from allalike.result.commands import write_flag
from allalike.result.messages import Message, describe_input, describe_warnings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from allalike.answers import Answers
    from allalike.domains import Domain
    from allalike.engines import Engine
    from allalike.readers import Scan
    from allalike.result.summary import Summary

GROUPS = ("Input", "Columns", "Gold", "Method", "Panel", "Output", "Large data", "Options")
_ALL, _MAX_BRIEF = "allalike.help_all", 20
_MAIN = (  # options in the short help
    *("domain", "worker", "task", "label", "wide", "gold", "method", "methods", "min_confidence", "output", "as_json"),
    *("force", "engine", "help", "help_all", "by", "positive", "baseline", "fail_under", "prices"),
)
_ENGINE_OF_OPTION = {"memory": "disk", "work_dir": "disk", "spark_master": "spark"}


class _Text(click.types.StringParamType):
    """Text of limited length."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return check_length(super().convert(value, param, ctx), param.opts[-1] if param else "An option")


class Option(click.Option):
    """Option with a group."""

    def __init__(self, *names: Any, group: str = "Options", **how: Any) -> None:
        super().__init__(*names, **how)
        self.group = group
        if self.type is click.STRING:
            self.type = _Text()


class Command(click.Command):
    """Command with options in groups: ``--help`` lists the main ones, and ``--help-all`` all."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, with those without a group last."""
        brief = len(self.params) > _MAX_BRIEF and not ctx.meta.get(_ALL)
        listed: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
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
    """Return a decorator that adds an option with a group to a command.

    >>> command = click.command(cls=Command)(option("--how", group="Input")(lambda how: None))
    >>> command.main(["--how", "x" * 2000], standalone_mode=False)
    Traceback (most recent call last):
    allalike.errors.OptionError: --how has 2,000 characters. The maximum is 1,000.
    """
    return click.option(*names, cls=Option, group=group, **how)


def command(name: str | None = None, **how: Any) -> Callable[..., Any]:
    """Return a decorator for a command with grouped options, which prints its help without arguments.

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
OFF: dict[str, Any] = {"flag_value": False, "is_flag": True, "default": True}  # for flags that disable a feature
_DECLARED: Mapping[str, Mapping[str, tuple[str, dict[str, Any]]]] = {
    "Input": {
        "--domain": ("Label type, such as real or 'categorical(classes=4)' (default: inferred).", {}),
        "--distance": ("Distance between labels; see 'allalike list domains'.", {}),
        "--rule": ("Rule that aggregates the labels of a task; see 'allalike list rules'.", {}),
        "--fields": ("Fields of records with their types, such as 'name:text, year:real'.", {}),
        "--per-task": ("Weight the workers separately for each task.", _FLAG),
        "--tool": ("Tool that exported the files (default: detected); see 'allalike list formats'.", {}),
        "--question": ("Question of an export to read.", {}),
        "--missing": ("Rows without a label: error or drop.", {"default": "error", **_SHOWN}),
        "--na-values": ("Word for a missing label, instead of NA, null, ... (repeatable).", _MANY),
        "--abstain-label": ("Label that means 'no answer', such as --abstain-label=-1.", _MANY),
        "--label-map": ("File that maps spellings of labels (columns from and to).", {}),
        "--encoding": ("Character encoding, such as latin-1 (default: detected).", {}),
        "--decimal": ("Decimal mark: . or , (default: .).", {"default": "."}),
        "--table": ("Table of a database.", {}),
        "--query": ("SELECT statement for a database.", {"type": click.UNPROCESSED}),
        "--force": ("Continue despite data warnings.", _FLAG),
    },
    "Columns": {
        "--worker": ("Column of the worker (default: inferred).", {}),
        "--task": ("Column of the task (default: inferred).", {}),
        "--label": ("Column of the label; several, such as 'Answer.*', give a result each.", _MANY),
        "--worker-from": ("Source of worker ids if each worker has a file: filename.", {}),
        "--wide": ("Matrix with one row per task ('tasks') or per worker ('workers').", {}),
        "--duplicates": ("Repeated answers: first (default), last, error, add (default for rankings) or set.", {}),
        "--include": ("Columns of a matrix with answers, such as 'Q*'.", _MANY),
        "--exclude": ("Columns of a matrix without answers.", _MANY),
        "--layout": ("Masks in a folder: tasks/workers or workers/tasks (default: inferred from names).", {}),
    },
    "Gold": {
        "--gold": ("Gold labels: a file with task and label, column:NAME, or export (marked by the tool).", {}),
        "--gold-columns": ("Columns of the gold file: task=...,label=... .", {}),
        "--gold-map": ("Map from gold labels to answers: 0=no,1=yes, a file (from, to), or same.", {}),
    },
    "Method": {
        "--seed": ("Random seed for breaking ties.", {"type": int, "default": 0, **_SHOWN}),
        "--ties": ("Tie-breaking rule: random or first.", {"default": "random", **_SHOWN}),
    },
    "Format": {
        "--format": ("Format of the tables: csv or parquet.", {"default": "csv", **_SHOWN}),
    },
    "Tables": {
        "--safe-csv": ("Prefix texts that look like formulas with an apostrophe.", _FLAG),
    },
    "Overwrite": {
        "--overwrite": ("Replace files that allalike did not write, except inputs.", _FLAG),
    },
    "Json": {
        "--json": ("Print the summary as JSON on standard output.", _FLAG),
    },
    "Quiet": {
        "--quiet": ("Print errors only (and JSON, with --json).", _FLAG),
    },
    "Large data": {
        "--engine": ("Engine: memory, disk or spark (default: memory, and disk for large files).", {}),
        "--memory": ("Memory of the disk engine, such as 2GB (default: half of free memory).", {}),
        "--work-dir": ("Parent of the disk engine's work folder (default: system).", {}),
        "--spark-master": ("Spark master, such as spark://host:7077 (default: spark-submit's, or local[*]).", {}),
    },
}
_NAMES = {"--json": ("--json", "as_json"), "--quiet": ("-q", "--quiet"), "--format": ("--format", "file_format")}


def take(*groups: str, files: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds the options of groups, and optionally FILES; *Output* is --json and --quiet.

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
    """Return a scan of files with the options for reading, except label columns."""
    from allalike.readers import READ_OPTIONS, scan

    choices = {name: options[name] for name in ("distance", "rule") if options[name] is not None}
    named = {role: options[role] for role in ("worker", "task") if options[role] is not None}
    how = {name: options[name] for name in ("domain", *READ_OPTIONS) if options.get(name) not in ((), None)}
    if options["fields"] is not None:
        how["domain"] = _name_record(options["fields"], options["domain"])
    return replace(scan(list(files), **how, columns=named), choices=choices)


def _name_record(fields: str, domain: str | None) -> Domain:
    """Return a record with these fields."""
    from allalike.domains import DOMAINS, Record

    kind = make(domain or Record.name, DOMAINS, "domain")
    if kind.name != Record.name:
        raise OptionError(f"--fields is for records, but --domain is {kind.name}. Leave out one of the two options.")
    return replace(kind, fields=fields)  # type: ignore[call-arg]


def open_answers(source: Scan, options: Mapping[str, Any]) -> tuple[Answers | Scan, dict[str, Any]]:
    """Return answers and gold options; read both if workers are weighted per task."""
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
    """Return the engine named by the options, or None."""
    from allalike.engines import ENGINES

    chosen = {name: options[name] for name in _ENGINE_OF_OPTION if options[name] is not None}
    name = options["engine"] or next((_ENGINE_OF_OPTION[each] for each in chosen), None)
    if name is None:
        return None
    engine = make(name, ENGINES, "engine")
    for each in chosen:
        if _ENGINE_OF_OPTION[each] != engine.name:
            raise OptionError(f"--{each} needs --engine {_ENGINE_OF_OPTION[each]}, not {engine.name}. Leave one out.")
    return replace(engine, **chosen)  # type: ignore[type-var]


def find_typed() -> tuple[str, ...]:
    """Return the typed words after the name of the program, without --json and --quiet."""
    typed = click.get_current_context().find_root().obj or ()
    return tuple(word for word in typed if word not in ("--json", "-q", "--quiet"))


def read_roles(columns: str | None) -> dict[str, str]:
    """Parse the columns of gold labels.

    >>> read_roles("task=photo, label=what")
    {'task': 'photo', 'label': 'what'}
    """
    pairs = {}
    for part in re.split(r",(?=\s*\w+\s*=)", columns) if columns else ():  # names may contain commas
        role, equals, name = part.partition("=")
        if not equals:
            raise OptionError(f"--gold-columns {columns!r} is not valid. Write it as task=...,label=... .")
        pairs[role.strip()] = name.strip()
    return pairs


# Messages of the library, with flags instead of Python options.


def write_flags(message: str) -> str:
    """Replace Python options in a message by flags.

    >>> write_flags("Use domain='real(distance=absolute)', or leave per_task() out.")
    "Use --domain 'real(distance=absolute)', or leave --per-task out."
    """
    return write_options(message, write_flag)


def list_notes(summary: Summary) -> list[str]:
    """List inferred settings and exclusions, with the flags that override them, and data warnings."""
    notes = [*map(Message, summary.messages), *describe_warnings(summary)]
    return [*map(format_message, describe_input(summary)), *(f"Note: {format_message(each)}" for each in notes)]


def format_message(remark: Message) -> str:
    r"""Format a message with its flag.

    >>> format_message(Message("Detected: 'who' is the worker.", "columns", {"worker": "who", "task": "a b"}))
    "Detected: 'who' is the worker (--worker who --task 'a b')."
    >>> format_message(Message("Copies: ada b, bob (screening=False counts each).", names=["ada b", "bob"]))
    'Copies: ada\x00b, bob (--no-screening counts each).'
    """
    said = visible(write_flags(remark.sentence))
    for name in remark.names:
        said = said.replace(visible(name), keep_whole(name))
    flag = f" ({visible(write_flag(remark.option, remark.value))})." if remark.option else ""
    return f"{said.removesuffix('.')}{flag}" if flag else said
