"""Domains: the kinds of label."""

from allalike.domains.base import Domain
from allalike.domains.categorical import Categorical
from allalike.domains.matrix import Matrix
from allalike.domains.real import Real

__all__ = ["DOMAINS", "Categorical", "Domain", "Matrix", "Real"]

DOMAINS: dict[str, type[Domain]] = {domain.name: domain for domain in (Categorical, Real)}
