"""Screening: who copies, who says nothing, and whether there is anything to weigh."""
