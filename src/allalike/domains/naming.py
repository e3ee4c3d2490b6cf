"""How a domain is named, and made from another: its spelling, its fields, other choices of rule and distance."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allalike.domains.contract import Domain, Encoding
    from allalike.rules import Rule

__all__ = ["choose_options", "field_names", "spell_domain", "with_rule"]

E = TypeVar("E", bound="Encoding")


def field_names(domain: Domain | None) -> tuple[str, ...]:
    """Return the names of the fields of a label, where it has some; they may be columns of a table.

    >>> from allalike import Real, Record
    >>> field_names(Record("year:real, name")), field_names(Real())
    (('year', 'name'), ())
    """
    return () if domain is None or domain.record is None else domain.record.field_names


def spell_domain(domain: Domain) -> str:
    """Return how a domain is written where it is named, as after it was guessed.

    >>> from allalike import Real, Record
    >>> spell_domain(Record("year:real")), spell_domain(Real())
    ('record(fields="year:real")', 'real')
    """
    return domain.name if domain.record is None else domain.record.spec


def choose_options(domain: Domain, choices: Mapping[str, str]) -> Domain:
    """Return a domain with another distance or rule; unless a rule was asked for, it is one that fits.

    >>> from allalike import Real
    >>> choose_options(Real(), {"distance": "absolute"}).rule
    'median'
    """
    fitting = {"rule": ""} if domain.rule == domain.rules[0].name else {}
    return replace(domain, **{**fitting, **choices}) if choices else domain


def with_rule(encoding: E, rule: str | Rule) -> E:
    """Return the encoding of the same labels under another rule.

    >>> import allalike
    >>> with_rule(allalike.read([("ada", 1, 2.5)]).encoding, "median").domain.rule
    'median'
    """
    return replace(encoding, domain=replace(encoding.domain, rule=rule))
