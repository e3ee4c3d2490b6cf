"""The tables and figures of one paper, made again: Meir et al., Frustratingly Easy Truth Discovery (AAAI-23)."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # whose `crowd_data` reads the public data sets
