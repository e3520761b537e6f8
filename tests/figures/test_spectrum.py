"""The figure of eigenvalues shows what the operator holds, on the circle and the sphere."""

import numpy as np
import pytest
from head_oracle import turn

import meanfield as mf
from meanfield.figures.draw.spectrum import operator_picture, save_spectrum


def turned(space, angle, beta):
    """Scores and values turned by an angle: mode k grows as ever, and turns."""
    matrix = turn(angle, space.dimension + 1)
    return mf.Problem(space, mf.Attention([mf.Head(score=matrix, value=matrix)], beta=beta))


def test_picture_shows_modes_that_turn():
    """A wave would stand still, or turn the other way."""
    operator = mf.linear_operator(turned(mf.Circle(), 0.3, 4.0))
    picture = operator_picture(operator)
    # lambda_k e^{-ik alpha}: rates fall with k from the dominant degree on.
    first = picture.modes[0]
    k = int(operator.orders[0])
    assert first.copies == 1 and first.values.shape == (3, len(picture.angles))
    # A quarter of a period later the crest has moved by 2 pi / 4 k against the sense of Im > 0.
    crest = picture.angles[first.values[0, : len(picture.angles) - 1].argmax()]
    later = picture.angles[first.values[2, : len(picture.angles) - 1].argmax()]
    sense = np.sign(operator.angular_velocities[0])
    moved = np.angle(np.exp(1j * k * (later - crest)))
    assert moved == pytest.approx(sense * np.pi / 2, abs=0.05)
    assert "rotating wave" in first.words


@pytest.mark.slow
def test_figures_of_circle_and_sphere_are_written(tmp_path):
    """A figure would fail where a mode is a map, or where all eigenvalues are real."""
    save_spectrum(mf.linear_operator(turned(mf.Sphere(), 0.5, 1.0), 4), tmp_path / "map.png")
    kernel = mf.Problem(mf.Circle(), mf.exponential(2.0), mf.Flow("none", diffusivity=0.1))
    figure = mf.linear_operator(kernel).plot(title="Mine")
    assert (tmp_path / "map.png").stat().st_size > 10_000
    assert any(text.get_text() == "Mine" for text in figure.axes[0].texts)
