"""Results: tables, summaries, pictures, and the folder they are saved in."""
