"""Telling: what there is to say of a result, in sentences that every face dresses in its own way."""
