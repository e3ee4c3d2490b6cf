"""Rules: ways to turn the weighted labels of one task into one label."""

from allalike.rules.base import Decision, Rule
from allalike.rules.choice import best_worker, medoid
from allalike.rules.mean import mean, median
from allalike.rules.vote import plurality

__all__ = ["RULES", "Decision", "Rule"]

RULES = {
    rule.name: rule
    for rule in (
        Rule("plurality", plurality),
        Rule("mean", mean),
        Rule("median", median),
        Rule("medoid", medoid),
        Rule("best worker", best_worker),
    )
}
