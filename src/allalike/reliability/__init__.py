"""Agreement of workers beyond chance, for any label type."""
