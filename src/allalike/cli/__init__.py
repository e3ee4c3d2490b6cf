"""The command line."""

import gc
import os

# The engines have their own threads. Threads of numpy's linear algebra would busy-wait and occupy a core. The variable
# must be set before numpy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Nearly all objects made by imports persist. Garbage collection over them takes 5 % of a short run.
gc.set_threshold(100_000, 20, 20)

from allalike.cli.app import main, run  # noqa: E402

__all__ = ["main", "run"]
