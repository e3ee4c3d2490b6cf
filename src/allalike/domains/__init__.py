"""Domains: the kinds of label."""

from allalike.domains.base import Domain
from allalike.domains.categorical import Categorical
from allalike.domains.custom import Custom
from allalike.domains.real import Real

__all__ = ["DOMAINS", "Categorical", "Custom", "Domain", "Real"]

DOMAINS: dict[str, type[Domain]] = {domain.name: domain for domain in (Categorical, Real, Custom)}
