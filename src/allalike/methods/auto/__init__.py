"""The default method: its steps and their files.

1. **Screening** (`screening.py`): copies of classes (`copy_groups.py`) and of other labels (`copies/`), and the
   informativeness of each worker for the report. A copy group counts once in all later steps.
2. **Classes** (`classes.py`), up to twenty of them: majority vote, knows-or-guesses or confusion matrices
   (`confusion_matrices.py`), from several starts, unless a split-half test refutes them (`split_half.py`).
   Gold labels calibrate the result (`gold_calibration.py`).
3. **Numbers** (`numbers.py`): an offset, a slope and a variance per worker (`lines.py`), used if they predict held-out
   answers better than the mean; gold labels calibrate the result.
4. **Distances** (`distances.py`), for all other label types: workers are weighted by their shrunk errors, unless a
   split-half test refutes the weights.
5. **Uncertainty** (`uncertainty.py`): error rates and ranks of workers, and confidence intervals if gold labels
   support them.

`method.py` runs these steps.
"""

from allalike.methods.auto.method import Auto

__all__ = ["Auto"]
