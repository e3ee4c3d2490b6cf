"""Rules of all kinds of label, by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allalike.domains import DOMAINS

if TYPE_CHECKING:
    from allalike.rules import Rule

# A rule has the same name in every domain that has it, and there may do the same in another way: keyed by both.
RULES: dict[str, dict[str, Rule]] = {}
for _domain in DOMAINS.values():
    for _rule in _domain.rules:
        RULES.setdefault(_rule.name, {})[_domain.name] = _rule
