"""Trust: copies and empty answers, how sure workers and truths are, and what to ask next."""
