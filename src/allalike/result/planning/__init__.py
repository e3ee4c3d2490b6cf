"""Planning: whom to ask about which task next, for how much money, and what it brings."""
