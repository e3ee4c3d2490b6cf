"""The default, at one address: what it does, step by step, and in which file.

1. **Screening** (`screening/screen.py`) looks at the crowd before anybody is weighed. Who carries no `signal/`, so that
   her answers say nothing about the tasks? Who departs from the others together, beyond chance and skill (`copies/`)?
   Are there two camps? A group of copies has one voice in all that follows (`voices/groups.py`).
2. **Classes** (`classes/weighing.py`), where labels are a few classes. The ladder (`classes/ladder.py`) begins with a
   plain vote and climbs as far as the answers bear it: a weighted vote, then workers with confusions of their own and
   tasks of different difficulty. Several hypotheses are followed from different starts (`classes/hypotheses.py`,
   `classes/states.py`, `classes/rows.py`); answers left out (`classes/left_out.py`), halves of the crowd
   (`classes/reproduction.py`) and known truths (`classes/known.py`) may refute them.
3. **Distances** (`distances/plain_or_weighed.py`), for every other kind of label. A worker's distance to the others is
   pulled to the crowd's by as much as workers cannot be told apart (`distances/shrunken.py`). Everyone counts the same
   where halves of the crowd side against the weights (`distances/sides.py`), or where these go to those who keep to
   the middle (`distances/pulls.py`).
4. **Sureness**: how far another crowd of this kind would find the same (`sureness/reliability.py`,
   `classes/beliefs.py`), the limits of each worker's fault (`sureness/faults.py`, `sureness/intervals.py`), and which
   task to ask next (`sureness/next_labels.py`).

`method.py` is the loop of a few lines around these steps. What they find out beside faults and weights is an `Insight`
(`allalike.methods.insight`), which only this method returns. Each step falls back on counting votes, or on the plain
mean, wherever the crowd cannot tell more; the summary says which step decided, and why.
"""

from allalike.methods.auto.method import Auto

__all__ = ["Auto"]
