"""Composed labels: how any method weighs records field by field, and votes on things."""
