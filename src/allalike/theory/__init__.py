"""Theory: what disparities say about faults, when they tell good workers from bad, and how many answers that takes."""

from allalike.theory.aitken import aitken_error_bound, inverse_bounds, weight_shift
from allalike.theory.bounds import disparity_bounds, metric_disparity_bounds, metric_fault_bounds
from allalike.theory.concentration import deviation_chance, gaussian_moments, sample_size
from allalike.theory.disparity import expected_agreement, expected_disparity, expected_disparity_one_coin, mallows_swaps
from allalike.theory.identities import cloned_disparity, cosine_to_squared, distance_to_mean
from allalike.theory.separation import hammer_spammer_conditions, hammer_spammer_gap, separates

__all__ = [
    "aitken_error_bound",
    "cloned_disparity",
    "cosine_to_squared",
    "deviation_chance",
    "disparity_bounds",
    "distance_to_mean",
    "expected_agreement",
    "expected_disparity",
    "expected_disparity_one_coin",
    "gaussian_moments",
    "hammer_spammer_conditions",
    "hammer_spammer_gap",
    "inverse_bounds",
    "mallows_swaps",
    "metric_disparity_bounds",
    "metric_fault_bounds",
    "sample_size",
    "separates",
    "weight_shift",
]
