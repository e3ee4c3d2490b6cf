"""Testing: the laws that every domain and every method keeps, for those who write their own.

`check_domain` and `check_method` raise an AssertionError that names the law which is broken.
"""

from allalike.testing.domains import check_domain
from allalike.testing.methods import check_method

__all__ = ["check_domain", "check_method"]
