"""Methods: ways to turn answers into weights."""

from allalike.methods.base import Method, Weighing
from allalike.methods.distance import DTD
from allalike.methods.oracle import OA
from allalike.methods.proximity import IPTD, PTD, PTDAK
from allalike.methods.unweighted import UA

__all__ = ["DTD", "IPTD", "METHODS", "OA", "PTD", "PTDAK", "UA", "Method", "Weighing"]

METHODS: dict[str, type[Method]] = {method.name: method for method in (UA, OA, PTD, PTDAK, IPTD, DTD)}
