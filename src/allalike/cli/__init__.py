"""The command line."""

import os

# The engines have threads of their own. Those of numpy's linear algebra would wait for work by counting, and take a
# core from them; it must be told before numpy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from allalike.cli.app import main, run

__all__ = ["main", "run"]
