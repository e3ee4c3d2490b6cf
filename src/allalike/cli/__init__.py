"""The command line."""

from allalike.cli.app import main

__all__ = ["main"]
