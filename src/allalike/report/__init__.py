"""HTML report of a result: its content as plain data, its charts, and the page."""
