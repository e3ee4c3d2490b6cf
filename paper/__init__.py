"""The tables and figures of one paper, made again: Meir et al., Frustratingly Easy Truth Discovery (AAAI-23)."""
