"""The program `allalike` and its commands."""

from __future__ import annotations

import errno
import io
import os
import re
import signal
import sys
import traceback
from collections import UserDict
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import FrameType
from typing import Any, NoReturn, cast

import click

from allalike import __version__
from allalike.cli.console import BrokenOutputError, echo, hide_typed, replace_closed_streams, visible
from allalike.cli.lists import echo_json
from allalike.cli.options import write_flags
from allalike.errors import AllalikeError, ColumnError, DataWarning, InputError, OutputError, Proposal
from allalike.readers.column_names import COLUMN
from allalike.result.commands import LEFT_OUT, complete_command, describe_options, find_flags

_OUTPUT = re.compile(r"\b[Tt]he output\b")
_UNUSABLE_NAME = (errno.ENAMETOOLONG, errno.ENOTDIR, errno.ELOOP)
_MORE_MEMORY = "Use --engine disk, or remove columns that are not needed."
_OTHERWISE = ["This command has no option to change this. Correct the file, or run 'allalike discover' on all answers."]


class _Commands(UserDict[str, click.Command]):
    """Commands by name, imported at first use."""

    def __getitem__(self, name: str) -> click.Command:
        found: Any = self.data[name]
        if isinstance(found, str):
            module, _, function = found.partition(":")
            found = self.data[name] = getattr(import_module(f"allalike.cli.{module}"), function)
        return cast("click.Command", found)


_COMMANDS: Any = {
    "discover": "discover:discover",
    "update": "saved:update",
    "plan": "saved:plan_answers",
    "compare": "compare:compare",
    "jury": "jury:jury",
    "agreement": "agreement:agreement",
    "explain": "saved:explain",
    "serve": "serve:serve",
    "simulate": "simulate:simulate",
    "datasets": "datasets:datasets",
    "demo": "demo:demo",
    "list": "lists:list_",
}


_START = """\
Estimate correct labels from the answers of many people, models or sensors.

  allalike discover answers.csv   labels, worker quality and a report (columns worker, task, label)
  allalike demo                   run on a simulated crowd
  allalike jury verdicts.csv      a panel of LLM judges
  allalike --help                 all commands
"""
_SECTIONS = {
    "Labels": ("discover", "update", "plan", "compare"),
    "Quality": ("jury", "agreement", "explain"),
    "More": ("serve", "demo", "simulate", "datasets", "list"),
}


class Program(click.Group):
    """Commands, listed in sections."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command with the first sentence of its help."""
        for section, names in _SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(80)) for name in names])


@click.group(
    cls=Program,
    commands=_Commands(_COMMANDS),
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="%(version)s")
@click.pass_context
def app(context: click.Context) -> None:
    """Estimate the correct labels of tasks from the answers of unreliable workers, and the quality of each worker.

    Try 'allalike demo', which runs on a simulated crowd. For your own file, with one row per answer (worker, task,
    label), run: allalike discover FILE
    """
    if context.invoked_subcommand is None:
        echo(_START.rstrip())


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the program `allalike`."""
    run(app, arguments)


def run(command: click.Command, arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit: 0 success, 2 invalid input or call, 3 failed gate, 1 other errors."""
    signal.signal(signal.SIGTERM, _end)
    replace_closed_streams()
    hide_typed(_typed(arguments))
    try:
        code = command(arguments, standalone_mode=False, obj=_typed(arguments))
    except click.ClickException as error:
        said = io.StringIO()
        error.show(said)
        echo(said.getvalue().rstrip("\n"), err=True)
        sys.exit(error.exit_code)
    except click.Abort:
        echo("Aborted!", err=True)
        sys.exit(1)
    except (AllalikeError, DataWarning) as error:
        _stop_at(error, arguments)
    except MemoryError:
        _stop(f"Not enough memory. {_MORE_MEMORY}", 1)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _UNUSABLE_NAME:
            _stop_at(InputError(f"{error.filename} cannot be opened: {error.strerror}. Check the name."), arguments)
        if os.environ.get("ALLALIKE_DEBUG"):
            echo(traceback.format_exc().rstrip("\n"), err=True)
            sys.exit(1)
        _stop(f"{_describe(error)} Set ALLALIKE_DEBUG=1 for a traceback.", 1)
    sys.exit(code or 0)


def _stop_at(error: AllalikeError | DataWarning, arguments: Sequence[str] | None) -> NoReturn:
    """Print an error of input or call with commands that resolve it, and exit."""
    typed = _typed(arguments)
    message = str(error)
    lines: Sequence[str] = ()
    proposals: Sequence[Proposal] = ()
    if isinstance(error, InputError):
        message, lines, proposals = str(error.args[0]), error.lines, error.proposals
    elif isinstance(error, DataWarning):
        message, proposals = str(error.args[0]), (*error.proposals, Proposal({"force": True}, "continue anyway"))
        if not error.proposals and typed[0] != "update":  # update has no options for reading
            message += " Name the columns with --worker, --task and --label, or read a matrix with --wide."
    elif isinstance(error, OutputError):
        message = _OUTPUT.sub(r"\g<0> (-o)", message)
    if isinstance(error, BrokenOutputError):
        _stop(message, 1)
    if "--json" in typed:
        _print_json_error(typed, message, lines, proposals)
    commands = _offer(typed, proposals)
    if not commands and isinstance(error, ColumnError):
        commands = ["After correcting it, run:", f"  {complete_command(typed, {})}"]
    _stop(message, 2, commands, lines=lines)


def _describe(error: Exception) -> str:
    """Describe an unexpected error; a full or missing device can occur anywhere."""
    if isinstance(error, OSError) and error.strerror:
        return f"The operating system reports: {error.strerror}{f' ({error.filename})' if error.filename else ''}."
    return f"Unexpected error: {type(error).__name__}: {error}."


def _end(_: int, frame: FrameType | None) -> None:
    """Exit after removing work folders; a second signal ends immediately, because a finaliser may lose an exception.

    A signal during Python's own cleanup is ignored.
    """
    if _is_running(frame):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        sys.exit(143)


def _is_running(frame: FrameType | None) -> bool:
    """Return whether a frame belongs to the program, not to Python's cleanup."""
    while frame is not None and frame.f_back is not None:
        frame = frame.f_back
    return frame is not None and frame.f_code.co_name in ("<module>", "_run_module_as_main")


def _typed(arguments: Sequence[str] | None) -> Sequence[str]:
    return sys.argv[1:] if arguments is None else arguments


def _has_flags(typed: Sequence[str], options: Mapping[str, Any]) -> bool:
    """Return whether the typed command has flags for these options, and no other gold labels.

    >>> [_has_flags([name, "a.csv"], {"missing": "drop"}) for name in ("discover", "update")]
    [True, False]
    """
    gold = any(word.partition("=")[0] == "--gold" for word in typed)
    of_column = any(word.removeprefix("--gold=").startswith(COLUMN) for word in typed)
    if options.get("gold") and gold and not of_column:
        return False
    command = app.commands.get(typed[0])
    known = {flag for option in command.params for flag in option.opts} if command else {*find_flags(options)}
    return {flag for flag, values in find_flags(options).items() if values != LEFT_OUT} <= known


def _offer(typed: Sequence[str], proposals: Sequence[Proposal]) -> list[str]:
    """Return commands that resolve an error, the most likely first, each with a preview.

    >>> _offer(["discover", "a.csv"], [Proposal({"wide": "tasks"}, "2 classes, 3 workers")])
    ['Run:', '  allalike discover a.csv --wide tasks', '    (2 classes, 3 workers)']
    """
    able = [each for each in proposals if _has_flags(typed, each.options)]
    if not able:
        return _OTHERWISE if proposals else []
    lines = ["Run one of these, the most likely first:" if len(able) > 1 else "Run:"]
    for proposal in able:
        lines.append(f"  {complete_command(typed, proposal.options, proposal.files)}")
        lines += [f"    ({proposal.preview})"] if proposal.preview else []
    return lines


def _print_json_error(typed: Sequence[str], message: str, lines: Sequence[str], proposals: Sequence[Proposal]) -> None:
    """Print an error as JSON on standard output, with each suggestion as a command."""
    suggestions = [
        {
            "options": dict(each.options),
            "title": describe_options(each.options),
            "preview": each.preview,
            "files": list(each.files),
            "command": complete_command(typed, each.options, each.files),
        }
        for each in proposals
        if _has_flags(typed, each.options)
    ]
    shown = {"message": write_flags(message), "lines": list(map(write_flags, lines)), "suggestions": suggestions}
    echo_json("error", shown)


def _stop(message: str, code: int, commands: Sequence[str] = (), *, lines: Sequence[str] = ()) -> NoReturn:
    """Print an error with commands that resolve it, and exit."""
    shown = [write_flags(f"allalike: {message}"), *map(write_flags, lines), *commands]
    echo("\n".join(map(visible, shown)), err=True)
    sys.exit(code)
