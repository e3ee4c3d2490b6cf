"""Records: labels with several fields, each of a kind of its own."""
