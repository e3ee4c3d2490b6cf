"""Coefficients of agreement by their textbook names, with a description of each."""

COEFFICIENTS = {  # by name: label types and description
    "Krippendorff's alpha": ("all labels", "1 - observed/expected distance; any number of workers, gaps allowed"),
    "nominal alpha": ("classes", "Krippendorff's alpha for equal or different labels; shown as 'alpha'"),
    "ordinal alpha": ("levels", "Krippendorff's alpha of ranks: distance depends on the answers between two levels"),
    "linear alpha": ("levels", "Krippendorff's alpha by steps of the scale, the distance that worker weights use"),
    "interval alpha": ("levels that are numbers, numbers", "Krippendorff's alpha by squared differences"),
    "percent agreement": ("classes, levels", "share of equal pairs of answers to a task; not corrected for chance"),
    "Fleiss' kappa": ("classes", "chance from class shares of the crowd; with two workers Scott's pi"),
    "Cohen's kappa": ("classes", "chance from class shares of each worker; with many workers, the mean over pairs"),
    "Cohen's weighted kappa (linear)": ("levels", "Cohen's kappa with partial agreement of close levels, by steps"),
    "Cohen's weighted kappa (quadratic)": ("levels", "Cohen's kappa with weights by squared steps; like a correlation"),
    "Gwet's AC1": ("classes", "corrected for chance; also works if nearly all tasks have one class"),
    "Gwet's AC2 (linear)": ("levels", "AC1 with partial agreement of close levels, by steps"),
    "Gwet's AC2 (quadratic)": ("levels", "AC1 with partial agreement of close levels, by squared steps"),
}
_OF_LEVELS = {"linear": "linear alpha", "squared": "interval alpha", "hamming": "nominal alpha"}


def name_alpha(domain: str, distance: str) -> str:
    """Return the name of alpha for this distance.

    >>> name_alpha("ordinal", "linear"), name_alpha("text", "gleu")
    ('linear alpha', "Krippendorff's alpha")
    """
    return _OF_LEVELS.get(distance, "Krippendorff's alpha") if domain == "ordinal" else "Krippendorff's alpha"
