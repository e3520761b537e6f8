"""Figure of fluctuations: the band is where N tokens are, and ends where it is not known."""

from dataclasses import replace

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.figures.draw import plot
from meanfield.figures.draw.fluctuations import linearised_picture

LAW = mf.from_density(np.array([1.0, 0.0, 0.2j]))
PROBLEM = mf.Problem(mf.Circle(), mf.exponential(beta=4.0), mf.SA, LAW)


@pytest.fixture(scope="module")
def fluctuations():
    times = [0.0, 0.5, 1.0, 20.0]
    return mf.fluctuations(
        PROBLEM, until=20.0, save=times, degree=5, max_degree=48, unresolved="nan"
    )


@pytest.mark.slow
def test_band_is_where_tokens_are(fluctuations):
    """Far from 0 two standard deviations beside the mean; at 0 the law of a modulus."""
    tokens = 10**6
    picture = linearised_picture(fluctuations, tokens=tokens)
    assert picture.frame.times.tolist() == [0.0, 0.5, 1.0]
    assert picture.note == "resolved up to t = 1"
    # c_2 is imaginary: along it Var = (C - Re P) / 2, and N tokens shift it by eta / N.
    variance = (fluctuations.covariance - fluctuations.relation)[:3, 2, 2].real / 2 / tokens
    away = picture.high[:, 1] - picture.limit[:, 1] - fluctuations.shift[:3, 2].imag / tokens
    np.testing.assert_allclose(away, 2.0 * np.sqrt(variance), rtol=0.05)
    # |c_1| at time 0: a Rayleigh variable of mean sqrt(pi / 4 N), a little elliptic.
    np.testing.assert_allclose(picture.mean[0, 0], np.sqrt(np.pi / 4 / tokens), rtol=0.03)


@pytest.mark.slow
def test_particles_are_drawn_over_a_run(fluctuations, tmp_path, cli):
    """From Python and from files; other figures have none."""
    tokens = mf.simulate(PROBLEM, until=1.0, save=3, representation="particles", tokens=300, seed=1)
    limit = mf.simulate(PROBLEM, until=20.0, save=[0.0, 0.5, 1.0, 20.0])
    run = replace(limit, fluctuations=fluctuations)
    panels = plot(run, "fluctuations", particles=[tokens]).axes[0].child_axes
    assert len(panels) == 5 and [len(panel.lines) for panel in panels] == [3] * 5
    assert panels[0].get_legend().get_texts()[0].get_text() == "$N = 300$, 95 %"
    np.testing.assert_allclose(panels[1].lines[0].get_ydata(), np.abs(tokens.moments[:, 2]))
    (later,) = plot(run, "fluctuations", times=(0.5, 20.0)).axes
    assert later.child_axes[0].get_xlim() == (0.5, 1.0)
    fluctuations.plot(particles=[tokens], title="five").canvas.draw()
    assert "N = 300" not in linearised_picture(fluctuations, [tokens]).note
    assert "particles have N = 300" in linearised_picture(fluctuations, [tokens], 1000).note
    run.save(tmp_path / "run.h5")
    tokens.save(tmp_path / "tokens.h5")
    figure, options = tmp_path / "figure.png", ("--kind", "fluctuations", "--beside")
    cli("plot", tmp_path / "run.h5", "-o", figure, *options, tmp_path / "tokens.h5")
    assert figure.read_bytes().startswith(b"\x89PNG")
    refused("particles are drawn over kind 'fluctuations'", plot, run, "energy", particles=[tokens])
    refused("the run has no fluctuations", plot, tokens, "fluctuations")
