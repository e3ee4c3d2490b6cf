"""Classes: from a vote to workers with confusions of their own, as far as the answers bear it."""
