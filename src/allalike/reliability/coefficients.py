"""Coefficients of agreement by their textbook names, with a description of each."""

COEFFICIENTS = {  # by name: of which labels it is, and what it is
    "Krippendorff's alpha": ("all labels", "1 - observed/expected distance; any number of workers, gaps allowed"),
    "nominal alpha": ("classes", "Krippendorff's alpha where labels are the same or not; what 'alpha' is there"),
    "ordinal alpha": ("levels", "Krippendorff's alpha of ranks: levels are apart by the answers between them"),
    "linear alpha": ("levels", "Krippendorff's alpha by steps of the scale, the distance that weights go by here"),
    "interval alpha": ("levels that are numbers, numbers", "Krippendorff's alpha by squared differences"),
    "percent agreement": ("classes, levels", "the share of equal pairs of answers to a task; says nothing of chance"),
    "Fleiss' kappa": ("classes", "beyond chance, by the classes of all; Scott's pi of two workers"),
    "Cohen's kappa": ("classes", "beyond chance, by the classes of each worker; of many, the mean over pairs"),
    "Cohen's weighted kappa (linear)": ("levels", "Cohen's kappa in which near levels agree a little, by steps"),
    "Cohen's weighted kappa (quadratic)": ("levels", "the same by squared steps; close to a correlation"),
    "Gwet's AC1": ("classes", "beyond chance, also where nearly all tasks have one class"),
    "Gwet's AC2 (linear)": ("levels", "AC1 in which near levels agree a little, by steps"),
    "Gwet's AC2 (quadratic)": ("levels", "the same by squared steps"),
}
_OF_LEVELS = {"linear": "linear alpha", "squared": "interval alpha", "hamming": "nominal alpha"}


def name_alpha(domain: str, distance: str) -> str:
    """Name the alpha that goes by the distance of these labels.

    >>> name_alpha("ordinal", "linear"), name_alpha("text", "gleu")
    ('linear alpha', "Krippendorff's alpha")
    """
    return _OF_LEVELS.get(distance, "Krippendorff's alpha") if domain == "ordinal" else "Krippendorff's alpha"
