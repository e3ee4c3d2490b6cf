"""Methods that use pairs of workers."""
