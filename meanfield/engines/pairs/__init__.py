"""Sums over pairs of tokens."""

PAIRS_AT_ONCE = 1 << 18
"""Pairs in an array of them, 2 MiB: several such arrays stay in cache."""

ROWS_PER_CHUNK = 512
"""Tokens from which sums over pairs are worth several threads: a quarter of a million, 0.1 ms."""
