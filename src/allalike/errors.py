"""Errors and warnings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from allalike._credentials import hide_secrets

__all__ = [
    "AliasWarning",
    "AllalikeError",
    "ColumnError",
    "ConvergenceWarning",
    "DataError",
    "DataNote",
    "DataWarning",
    "EngineError",
    "GoldError",
    "InputError",
    "LabelError",
    "OptionError",
    "OutputError",
    "PluginError",
    "Proposal",
    "TooLargeError",
    "UnknownNameError",
    "UnsupportedError",
]


class AllalikeError(Exception):
    """Base class of all errors that a user can cause; messages hide passwords in addresses.

    >>> print(OptionError("There is no https://ada:secret@host/a.csv."))
    There is no https://***@host/a.csv.
    """

    def __init__(self, *what: Any) -> None:
        super().__init__(*(hide_secrets(each) if isinstance(each, str) else each for each in what))


@dataclass(frozen=True)
class Proposal:
    """Options of `allalike.read` and `allalike.discover` that resolve an ambiguity.

    Parameters
    ----------
    options
        Options by name.
    preview
        Result of trying these options, such as "2 classes, 9 workers, 100 tasks".
    score
        Score relative to other proposals, if known.
    files
        Files to read together, if several belong together; the given file comes first.

    >>> print(Proposal({"wide": "tasks", "question": "Sheet1"}, "2 classes, 9 workers"))
    wide='tasks', question='Sheet1'
    >>> print(Proposal({"worker_from": "filename"}, files=("ada.csv", "bob.csv")))
    answers=['ada.csv', 'bob.csv'], worker_from='filename'
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    preview: str = ""
    score: float | None = None
    files: tuple[str, ...] = ()

    def __str__(self) -> str:
        options = {**({"answers": list(self.files)} if self.files else {}), **self.options}
        return ", ".join(f"{name}={value!r}" for name, value in options.items())


class InputError(AllalikeError, ValueError):
    """Answers that cannot be read.

    Passing the ``options`` of the first of the ``proposals`` to `allalike.read` or `allalike.discover` resolves the
    error. The command line prints complete commands instead.

    >>> print(InputError("The labels may be numbers or classes.", domain="real"))
    The labels may be numbers or classes. Use domain='real'.
    >>> questions = [Proposal({"question": name}, f"{n} classes, 9 workers") for name, n in (("mood", 3), ("tone", 5))]
    >>> print(InputError("There are two questions.", proposals=questions))
    There are two questions.
    Use one of these, the most likely first:
      question='mood'  # 3 classes, 9 workers
      question='tone'  # 5 classes, 9 workers

    ``lines`` are printed below the message, for example rows of a table.
    """

    def __init__(
        self, what: str = "", *, lines: Sequence[str] = (), proposals: Sequence[Proposal] = (), **options: Any
    ) -> None:
        super().__init__(what)
        self.lines = tuple(lines)
        self.proposals = (*([Proposal(options)] if options else []), *proposals)

    @property
    def options(self) -> dict[str, Any]:
        """Options of the best proposal."""
        return dict(self.proposals[0].options) if self.proposals else {}

    def __str__(self) -> str:
        shown = "\n".join([str(self.args[0]), *self.lines])
        if len(self.proposals) > 1:
            return "\n".join([shown, "Use one of these, the most likely first:", *_list(self.proposals)])
        if not self.proposals:
            return shown
        return shown + ("\n" if self.lines else " ") + f"Use {self.proposals[0]}."


def _list(proposals: Sequence[Proposal]) -> list[str]:
    return [f"  {each}" + (f"  # {each.preview}" if each.preview else "") for each in proposals]


class ColumnError(InputError, LookupError):
    """A table in which a column is missing or ambiguous."""


class LabelError(InputError):
    """A label that does not fit the label type."""


class GoldError(InputError):
    """Gold labels that do not fit the answers."""


class UnknownNameError(AllalikeError, LookupError):
    """A method, label type, rule or engine that does not exist."""


class OptionError(AllalikeError, ValueError):
    """An invalid value of an option."""


class PluginError(AllalikeError, ImportError):
    """A plug-in of another package that cannot be used."""


class UnsupportedError(AllalikeError, ValueError):
    """Options that do not work together."""


class OutputError(AllalikeError, OSError):
    """A result that cannot be written."""


class DataError(AllalikeError, OSError):
    """A data set that is missing, or cannot be downloaded."""


class EngineError(AllalikeError, RuntimeError):
    """A cluster that does not start, or failed."""


class TooLargeError(AllalikeError, MemoryError):
    """Data that do not fit in memory."""


class ConvergenceWarning(UserWarning):
    """A method that stopped at its limit of rounds."""


class DataWarning(UserWarning):
    """Answers that were probably misread. The command line stops at this warning unless an option overrides it.

    >>> print(DataWarning("No task has two answers.", proposals=[Proposal({"wide": "tasks"}, "2 classes, 9 workers")]))
    No task has two answers.
    They can be read differently, the most likely first:
      wide='tasks'  # 2 classes, 9 workers
    """

    def __init__(self, what: str = "", *, proposals: Sequence[Proposal] = ()) -> None:
        super().__init__(what)
        self.proposals = tuple(proposals)

    def __str__(self) -> str:
        heading = ["They can be read differently, the most likely first:"] if self.proposals else []
        return "\n".join([str(self.args[0]), *heading, *_list(self.proposals)])


class DataNote(DataWarning):
    """A note on excluded rows or unusual input that does not stop the program."""


class AliasWarning(UserWarning):
    """A name from another library, which was replaced by the name in allalike."""
