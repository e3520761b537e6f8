"""Initial laws, and tokens drawn from them."""
