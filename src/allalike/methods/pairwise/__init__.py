"""Methods that look at pairs of workers, and the matrices they need."""
