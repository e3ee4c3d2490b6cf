# What this package shows, for editors, mypy and `__init__.py`, which imports each when it is used.

from allalike.noise.base import General as General
from allalike.noise.base import Noise as Noise
from allalike.noise.copiers import Copiers as Copiers
from allalike.noise.gaussian import Gaussian as Gaussian
from allalike.noise.intervals import IntervalNoise as IntervalNoise
from allalike.noise.laplace import Laplace as Laplace
from allalike.noise.mallows import Mallows as Mallows
from allalike.noise.masks import MaskNoise as MaskNoise
from allalike.noise.one_coin import OneCoin as OneCoin
from allalike.noise.populations import POPULATIONS as POPULATIONS
from allalike.noise.populations import Fixed as Fixed
from allalike.noise.populations import HammerSpammer as HammerSpammer
from allalike.noise.populations import Normal as Normal
from allalike.noise.populations import Population as Population
from allalike.noise.populations import Uniform as Uniform
from allalike.noise.two_coin import TwoCoin as TwoCoin
