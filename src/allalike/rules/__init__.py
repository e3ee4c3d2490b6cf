"""Rules: ways to turn the weighted labels of one task into one label; a domain names those that it has."""

from allalike.rules.base import Decision, Rule

__all__ = ["Decision", "Rule"]
