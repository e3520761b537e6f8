"""The public distance: one name for every manifold and every kind of measure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from parameters import each

import meanfield as mf
from meanfield.transport import WASSERSTEIN, wasserstein

# Rounding of sums of a few terms of size pi.
TOLERANCE = 1e-14
UNIFORM = mf.Density(mf.Circle(), np.array([1.0]))


def polygon(corners: int) -> mf.Measure:
    """Equal masses on a regular polygon."""
    return mf.Measure(mf.Circle(), 2.0 * np.pi * np.arange(corners) / corners)


@pytest.mark.parametrize("corners", [1, 2, 5])
def test_w1_of_polygon_to_uniform(corners: int) -> None:
    """W_1 = pi / (2 k): a wrong distance would be reported under the public name."""
    assert abs(wasserstein(polygon(corners), UNIFORM) - np.pi / (2 * corners)) < TOLERANCE


@pytest.mark.parametrize("corners", [1, 2, 5])
def test_w2_of_polygon_to_uniform(corners: int) -> None:
    """W_2 = pi / (sqrt(3) k): p would be ignored, or the power returned."""
    expected = np.pi / (np.sqrt(3.0) * corners)
    assert abs(wasserstein(polygon(corners), UNIFORM, p=2) - expected) < TOLERANCE


@pytest.mark.parametrize("first", [polygon(3), UNIFORM])
@each("second", [polygon(2), mf.Density(mf.Circle(), np.array([1.0, 0.2j]))], p=[1, 2])
def test_distance_is_symmetric(first: Any, second: Any, p: int) -> None:
    """The order of the arguments would matter."""
    assert abs(wasserstein(first, second, p) - wasserstein(second, first, p)) < 1e-12


def test_distances_are_those_of_manifolds() -> None:
    """A distance would be listed for a manifold that does not exist."""
    from meanfield.spaces import Axial, Circle, Sphere

    assert set(WASSERSTEIN) == {space.family for space in (Axial(8), Circle(), Sphere())}


@pytest.mark.parametrize("name", ["first", "second"])
def test_other_kinds_are_refused(name: str) -> None:
    """An array of angles would fail somewhere deep inside."""
    arguments: dict[str, Any] = {"first": UNIFORM, "second": UNIFORM, name: np.zeros(3)}
    with pytest.raises(
        TypeError,
        match=f"{name} must be weighted points, .* or a density, .*, got an array of shape .3,.",
    ):
        wasserstein(**arguments)


def test_different_manifolds_are_refused() -> None:
    """A distance between measures on different manifolds would be a number without meaning."""
    elsewhere = mf.Density(mf.Sphere(), np.array([1.0]))
    with pytest.raises(ValueError, match="first lives on the circle, second on the sphere"):
        wasserstein(UNIFORM, elsewhere)


def test_manifold_without_distance_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user would meet a KeyError."""
    monkeypatch.delitem(WASSERSTEIN, "circle")
    with pytest.raises(ValueError, match="no Wasserstein distance is known on the circle"):
        wasserstein(UNIFORM, UNIFORM)


def test_other_p_is_refused() -> None:
    """W_3 would be computed as something else."""
    with pytest.raises(ValueError, match="p = 3 is not known"):
        wasserstein(UNIFORM, UNIFORM, p=3)
