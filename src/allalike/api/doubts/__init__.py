"""Doubts: what looks wrong about the answers, before anything is made of them."""
