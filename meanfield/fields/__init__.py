"""Mean field of a measure, and its velocity."""
