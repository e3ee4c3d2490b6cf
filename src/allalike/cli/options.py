"""Options that commands share: what to read, how ties are drawn, and what is printed."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import click

from allalike._core.options import check_length
from allalike._core.registry import make
from allalike._core.words import write_options
from allalike.cli.console import keep_whole, visible
from allalike.errors import OptionError
from allalike.telling.answers import remark_answers, remark_doubts
from allalike.telling.commands import write_flag
from allalike.telling.remark import Remark

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from allalike.answers import Answers
    from allalike.domains import Domain
    from allalike.engines import Engine
    from allalike.readers import Scan
    from allalike.telling.summary import Summary

_ENGINE_OF_OPTION = {"memory": "disk", "folder": "disk", "master": "spark"}
_READ_OPTIONS = (
    click.argument("files", nargs=-1, required=True),
    click.option("--domain", help="The kind of label, such as real or 'categorical(classes=4)'. Guessed if not given."),
    click.option("--distance", help="How far two labels are apart; 'allalike domains' lists what each kind has."),
    click.option("--rule", help="How a task's labels become one; 'allalike rules' lists them."),
    click.option(
        "--fields",
        help="Of records: the fields with their kinds, such as 'name:text, year:real'; they may be columns.",
    ),
    click.option("--per-task", is_flag=True, help="Make every task a problem of its own, with its own weights."),
    click.option("--worker", help="The column that says who answered. Recognised if not given."),
    click.option("--task", help="The column that says what was asked."),
    click.option(
        "--label",
        multiple=True,
        help="The column that says what was answered; several, or 'Answer.*', for a result for each.",
    ),
    click.option("--columns", help="The three of them in short: worker=...,task=...,label=... ."),
    click.option("--worker-from", help="Where each worker has a file: filename."),
    click.option("--from", "tool", help="The tool that wrote the files; 'allalike formats' lists them. Recognised."),
    click.option("--tag", help="Which of several questions of an export to read."),
    click.option("--wide", help="The file is a matrix: one row per task ('tasks') or one row per worker ('workers')."),
    click.option(
        "--repeats",
        help="A worker's further rows for a task: first, last, error, add (rankings), or set if they are one answer."
        " [default: first; add]",
    ),
    click.option("--only", multiple=True, help="Which columns of a matrix are answers, such as 'Q*'."),
    click.option("--skip", multiple=True, help="Which columns of a matrix are no answers."),
    click.option("--layout", help="How masks lie in a folder: tasks/workers or workers/tasks. Told by names."),
    click.option("--missing", default="error", help="Rows without a label: error or drop.", show_default=True),
    click.option("--na", multiple=True, help="What stands for no label, instead of NA, null and the like."),
    click.option("--abstain", multiple=True, help="A label that means 'no answer', such as --abstain=-1."),
    click.option("--label-map", help="What spellings mean: a file with the columns from and to."),
    click.option("--encoding", help="How characters are written, such as latin-1. Recognised if not given."),
    click.option("--table", help="The table of a database to read."),
    click.option("--query", type=click.UNPROCESSED, help="SELECT statement whose rows are read from a database."),
    click.option("--decimal", default=".", help="What stands before fractions: a point or a comma."),
    click.option("--force", is_flag=True, help="Go on with answers that are hardly what was meant."),
)
_ENGINE_OPTIONS = (
    click.option("--engine", help="Where it runs: memory, disk or spark. By default memory, and disk for large files."),
    click.option("--memory", help="How much memory the disk engine may use, such as 2GB. By default half of the free."),
    click.option("--folder", help="Where the disk engine puts its work folder. By default where temporary files go."),
    click.option(
        "--master",
        help="Where Spark runs, such as spark://host:7077. By default as spark-submit says, or here: local[*].",
    ),
)
_SOLVE_OPTIONS = (
    *_ENGINE_OPTIONS,
    click.option(
        "--gold",
        help="Known truths, as evidence and to measure errors: a file with task and label, column:NAME of FILES, or"
        " export for what the tool marks that wrote FILES.",
    ),
    click.option("--gold-columns", help="Which columns of the gold are which: task=...,label=... ."),
    click.option(
        "--gold-map",
        help="Mapping of gold labels to answers: 0=no,1=yes, a file with from and to, or same.",
    ),
    click.option("--seed", type=int, default=0, help="Which draw to take among tied labels.", show_default=True),
    click.option(
        "--ties",
        default="random",
        help="Among tied labels: random (by the seed) or first.",
        show_default=True,
    ),
)
_WRITE_OPTIONS = (
    click.option(
        "--overwrite",
        is_flag=True,
        help="Replace files that allalike did not write. Inputs are never replaced.",
    ),
)
_TABLE_OPTIONS = (
    click.option(
        "--safe-csv",
        is_flag=True,
        help="Put an apostrophe before texts that a spreadsheet takes for formulas, such as =1+1.",
    ),
)
_PRINT_OPTIONS = (
    click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON on standard output."),
    click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors (and JSON, where asked for)."),
)


class _Text(click.types.StringParamType):
    """Text that is no longer than options are."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return check_length(super().convert(value, param, ctx), param.opts[-1] if param else "An option")


def limit_options(command: click.Command) -> None:
    """Refuse texts in the place of options that are longer than any that somebody means.

    >>> command = click.Command("x", params=[click.Option(["--how"])])
    >>> limit_options(command)
    >>> command.main(["--how", "x" * 2000], standalone_mode=False)
    Traceback (most recent call last):
    allalike.errors.OptionError: --how is written with 2,000 characters. It may have 1,000 at most.
    """
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        limit_options(inner)
    for option in command.params:
        if isinstance(option, click.Option) and option.type is click.STRING:
            option.type = _Text()


def take_read_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command FILES, and the options that say how they are read.

    >>> command = click.command(take_read_options(lambda **options: None))
    >>> [parameter.name for parameter in command.params][:3]
    ['files', 'domain', 'distance']
    """
    return _with(_READ_OPTIONS, command)


def take_engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of where it runs.

    >>> [parameter.name for parameter in click.command(take_engine_options(lambda **options: None)).params]
    ['engine', 'memory', 'folder', 'master']
    """
    return _with(_ENGINE_OPTIONS, command)


def take_solve_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of how answers are solved.

    >>> [parameter.name for parameter in click.command(take_solve_options(lambda **options: None)).params]
    ['engine', 'memory', 'folder', 'master', 'gold', 'gold_columns', 'gold_map', 'seed', 'ties']
    """
    return _with(_SOLVE_OPTIONS, command)


def take_write_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the option of what may be replaced.

    >>> [parameter.name for parameter in click.command(take_write_options(lambda **options: None)).params]
    ['overwrite']
    """
    return _with(_WRITE_OPTIONS, command)


def take_table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the option of how texts are written in tables.

    >>> [parameter.name for parameter in click.command(take_table_options(lambda **options: None)).params]
    ['safe_csv']
    """
    return _with(_TABLE_OPTIONS, command)


def take_print_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of what is printed.

    >>> [parameter.name for parameter in click.command(take_print_options(lambda **options: None)).params]
    ['as_json', 'quiet']
    """
    return _with(_PRINT_OPTIONS, command)


def _with(options: tuple[Callable[..., Any], ...], command: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a command with options; as with stacked decorators, the last is applied first."""
    return reduce(lambda decorated, option: option(decorated), reversed(options), command)


def name_answers(files: tuple[str, ...], options: Mapping[str, Any]) -> Scan:
    """Name files as the options say, but for labels in several columns."""
    from allalike.readers import READ_OPTIONS, scan

    choices = {name: options[name] for name in ("distance", "rule") if options[name] is not None}
    named = {role: options[role] for role in ("worker", "task") if options[role] is not None}
    how = {name: options[name] for name in ("domain", *READ_OPTIONS) if options[name] not in ((), None)}
    columns = read_roles(options["columns"], "--columns", "worker=...,task=...,label=...")
    if options["fields"] is not None:
        how["domain"] = _name_record(options["fields"], options["domain"])
    for role in columns:
        if options.get(role):
            raise OptionError(f"--columns and --{role} both name the {role}. Leave one of them out.")
    return replace(scan(list(files), **{**how, "columns": {**columns, **named}}), choices=choices)


def _name_record(fields: str, domain: str | None) -> Domain:
    """Return the record that has these fields."""
    from allalike.domains import DOMAINS, Record

    kind = make(domain or Record.name, DOMAINS, "domain")
    if kind.name != Record.name:
        raise OptionError(f"--fields names the fields of records, but --domain is {kind.name}. Leave one of them out.")
    return replace(kind, fields=fields)  # type: ignore[call-arg]


def open_answers(source: Scan, options: Mapping[str, Any]) -> tuple[Answers | Scan, dict[str, Any]]:
    """Return answers, and how their gold is named; both are read here if every task is a problem of its own."""
    gold = options["gold"]
    columns = read_roles(options["gold_columns"], "--gold-columns", "task=...,label=...")
    named = {"gold_columns": columns or None, "gold_map": options["gold_map"]}
    if not options["per_task"]:
        return source, {"gold": gold, **named}
    from allalike.readers import Scan
    from allalike.result.inputs.opening import open_source

    answers, known = open_source(source, gold, **named)
    whole = answers.read() if isinstance(answers, Scan) else answers
    return whole.per_task(), {"gold": known}


def name_engine(options: Mapping[str, Any]) -> Engine | None:
    """Return the engine that the options name, if they do."""
    from allalike.engines import ENGINES

    chosen = {option: options[option] for option in _ENGINE_OF_OPTION if options[option] is not None}
    name = options["engine"] or next((_ENGINE_OF_OPTION[option] for option in chosen), None)
    if name is None:
        return None
    engine = make(name, ENGINES, "engine")
    for option in chosen:
        if _ENGINE_OF_OPTION[option] != engine.name:
            raise OptionError(f"--{option} is for --engine {_ENGINE_OF_OPTION[option]}, not for {engine.name}.")
    return replace(engine, **chosen)  # type: ignore[type-var]


def find_typed() -> tuple[str, ...]:
    """Return the words that were typed behind the name of the program."""
    return tuple(click.get_current_context().find_root().obj or ())


def read_roles(columns: str | None, flag: str, form: str) -> dict[str, str]:
    """Read worker=...,task=...,label=... .

    >>> read_roles("worker=who, label=what", "--columns", "worker=...,task=...,label=...")
    {'worker': 'who', 'label': 'what'}
    """
    pairs = {}
    for part in re.split(r",(?=\s*\w+\s*=)", columns) if columns else ():  # names may have commas
        role, equals, name = part.partition("=")
        if not equals:
            raise OptionError(f"{flag} is {columns!r}. Write it as {form} .")
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
    """Say what was guessed or set aside, with the flag that overrides it."""
    notes = [*map(Remark, summary.remarks), *remark_doubts(summary)]
    return [*map(dress, remark_answers(summary)), *(f"Note: {dress(each)}" for each in notes)]


def dress(remark: Remark) -> str:
    r"""Write a remark with its flag.

    >>> dress(Remark("Recognised: 'who' is the worker.", "columns", {"worker": "who", "task": "a b"}))
    "Recognised: 'who' is the worker (--columns 'worker=who,task=a b')."
    >>> dress(Remark("Copies: ada b, bob (plain=True counts each).", names=["ada b", "bob"]))
    'Copies: ada\x00b, bob (--plain counts each).'
    """
    said = visible(write_flags(remark.sentence))
    for name in (*remark.names, *remark.words):
        said = said.replace(visible(name), keep_whole(name))
    return f"{said.removesuffix('.')} ({visible(_flag(remark))})." if remark.option else said


def _flag(remark: Remark) -> str:
    if isinstance(remark.value, dict):
        return f"--{remark.option} {shlex.quote(','.join(f'{role}={name}' for role, name in remark.value.items()))}"
    return write_flag(remark.option, remark.value)
