"""How many answers are saved if the least sure tasks are asked next, and not those with the fewest answers.

Every crowd begins with two answers a task. Then answers are asked for, 5 % of the tasks at a time: of the tasks that
`Result.next` names, or of those with the fewest answers. Whoever is asked has not answered the task before. The answers
saved are those that the first way needs less to be as accurate as the second is with five answers a task.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import allalike

TASKS, WORKERS = 200, 30
Floats = npt.NDArray[np.float64]


class Crowd:
    """Workers who are right with 55 to 95 %, less on hard tasks, and tasks that they can be asked."""

    def __init__(self, classes: int, difficulty: float, seed: int, tasks: int = TASKS, workers: int = WORKERS) -> None:
        rng = np.random.default_rng([classes, int(10 * difficulty), seed])
        self.truth = rng.integers(classes, size=tasks)
        skill = (classes * rng.uniform(0.55, 0.95, workers) - 1) / (classes - 1)
        knows = 1 / (1 + np.exp(-(np.log(skill / (1 - skill)) + rng.normal(0, difficulty, tasks)[:, None])))
        right = rng.random((tasks, workers)) < 1 / classes + (1 - 1 / classes) * knows
        wrong = self.truth[:, None] + rng.integers(1, classes, (tasks, workers))
        self.said = np.where(right, self.truth[:, None], wrong % classes)
        self.queue = rng.random((tasks, workers)).argsort(axis=1)
        self.asked = np.zeros(tasks, np.int64)

    def ask(self, tasks: list[int]) -> list[tuple[str, int, int]]:
        """Return one more answer to each of these tasks, if there is anybody left."""
        rows = []
        for task in tasks:
            if self.asked[task] < self.queue.shape[1]:
                worker = self.queue[task, self.asked[task]]
                rows.append((f"w{worker:02d}", task, int(self.said[task, worker])))
                self.asked[task] += 1
        return rows

    def begin(self, answers: int) -> list[tuple[str, int, int]]:
        """Return so many answers to every task."""
        return [row for _ in range(answers) for row in self.ask(list(range(len(self.truth))))]

    def accuracy(self, result: allalike.Result) -> float:
        """Return the share of the truths that are right."""
        return float((result.truth["label"].to_numpy() == self.truth).mean())


def ask_the_least_sure(crowd: Crowd, begin: int, end: int, share: float = 0.05) -> tuple[Floats, Floats]:
    """Return numbers of answers, and how often truths are right with them."""
    batch, tasks = max(1, round(share * len(crowd.truth))), len(crowd.truth)
    result = allalike.discover(crowd.begin(begin), domain="categorical")
    answers, accuracies = [begin * tasks], [crowd.accuracy(result)]
    while answers[-1] < end * tasks:
        result = result.update(crowd.ask(result.next_tasks(batch)["task"].tolist()))
        answers.append(result.summary["answers"])
        accuracies.append(crowd.accuracy(result))
    return np.array(answers, float), np.array(accuracies)


def find_saved(crowds: list[tuple[int, float, int]], begin: int, end: int, tasks: int, share: float = 0.05) -> float:
    """Return the share of answers that is saved on average over crowds of one kind."""
    evenly, curves = [], []
    for classes, difficulty, seed in crowds:
        rival = Crowd(classes, difficulty, seed, tasks)
        evenly.append(rival.accuracy(allalike.discover(rival.begin(end), domain="categorical")))
        curves.append(ask_the_least_sure(Crowd(classes, difficulty, seed, tasks), begin, end, share))
    answers, accuracy = curves[0][0], np.mean([accuracy for _, accuracy in curves], axis=0)
    good = np.flatnonzero(np.maximum.accumulate(accuracy) >= np.mean(evenly))
    return 1 - float(answers[good[0]]) / (end * tasks) if len(good) else 0.0
