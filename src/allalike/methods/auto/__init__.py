"""The default method, step by step, and in which file.

1. **Screening** (`screening.py`): copies of classes (`copy_groups.py`) and of other labels (`copies/`), and the
   informativeness of each worker for the report. A copy group counts once in all that follows.
2. **Classes** (`classes.py`), if there are a few: majority vote, knows-or-guesses or confusion matrices
   (`confusion_matrices.py`), from several starts, unless a split-half test refutes them (`split_half.py`).
   Gold labels calibrate all of it (`gold_calibration.py`).
3. **Numbers** (`numbers.py`): an offset, a slope and a variance per worker (`lines.py`), as far as these predict
   held-out answers better than the mean, and calibration by gold labels.
4. **Distances** (`distances.py`), for every other label type: errors of workers shrunk towards their mean give weights,
   unless a split-half test refutes them.
5. **Uncertainty** (`uncertainty.py`): errors of the workers, their order, and intervals where gold labels support
   them.

`method.py` is the loop around these steps.
"""

from allalike.methods.auto.method import Auto

__all__ = ["Auto"]
