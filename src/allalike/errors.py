"""Errors: what went wrong, what was given and what to do.

::

    AllalikeError
    ├── InputError (ValueError)             the answers cannot be read as they are
    │   ├── ColumnError (LookupError)       a column is missing, or there are two candidates for one
    │   ├── LabelError                      a label does not fit its domain
    │   └── GoldError                       the known truths do not fit the answers
    ├── UnknownNameError (LookupError)      no method, domain, rule or engine has this name
    ├── OptionError (ValueError)            an option has a value that makes no sense
    ├── PluginError (ImportError)           what another package offers cannot be used
    ├── UnsupportedError (ValueError)       these parts do not work together
    ├── OutputError (OSError)               the result cannot be written
    ├── DataError (OSError)                 a data set is not here, or cannot be fetched
    ├── EngineError (RuntimeError)          the cluster on which it was to run does not start, or gave up
    └── TooLargeError (MemoryError)         what was asked for does not fit in memory

    ConvergenceWarning (UserWarning)        a method stopped at its limit of rounds
    DataWarning (UserWarning)               the answers are hardly what was meant
    └── DataNote                            something was left out, or looks strange
    AliasWarning (UserWarning)               what was asked for has another name here
    ReportWarning (UserWarning)             something is missing from a report
"""

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
    "ReportWarning",
    "TooLargeError",
    "UnknownNameError",
    "UnsupportedError",
]


class AllalikeError(Exception):
    """The root of every error that a user can cause; its message has no secrets of addresses.

    >>> print(OptionError("There is no https://ada:secret@host/a.csv."))
    There is no https://***@host/a.csv.
    """

    def __init__(self, *what: Any) -> None:
        super().__init__(*(hide_secrets(each) if isinstance(each, str) else each for each in what))


@dataclass(frozen=True)
class Proposal:
    """Options that settle a question, as `allalike.read` and `allalike.discover` take them.

    Parameters
    ----------
    options
        The options.
    preview
        Result of a trial, such as "2 classes, 9 workers, 100 tasks".
    score
        Score relative to other proposals, if known.
    files
        All files to read together, the given one first, where others belong with it.

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
    """Answers that cannot be read as they are.

    The ``options`` answer the question: those of the first of the ``proposals``, as `allalike.read` and
    `allalike.discover` take them. They are named as in Python; the program writes complete commands instead.

    >>> print(InputError("The labels may be numbers or classes.", domain="real"))
    The labels may be numbers or classes. Use domain='real'.
    >>> questions = [Proposal({"question": name}, f"{n} classes, 9 workers") for name, n in (("mood", 3), ("tone", 5))]
    >>> print(InputError("There are two questions.", proposals=questions))
    There are two questions.
    Use one of these, the most likely first:
      question='mood'  # 3 classes, 9 workers
      question='tone'  # 5 classes, 9 workers

    ``lines`` show what was seen, such as rows of a table, below what is said.
    """

    def __init__(
        self, what: str = "", *, lines: Sequence[str] = (), proposals: Sequence[Proposal] = (), **options: Any
    ) -> None:
        super().__init__(what)
        self.lines = tuple(lines)
        self.proposals = (*([Proposal(options)] if options else []), *proposals)

    @property
    def options(self) -> dict[str, Any]:
        """The options that settle it, the best ones of those that are known."""
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
    """A label that does not fit its domain."""


class GoldError(InputError):
    """Known truths that do not fit the answers.

    Where there are several ``suggestions``, each is described with its options, and proposed, the best first.

    >>> print(GoldError("The gold does not fit.", suggestions=[("If 0 is no", {"gold_map": "0=no"})]))
    The gold does not fit.
    If 0 is no: gold_map='0=no'.
    """

    def __init__(
        self,
        what: str = "",
        *,
        lines: Sequence[str] = (),
        suggestions: Sequence[tuple[str, dict[str, Any]]] = (),
        **options: Any,
    ) -> None:
        proposals = [Proposal(taken, purpose) for purpose, taken in suggestions]
        super().__init__(what, lines=lines, proposals=proposals, **options)
        self.suggestions = tuple(suggestions)

    def __str__(self) -> str:
        if not self.suggestions:
            return super().__str__()
        told = (", ".join(f"{name}={value!r}" for name, value in options.items()) for _, options in self.suggestions)
        listed = (f"{purpose}: {options}." for (purpose, _), options in zip(self.suggestions, told, strict=True))
        return "\n".join([str(self.args[0]), *self.lines, *listed])


class UnknownNameError(AllalikeError, LookupError):
    """A name of a method, domain, rule or engine that does not exist."""


class OptionError(AllalikeError, ValueError):
    """A value of an option that makes no sense."""


class PluginError(AllalikeError, ImportError):
    """The object behind another package's entry point cannot be used."""


class UnsupportedError(AllalikeError, ValueError):
    """Parts that do not work together."""


class OutputError(AllalikeError, OSError):
    """A result that cannot be written."""


class DataError(AllalikeError, OSError):
    """A data set that is not here, or cannot be fetched."""


class EngineError(AllalikeError, RuntimeError):
    """A cluster that does not start, or gave up."""


class TooLargeError(AllalikeError, MemoryError):
    """Something that does not fit in memory."""


class ConvergenceWarning(UserWarning):
    """A method that stopped at its limit of rounds."""


class DataWarning(UserWarning):
    """Answers that are hardly what was meant: the program stops at them, unless it is told to go on.

    >>> print(DataWarning("No task has two answers.", proposals=[Proposal({"wide": "tasks"}, "2 classes, 9 workers")]))
    No task has two answers.
    They can be read otherwise, the best first:
      wide='tasks'  # 2 classes, 9 workers
    """

    def __init__(self, what: str = "", *, proposals: Sequence[Proposal] = ()) -> None:
        super().__init__(what)
        self.proposals = tuple(proposals)

    def __str__(self) -> str:
        heading = ["They can be read otherwise, the best first:"] if self.proposals else []
        return "\n".join([str(self.args[0]), *heading, *_list(self.proposals)])


class DataNote(DataWarning):
    """A note on excluded rows or unusual input that does not stop the program."""


class AliasWarning(UserWarning):
    """A name from elsewhere, for which the one that is used here was taken."""


class ReportWarning(UserWarning):
    """A report from which something is missing; the tables beside it are whole."""
