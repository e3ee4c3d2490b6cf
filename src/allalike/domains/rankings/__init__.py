"""Rankings of items, with ties and gaps, and their voting rules."""
