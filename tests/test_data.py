"""Problems and their parts are plain data: they compare, hash, pickle, copy and print."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from parameters import together

import meanfield as mf
from meanfield.described import StudyResult, attribute
from meanfield.runfile.sections import INITIAL
from meanfield.spaces import MANIFOLDS
from meanfield.stationary.symmetry import axisymmetric
from meanfield.terms.kernels import KERNELS
from meanfield.transport.bracket import Bracket

MAKERS: dict[str, Callable[[], Any]] = {
    **{f"space {name}": make for name, make in MANIFOLDS.items()},
    "space of theory": lambda: mf.Sphere(8),
    **{f"kernel {name}": lambda make=make: make(5.0) for name, make in KERNELS.items()},
    "kernel, another beta": lambda: mf.exponential(-5.5),
    "kernel of a function": lambda: mf.zonal(np.exp, beta=4.0),
    "kernel of multipliers": lambda: mf.zonal(multipliers=[1.0, 0.5]),
    "flow": lambda: mf.Flow(True, -0.5, 0.1),
    "flow SA": lambda: mf.Flow(normalized=True),
    "law uniform": mf.uniform,
    "law perturbed_uniform": lambda: mf.perturbed_uniform([[3, 0.1, 0.0]]),
    "law von_mises_fisher": lambda: mf.von_mises_fisher(2.0, mean=np.array([0.0, 0.6, 0.8])),
    "law mixture": lambda: mf.mixture([(0.5, 0.1, 3.0), (0.5, None, 0.0)]),
    "law sampled": lambda: mf.sampled(tokens=1000, seed=1, max_degree=4),
    "law normal_tokens": lambda: mf.normal_tokens(5, seed=2, scale=0.5),
    "law configuration": lambda: mf.configuration("antipodal", weights=[0.25, 0.75]),
    "law tokens": lambda: mf.from_points(np.array([0.1, 0.2]), np.array([0.3, 0.7])),
    "law atoms": lambda: mf.from_points(np.array([0.1, 0.2]), name="atoms"),
    "law file": lambda: mf.from_density(np.array([1.0, 0.1])),
    "law function": lambda: mf.from_function(np.cosh),
    "law values": lambda: mf.from_values([1.0, 2.0, 1.5]),
}


LAWS = {name: make for name, make in MAKERS.items() if name.startswith("law")}
THINGS = MAKERS | {
    f"problem with {name}": lambda law=law: mf.Problem(mf.Circle(), mf.linear(), mf.SA, law())
    for name, law in LAWS.items()
}
# Functions and arrays are shown by name and size.
REPRS = {
    "kernel of a function": "zonal(exp, beta=4.0, name='zonal')",
    "law tokens": "from_points(array(2,), weights=array(2,))",
    "law atoms": "from_points(array(2,), name='atoms')",
    "law file": "from_density(array(2,))",
    "law function": "from_function(cosh)",
    "law values": "from_values(array(3,))",
}


@pytest.mark.parametrize("name", THINGS)
def test_data_are_equal_if_they_say_the_same(name):
    """Workers, caches and comparisons of runs would take one problem for two, or two for one."""
    make = THINGS[name]
    thing = make()
    for again in (make(), pickle.loads(pickle.dumps(thing)), copy.deepcopy(thing)):
        assert again == thing
        assert hash(again) == hash(thing)
    assert [other for other in THINGS if THINGS[other]() == thing] == [name]


def test_data_print_what_makes_them_again():
    """A line of a notebook, pasted, is the same problem."""
    public = {name: getattr(mf, name) for name in mf.__all__}
    for name, make in THINGS.items():
        text = REPRS.get(name.removeprefix("problem with "))
        if text is None:
            assert eval(repr(make()), public) == make(), name
        else:
            assert repr(make()).endswith((text, f"{text})")), name


def test_every_law_of_run_files_is_here():
    """A law that somebody adds would be left out."""
    assert {name.removeprefix("law ") for name in LAWS} == set(INITIAL)


@together("thing, text", [
    (mf.Measure(mf.Circle(), np.zeros(2)), "Measure(2 equal points on the circle)"),
    (mf.Measure(mf.Sphere(), np.eye(3)[:2], [0.5, 0.5]), "Measure(2 weighted points on the sphere"),
    (mf.Density(mf.Circle(), [1.0, 0.0]), "Density(degree 1 on the circle)"),
    (axisymmetric(2, 5), "Symmetry(axisymmetric on S^2, 5 functions)"),
    (Bracket(0.4, 0.6), "Bracket(0.5 in [0.4, 0.6])"),
])  # fmt: skip
def test_things_say_what_they_are(thing, text):
    """A notebook would print a thousand numbers, or an address in memory."""
    assert repr(thing).startswith(text)


def test_attributes_are_read_by_annotations_that_are_types():
    """Results of modules without `from __future__ import annotations` could not be read back."""

    @dataclass
    class Result(StudyResult):
        attributes: dict[str, Any]
        beta: float = attribute()

    assert type(Result.restored({}, {"beta": 2}).beta) is float


def test_bracket_is_a_number_where_one_is_wanted():
    """float(wasserstein(...)) would fail on the sphere only."""
    assert float(Bracket(0.25, 0.75)) == 0.5
