"""Aggregation rules of all label types, by name."""

from allalike.domains import DOMAINS
from allalike.rules import Rule

# Rules of different label types may share a name but differ in implementation, so both are keys.
RULES: dict[str, dict[str, Rule]] = {}
for _domain in DOMAINS.values():
    for _rule in _domain.rules:
        RULES.setdefault(_rule.name, {})[_domain.name] = _rule
