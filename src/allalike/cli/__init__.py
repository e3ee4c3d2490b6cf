"""The command line."""

import gc
import os

# The engines have threads of their own. Those of numpy's linear algebra would wait for work by counting, and take a
# core from them; it must be told before numpy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Nearly all objects that imports make stay. Looking through them for cycles takes a twentieth of a short run.
gc.set_threshold(100_000, 20, 20)

from allalike.cli.app import main, run  # noqa: E402

__all__ = ["main", "run"]
