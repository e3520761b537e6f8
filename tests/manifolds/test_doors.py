"""Doors to what a space has beside its geometry: the same on all spaces, an error elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import meanfield as mf
from meanfield.manifolds import Manifold, label_cells, maxima, neighbourhoods


@pytest.mark.parametrize("space", [mf.Circle(), mf.Sphere()])
def test_doors_lead_to_the_room_of_the_space(space: Manifold) -> None:
    """Maxima of one space would be looked for on another."""
    fields = maxima.gaussian_fields(space, np.array([0.0, 1.0, 1.0]), 3, np.random.default_rng(0))
    summits = [maxima.maxima(space, field) for field in fields]
    np.testing.assert_array_equal(maxima.count_maxima(space, fields), [len(x) for x in summits])
    assert maxima.basins(space, fields[0], summits[0])[0] == 0
    points = np.concatenate([summits[0][:1]] * 3)
    assert neighbourhoods.dense(space, points, None, 0.1, 1.0).all()
    group = neighbourhoods.linked(space, points, 0.1)
    mean = neighbourhoods.mean_points(space, points, np.ones(3), group, 1)
    np.testing.assert_allclose(mean, points[:1], rtol=0, atol=1e-15)
    cells = label_cells.label_cells(space, 1.0)
    again = label_cells.cells_of(space, cells.bounds)
    np.testing.assert_array_equal(again.points, cells.points)


def test_doors_refuse_a_space_without_the_room() -> None:
    """A KeyError would not say where maxima are known."""
    with pytest.raises(ValueError, match=r"no search for maxima is known on the sphere:8. Known: "):
        maxima.maxima(mf.Hypersphere(7), np.ones(3))  # type: ignore[arg-type]
