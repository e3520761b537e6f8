"""The public distance: one name for every manifold and every kind of measure."""

import numpy as np
import pytest
from parameters import refused, together

import meanfield as mf
from meanfield.transport import WASSERSTEIN, wasserstein

UNIFORM = mf.Density(mf.Circle(), np.array([1.0]))
SPHERICAL = mf.Density(mf.Sphere(), np.array([1.0]))


def test_distances_are_those_of_manifolds():
    """A distance would be listed for a manifold that does not exist."""
    assert set(WASSERSTEIN) == {space.family for space in (mf.Axial(8), mf.Circle(), mf.Sphere())}


@together(
    "options, kind, message",
    [
        ({"first": np.zeros(3)}, TypeError, "first must be weighted points, .* an array of shape"),
        ({"second": np.zeros(3)}, TypeError, "second must be weighted points, .* or a density, "),
        ({"second": SPHERICAL}, ValueError, "first lives on the circle, second on the sphere"),
        ({"p": 3}, ValueError, "p = 3 is not known, expected 1 or 2"),
        ({"p": 0}, ValueError, "p = 0 is not known"),
    ],
)
def test_what_has_no_distance_is_refused(options, kind, message):
    """An array would fail deep inside, and another manifold or W_3 have a number for a distance."""
    refused(message, wasserstein, **{"first": UNIFORM, "second": UNIFORM} | options, error=kind)


@pytest.mark.parametrize("space", [mf.Axial(8), mf.Circle(), mf.Sphere()], ids=str)
def test_distance_of_each_space_refuses_other_powers(space):
    """A function of the API pages, called by itself, would give W_2 for W_3."""
    uniform = mf.uniform().build(space)
    refused("p = 3 is not known", WASSERSTEIN[space.family], uniform, uniform, 3)


def test_manifold_without_distance_is_refused(monkeypatch):
    """The user would meet a KeyError."""
    monkeypatch.delitem(WASSERSTEIN, "circle")
    refused("no Wasserstein distance is known on the circle", wasserstein, UNIFORM, UNIFORM)
