"""Records: labels with several fields, each of which has a label type."""
