"""What is said of a panel of judges, one module for each thing that may be known of it."""
