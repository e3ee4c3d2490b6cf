"""Steps that methods share on the way from sums to weights."""
