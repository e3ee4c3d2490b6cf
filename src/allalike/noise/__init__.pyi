# What this package shows, for editors, mypy and `__init__.py`, which imports each when it is used.

from allalike.noise.models import Gaussian as Gaussian
from allalike.noise.models import General as General
from allalike.noise.models import IntervalNoise as IntervalNoise
from allalike.noise.models import Laplace as Laplace
from allalike.noise.models import Mallows as Mallows
from allalike.noise.models import MaskNoise as MaskNoise
from allalike.noise.models import Noise as Noise
from allalike.noise.models import OneCoin as OneCoin
from allalike.noise.models import TwoCoin as TwoCoin
from allalike.noise.populations import POPULATIONS as POPULATIONS
from allalike.noise.populations import Copiers as Copiers
from allalike.noise.populations import Fixed as Fixed
from allalike.noise.populations import HammerSpammer as HammerSpammer
from allalike.noise.populations import Normal as Normal
from allalike.noise.populations import Population as Population
from allalike.noise.populations import Uniform as Uniform
