"""The folder of public data: beside the clone, unless ``ALLALIKE_DATA`` is set."""

from __future__ import annotations

import os
from pathlib import Path

_SHARED = Path(__file__).parents[2] / "shared"


def use_data_beside_the_clone() -> None:
    """Set the folders of public data to those beside the clone, unless already set."""
    usual = os.pathsep.join(str(_SHARED / name) for name in ("datasets", "datasets-kinds"))
    os.environ.setdefault("ALLALIKE_DATA", usual)
