"""The default method: its steps and their files.

1. **Screening** (`screening.py`): detects copies of classes (`copy_groups.py`) and other labels (`copies/`), and
   measures each worker's informativeness for the report. A copy group counts once in all later steps.
2. **Classes** (`classes.py`), at most twenty: majority vote, knows-or-guesses model (`knowledge.py`) or confusion
   matrices (`confusion_matrices.py`), which are fitted from several starts and must pass a split-half test
   (`split_half.py`). Gold labels calibrate the result (`gold_calibration.py`).
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
