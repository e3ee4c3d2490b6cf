"""Rankings: orders of items, with ties and gaps."""
