"""What a user may say about a convergence study."""

from __future__ import annotations

from dataclasses import dataclass

from meanfield.studies.metrics import METRICS


@dataclass(frozen=True)
class StudyOptions:
    """Particle systems to run, and how to measure them.

    Attributes
    ----------
    tokens : tuple of int
        Given. Sizes of the particle systems, increasing, at least 2.
    repetitions : int
        Given. Independent systems of each size, at least 2.
    metric : str
        Given. A name in `METRICS`.
    seed : int
        Given. Not negative.

    Raises
    ------
    ValueError
        If a value is out of range.
    """

    tokens: tuple[int, ...] = (100, 1000, 10000)
    repetitions: int = 20
    metric: str = "W1"
    seed: int = 0

    def __post_init__(self) -> None:
        """Check ranges."""
        if len(self.tokens) == 0 or min(self.tokens) < 2:
            raise ValueError(f"tokens must all be at least 2, got {list(self.tokens)}.")
        if list(self.tokens) != sorted(set(self.tokens)):
            raise ValueError(f"tokens must be increasing, got {list(self.tokens)}.")
        if self.repetitions < 2:
            raise ValueError(f"repetitions must be at least 2, got {self.repetitions}.")
        if self.metric not in METRICS:
            known = ", ".join(METRICS)
            raise ValueError(f"metric {self.metric!r} is not known. Known: {known}.")
        if self.seed < 0:
            raise ValueError(f"seed must not be negative, got {self.seed}.")
