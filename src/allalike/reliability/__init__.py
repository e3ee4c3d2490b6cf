"""Agreement: how far workers agree beyond chance, for any label type."""
