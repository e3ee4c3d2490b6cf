"""Results: tables, summaries, explanations, plans, and the folder in which they are saved."""
