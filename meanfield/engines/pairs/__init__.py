"""Sums over pairs of tokens."""

PAIRS_AT_ONCE = 1 << 18
"""Pairs in one array, 2 MiB: several such arrays stay in cache."""

ROWS_PER_CHUNK = 512
"""Tokens for each chunk of sums over pairs: a quarter of a million pairs take 0.1 ms."""
