"""Weigh by distances alone, whatever the labels are."""

from allalike.engines import Run
from allalike.methods import Weighing
from allalike.methods.auto.distances.plain_or_weighed import weigh_distances
from allalike.methods.auto.screening import screen


def weigh(run: Run, *, plain: bool = False) -> Weighing:
    """Look at the crowd, and weigh its workers by how far they are from the others."""
    return weigh_distances(run, screen(run, plain=plain))
