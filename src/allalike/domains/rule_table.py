"""Aggregation rules of all label types, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allalike.domains import DOMAINS

if TYPE_CHECKING:
    from allalike.rules import Rule

# Rules of different label types may share a name but differ in implementation, so both are keys.
RULES: dict[str, dict[str, Rule]] = {}
for _domain in DOMAINS.values():
    for _rule in _domain.rules:
        RULES.setdefault(_rule.name, {})[_domain.name] = _rule
