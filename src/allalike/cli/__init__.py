"""The command line."""

from allalike.cli.app import main, run

__all__ = ["main", "run"]
