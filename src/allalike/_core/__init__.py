"""The ground floor, which is private: what every room above stands on, and nobody outside imports."""
