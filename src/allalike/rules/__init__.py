"""Aggregation rules: estimation of a task's label from its weighted answers."""

from allalike.rules.base import Decision, Rule

__all__ = ["Decision", "Rule"]
