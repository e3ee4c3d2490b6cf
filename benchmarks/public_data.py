"""Where benchmarks look for public data unless ``ALLALIKE_DATA`` says where: beside the clone, as tests do."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["use_data_beside_the_clone"]

_SHARED = Path(__file__).parents[2] / "shared"


def use_data_beside_the_clone() -> None:
    """Name the folders of public data beside the clone, unless others are named."""
    usual = os.pathsep.join(str(_SHARED / name) for name in ("datasets", "datasets-kinds"))
    os.environ.setdefault("ALLALIKE_DATA", usual)
