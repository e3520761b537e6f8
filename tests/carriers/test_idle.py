"""Which options act on a run, and which runs stay what they are."""

import pytest
from parameters import refused, together

import meanfield as mf
from meanfield.carriers.idle import check_options, idle_options, is_stationary
from meanfield.carriers.options import Options

KERNEL = mf.exponential(beta=4.0)
LAW = mf.perturbed_uniform([[3, 0.1, 0.0]])
POINTS = mf.from_points([0.0, 1.5])


def problem(law: mf.Law, diffusivity: float = 0.0) -> mf.Problem:
    return mf.Problem(mf.Circle(), KERNEL, mf.Flow("none", diffusivity=diffusivity), law)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_uniform_is_stationary_unless_drawn(noise):
    """A run in which nothing can happen would be started without a word, or one refused."""
    for law in (mf.uniform(), mf.von_mises_fisher(0.0)):
        assert is_stationary(problem(law, noise), Options())
        assert not is_stationary(problem(law, noise), Options("particles", tokens=10, step=0.1))
    assert not is_stationary(problem(LAW, noise), Options())
    assert not is_stationary(problem(POINTS, noise), Options(name="particles"))


def test_uniform_on_the_sphere_is_stationary():
    """Coefficients on the sphere are packed another way."""
    law = mf.perturbed_uniform([[2, -1, 0.1]])
    assert is_stationary(mf.Problem(mf.Sphere(), KERNEL, mf.USA), Options())
    assert not is_stationary(mf.Problem(mf.Sphere(), KERNEL, mf.USA, law), Options())


@pytest.mark.parametrize(
    ("law", "noise", "options", "idle"),
    [
        (LAW, 0.0, Options(), ["tokens", "seed", "step", "labels"]),
        (LAW, 0.1, Options(), ["max_nodes", "tokens", "seed", "step", "labels"]),
        (LAW, 0.0, Options("characteristics"), ["max_degree", "tokens", "seed", "step", "labels"]),
        (LAW, 0.0, Options("particles", tokens=9), ["max_degree", "max_nodes", "step", "labels"]),
        (LAW, 0.1, Options("particles", tokens=9, step=0.1), ["max_degree", "max_nodes", "labels"]),
        (POINTS, 0.1, Options("particles", step=0.1),
         ["max_degree", "max_nodes", "tokens", "labels"]),
        (POINTS, 0.0, Options(), ["max_degree", "max_nodes", "tokens", "seed", "step", "labels"]),
    ],
)  # fmt: skip
def test_options_that_act_are_those_that_carriers_have(law, noise, options, idle):
    """An option that acts would be refused, or one that does not be believed to."""
    assert idle_options(problem(law, noise), options) == idle


@together(
    ("options", "message"),
    [
        ({"tokens": 9}, "a density, then characteristics and atoms. Leave it out, or take"),
        ({"representation": "density", "seed": 3}, "seed = 3 .* noise, and this run is a density"),
        ({"representation": "particles", "tokens": 9, "max_nodes": 100},
         "max_nodes = 100 .* characteristics, and this run is particles without noise"),
    ],
)  # fmt: skip
def test_simulate_refuses_what_cannot_act(options, message):
    """A user who sets a step believes that it acts."""
    refused(message, mf.simulate, problem(LAW), 1.0, **options)


def test_defaults_are_not_complained_of():
    """A user who set nothing would be warned of defaults that do not act."""
    check_options(problem(POINTS), Options(name="particles"))
    seeded = Options(name="particles", seed=3)
    refused("from given points. Leave it out", check_options, problem(POINTS), seeded)
