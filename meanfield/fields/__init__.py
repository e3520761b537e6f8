"""The field that a measure creates, and the velocity that it gives: all of the physics."""
