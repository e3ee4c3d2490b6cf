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
    LeftoverWarning (UserWarning)           something lies beside the output, and nobody knows whose it is
    NameWarning (UserWarning)               what was asked for has another name here
    ReportWarning (UserWarning)             something is missing from a report
"""

from collections.abc import Sequence
from typing import Any

__all__ = [
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
    "LeftoverWarning",
    "NameWarning",
    "OptionError",
    "OutputError",
    "PluginError",
    "ReportWarning",
    "TooLargeError",
    "UnknownNameError",
    "UnsupportedError",
]


class AllalikeError(Exception):
    """The root of every error that a user can cause.

    >>> issubclass(InputError, ValueError)
    True
    """


class InputError(AllalikeError, ValueError):
    """Answers that cannot be read as they are.

    What ``settles`` it are options as `allalike.read` and `allalike.discover` take them. They are named as in Python;
    the program writes the complete command instead.

    >>> print(InputError("The labels may be numbers or classes.", domain="real"))
    The labels may be numbers or classes. Say it with domain='real'.

    ``lines`` show what was seen, such as rows of a table, below what is said.
    """

    def __init__(self, what: str = "", *, lines: Sequence[str] = (), **settles: Any) -> None:
        super().__init__(what)
        self.lines = tuple(lines)
        self.settles = settles

    def __str__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.settles.items())
        shown = "\n".join([str(self.args[0]), *self.lines])
        if not options:
            return shown
        return shown + ("\n" if self.lines else " ") + f"Say it with {options}."


class ColumnError(InputError, LookupError):
    """A table in which a column is missing or ambiguous."""


class LabelError(InputError):
    """A label that does not fit its domain."""


class GoldError(InputError):
    """Known truths that do not fit the answers.

    Where there are several ``ways`` to go on, each is told with the options that take it, the best first.

    >>> print(GoldError("The gold does not fit.", ways=[("If 1 is added", {"gold_map": "+1"})]))
    The gold does not fit.
    If 1 is added: gold_map='+1'.
    """

    def __init__(
        self,
        what: str = "",
        *,
        lines: Sequence[str] = (),
        ways: Sequence[tuple[str, dict[str, Any]]] = (),
        **settles: Any,
    ) -> None:
        super().__init__(what, lines=lines, **(settles or (ways[0][1] if ways else {})))
        self.ways = tuple(ways)

    def __str__(self) -> str:
        if not self.ways:
            return super().__str__()
        told = (", ".join(f"{name}={value!r}" for name, value in options.items()) for _, options in self.ways)
        listed = (f"{purpose}: {options}." for (purpose, _), options in zip(self.ways, told, strict=True))
        return "\n".join([str(self.args[0]), *self.lines, *listed])


class UnknownNameError(AllalikeError, LookupError):
    """A name of a method, domain, rule or engine that does not exist."""


class OptionError(AllalikeError, ValueError):
    """A value of an option that makes no sense."""


class PluginError(AllalikeError, ImportError):
    """What another package offers under an entry point cannot be used."""


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
    """Answers that are hardly what was meant: the program stops at them, unless it is told to go on."""


class DataNote(DataWarning):
    """What was left out, or looks strange, and does not stop the program."""


class LeftoverWarning(UserWarning):
    """What looks like the rest of a run that was killed, and was left alone, for nothing proves whose it is."""


class NameWarning(UserWarning):
    """A name from elsewhere, for which the one that is used here was taken."""


class ReportWarning(UserWarning):
    """A report from which something is missing; the tables beside it are whole."""
