"""Projections of the sphere: areas, inverses, orientation."""

import numpy as np
import pytest

from meanfield.figures.data.projections import Mollweide, Orthographic, directions

RNG = np.random.default_rng(0)
POINTS = RNG.standard_normal((2000, 3))
POINTS /= np.linalg.norm(POINTS, axis=1, keepdims=True)
ROUND = Orthographic(np.array([0.48, 0.6, 0.64]))


@pytest.mark.parametrize("projection", [Mollweide(), ROUND])
def test_projection_has_an_inverse(projection):
    """Dots would lie beside the colours they belong to."""
    # The table of Mollweide's angle has steps of 8e-4; errors are of their square.
    places = projection.to_plane(POINTS)
    visible = np.isfinite(places).all(axis=1)
    back = projection.to_sphere(*places[visible].T)
    assert visible.sum() > 900
    assert np.abs(back - POINTS[visible]).max() < 1e-5


def test_mollweide_map_is_that_of_matplotlib():
    """The independent check; matplotlib stops its iteration at 1e-3 in twice the angle."""
    from matplotlib.projections.geo import MollweideAxes

    longitude, latitude = np.arctan2(POINTS[:, 1], POINTS[:, 0]), np.arcsin(POINTS[:, 2])
    transform = MollweideAxes.MollweideTransform(180)
    theirs = transform.transform_non_affine(np.column_stack([longitude, latitude]))
    assert np.abs(Mollweide().to_plane(POINTS) - theirs).max() < 2e-3


def test_mollweide_map_keeps_areas():
    """A cap would look larger near a pole than at the equator."""
    # Pixels inside the ellipse sample the sphere evenly: the means of x^2, y^2, z^2 are 1/3 and
    # those of x, y, z are 0, up to the pixels at the edge.
    wide, high = Mollweide().half_axes
    x, y = np.meshgrid(np.linspace(-wide, wide, 801), np.linspace(-high, high, 401))
    inside = (x / wide) ** 2 + (y / high) ** 2 < 1.0
    points = Mollweide().to_sphere(x[inside], y[inside])
    assert np.mean(points * points, axis=0) == pytest.approx([1 / 3] * 3, abs=2e-3)
    assert np.abs(points.mean(axis=0)).max() < 1e-3


def test_places_outside_are_moved_to_the_edge():
    """Corners of a picture would be no points: colours at its rim would be lost."""
    for projection in (Mollweide(), ROUND):
        wide, high = projection.half_axes
        corners = projection.to_sphere(np.array([-wide, wide]), np.array([high, -high]))
        assert np.linalg.norm(corners, axis=1) == pytest.approx([1.0, 1.0], abs=1e-12)


def test_east_is_right_and_north_is_up():
    """A mirrored globe would be taken for another measure."""
    east, north = directions(0.1, 0.0), directions(0.0, 0.1)
    for projection in (Mollweide(), Orthographic(directions(0.0, 0.0))):
        assert projection.to_plane(east)[0] > 0.05 and abs(projection.to_plane(east)[1]) < 1e-9
        assert projection.to_plane(north)[1] > 0.05 and abs(projection.to_plane(north)[0]) < 1e-9


@pytest.mark.parametrize("latitude", [-0.5 * np.pi, 0.0, 0.7, 0.5 * np.pi])
def test_globe_turns_to_any_side(latitude):
    """Seen from a pole the frame would not be defined."""
    frame = Orthographic(directions(2.0, latitude)).frame
    assert frame @ frame.T == pytest.approx(np.eye(3), abs=1e-12)
    assert np.linalg.det(frame) == pytest.approx(1.0)


def test_back_of_the_globe_is_hidden():
    """Tokens would shine through the globe."""
    assert np.isnan(ROUND.to_plane(-ROUND.towards)).all()
    assert np.isfinite(ROUND.to_plane(ROUND.towards)).all()
