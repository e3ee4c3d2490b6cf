"""Agreement: how far workers agree beyond chance, for any kind of label."""
