"""Arguments of public functions: errors state expected, received, remedy."""

import inspect
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from fresh_process import run_python
from parameters import refused, together

import meanfield as mf
from meanfield.arguments import checked
from meanfield.arrays import FloatArray
from meanfield.described import ResultBase
from meanfield.terms.flows import Flow

C, K = mf.Circle(), mf.exponential(beta=9.0)
P = mf.Problem(C, K, mf.USA)


@checked
def studied(
    flow: Flow,
    times: Sequence[float],
    *,
    masses: tuple[float, float] = (0.5, 0.5),
    count: int | None = None,
    points: FloatArray | None = None,
    rule: Callable[[float], float] | None = None,
    **options: Any,
) -> tuple[Any, ...]:
    """Say what came through."""
    return times, masses, count, points, options


def test_good_arguments_come_through_as_the_function_wants_them():
    """NumPy's numbers, whole floats and lists are what users have."""
    times, masses, count, points, options = studied(
        mf.SA, np.array([1, 2]), masses=[0.1, 0.9], count=1e4, points=[1, 2], kept="yes"
    )
    assert times == [1, 2] and masses == (0.1, 0.9) and options == {"kept": "yes"}
    assert (type(count), count, points.dtype) == (int, 10_000, np.float64)
    assert studied(mf.SA, (), count=None)[2:4] == (None, None)
    assert mf.Density(C, [1, 0]).max_degree == 1


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((Flow, [1.0]), {}, TypeError, r"flow must be a flow: .*; write Flow\(\), with brackets"),
        ((mf.SA,), {}, TypeError, "times is missing: give a list of numbers"),
        ((mf.SA, 1), {}, TypeError, "times must be a list of numbers, got 1"),
        ((mf.SA, [], 2), {}, TypeError, "too many; .*; by name there are masses, count"),
        ((mf.SA, [1]), {"times": 2}, TypeError, "times is given twice"),
        ((mf.SA, "1"), {}, TypeError, r"times must be a list of numbers, got '1' \(str\)"),
        ((mf.SA, [1, None]), {}, TypeError, r"times \[1\] must be a number, got None"),
        ((mf.SA, [np.nan]), {}, ValueError, r"times \[0\] must be a finite number, got nan"),
        ((mf.SA, []), {"masses": (1.0,)}, TypeError, "masses must be 2 numbers, got"),
        ((mf.SA, []), {"count": 10.5}, ValueError, r"count must be an integer, got 10.5 \(float"),
        ((mf.SA, []), {"count": True}, TypeError, r"count must be an integer, got True \(bool"),
        ((mf.SA, []), {"points": "abc"}, TypeError, "points must be an array of real numbers"),
        ((mf.SA, []), {"points": [1j]}, TypeError, "points must be an array of real numbers"),
        ((mf.SA, []), {"points": [[1], [1, 2]]}, ValueError, "points must .* rows of one length"),
        ((mf.SA, []), {"rule": 3}, TypeError, r"rule must be a function, got 3 \(int\)"),
    ],
)
def test_wrong_arguments_are_refused(arguments, options, error, message):
    """NumPy would raise an obscure error far away."""
    refused("^studied: .*" + message, studied, *arguments, **options, error=error)


def test_unknown_annotations_are_no_check():
    """A parameter would go unchecked without anyone's notice."""

    @checked
    def open_to(anything: set[int]) -> None: ...

    refused(r"no kind is known for set\[int\]", open_to, {1}, error=NotImplementedError)


def test_signatures_survive():
    """`help()` would show *args instead of the names."""
    assert list(inspect.signature(studied).parameters)[:2] == ["flow", "times"]
    assert list(inspect.signature(mf.Problem).parameters)[:4] == [
        "manifold", "kernel", "flow", "initial",
    ]  # fmt: skip
    assert studied.__doc__ == "Say what came through."


PROBLEMS: list[tuple[Any, str]] = [
    (("circle", K), r"manifold, such as mf.Circle\(\) or mf.Sphere\(\), got 'circle' \(str\)"),
    ((mf.Circle, K), r"got the class Circle; write Circle\(\), with brackets"),
    ((C, 5.0), r"kernel must be a kernel, such as mf.exponential\(beta=9.0\) or an .*got 5.0"),
    ((C, mf.exponential), r"got the function exponential; write exponential\(...\), with br"),
    ((K, C), r"manifold must .*; the order is Problem\(manifold, kernel, flow, initial\)"),
    ((C, K, "SA"), r"flow must be a flow: mf.USA, mf.SA or mf.Flow\(...\), got 'SA'"),
    ((C, K, mf.uniform()), r"flow .*; the order is Problem\(manifold, kernel, flow, initial\)"),
    ((C, K, mf.USA, [[3, 0.1, 0]]), r"initial must be an initial law, .*, got \[\[3, 0.1, 0"),
    ((C, K, mf.USA, mf.uniform), r"the class uniform; write uniform\(\), with brackets"),
    ((C, K, mf.USA, np.zeros(3)), r"shape \(3,\); tokens are mf.from_points\(array\)"),
    ((C, K, mf.USA, np.cos), r"function cos; a density is mf.from_function\(f\)"),
    ((C, K, mf.USA, "a.npy"), r"tokens of a file are mf.from_points\(np.load\(path\)\)"),
    ((C, K, mf.USA, mf.Density(C, [1])), r"a density is mf.from_density\(density.coeff"),
]


@together("arguments, message", PROBLEMS)
def test_problem_says_what_it_wants(arguments, message):
    """The mistake would surface in the middle of a run."""
    refused("^Problem: .*" + message, mf.Problem, *arguments, error=TypeError)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("simulat", "simulate"), ("exponental", "exponential"), ("tokens", "from_points")],
)
def test_names_that_are_not_there_come_with_the_nearest(name, meant):
    """Own tokens could not be found from Python."""
    refused(f"attribute '{name}'; did you mean {meant}?", getattr, mf, name, error=AttributeError)
    assert not hasattr(mf, "_wrapped")


PUBLIC = {name: getattr(mf, name) for name in mf.__all__}
# What the package makes and users only look at, and what is a name for its children.
RESULTS = {
    *("Event", "Kernel", "LinearOperator", "SimulationError", "ClusterTree", "Fluctuations"),
    *("LimitShape", "PairCorrelation", "StationaryState", "TokenLimit", "Seen"),
    # Checked where a term of the user's own returns it (tests/terms/test_own.py).
    "VectorField",
}
CALLABLES = {
    name: made
    for name, made in PUBLIC.items()
    if callable(made) and name not in RESULTS
    if not (isinstance(made, type) and issubclass(made, ResultBase))
} | {
    method.__qualname__: method
    for owner in (mf.Density, mf.Measure, mf.Run)
    for name, method in vars(owner).items()
    if inspect.isfunction(method) and not name.startswith("_")
    if len(inspect.signature(method).parameters) > 1
}
PARAMETERS = [
    (name, parameter)
    for name, called in CALLABLES.items()
    for parameter in inspect.signature(called).parameters.values()
    if parameter.name not in ("self", "options") and "ArrayLike" not in str(parameter.annotation)
]
# Values that hardly any parameter takes, and the words of annotations that do.
ODD = [
    (object(), ""), ("1", "str Functional"), (1j, ""), ([None], "Iterable"), ({"a": 1}, "Mapping"),
    (mf.Circle, ""), (len, "Call Progress ProblemAt Own Functional"), (np.True_, "bool"),
    (10.5, "float"), (np.array([["a"], ["b"]]), "Iterable"),
]  # fmt: skip
INTERNAL = "object has no attribute|ufunc|broadcast|unpack|subscriptable|__init__|positional"


def message_of(name: str, /, *arguments: object, **named: object) -> str:
    try:
        CALLABLES[name](*arguments, **named)
    except (TypeError, ValueError) as error:
        return str(error)
    except Exception as error:
        return f"{name}: {error!r}"
    return f"{name} takes {named or arguments}"


def test_every_parameter_of_every_public_function_is_checked():
    """A new function, or a new parameter of one, would let anything in."""
    wrong, count = [], 0
    for name, parameter in PARAMETERS:
        hint = str(parameter.annotation).replace("Mean", "float")
        for value, words in ODD:
            if not any(word in hint for word in words.split()):
                count += 1
                message = message_of(name, **{parameter.name: value})
                right = re.search(f"^{name}: {parameter.name}\\b", message)
                if not right or re.search(INTERNAL, message) or len(message) >= 300:
                    wrong.append(message)
    assert count > 3000 and not wrong, "\n".join(wrong)


# Newer releases of NumPy make named aliases of their array types.
ALIASES = """
import types, numpy.typing

class Alias:
    def __getitem__(self, dtype):
        return types.GenericAlias(self, dtype)

numpy.typing.NDArray, numpy.typing.ArrayLike = Alias(), Alias()[object]
import meanfield as mf

mf.Density(mf.Circle(), [1.0, 0.1])
mf.Head(score=[1.0, -1.0])
for points in (["a", "b"], [1j, 2j], None):
    try:
        mf.from_points(points)
    except TypeError as error:
        print(error)
"""


def test_array_types_need_no_certain_spelling_of_numpy():
    """With NumPy 2.5 every example failed."""
    done = run_python(ALIASES)
    assert done.stderr == ""
    received = ["['a', 'b'] (list)", "[1j, 2j] (list)", "None"]
    for line, text in zip(done.stdout.splitlines(), received, strict=True):
        assert line.startswith(f"from_points: points must be an array of real numbers, got {text}")


def test_every_public_function_knows_its_names():
    """Python would say that __init__ got an unexpected keyword, and not which there are."""
    wrong = []
    for name in CALLABLES.keys() - {"Run.plot"}:
        unknown, many = message_of(name, no_such_name=1), message_of(name, *[None] * 20)
        if not re.search(f"^{name}: no_such_name is not known.*Known: ", unknown):
            wrong.append(unknown)
        if not re.search(f"^{name}: None is one argument too many; the order is ", many):
            wrong.append(many)
    assert not wrong, "\n".join(wrong)


LAW = mf.von_mises_fisher(2.0)
TOKENS = mf.Measure(mf.Sphere(64), np.eye(64)[:3])
ROWS = mf.from_points(np.eye(64)[:3])


class Client:
    """Client of Dask by its name, which is all that is asked for."""


MISTAKES: list[tuple[Callable[[], object], str]] = [
    (lambda: mf.perturbed_uniform([3, 0.1, 0]), r"modes must be a list of modes, such as \[\["),
    (lambda: mf.from_density(lambda t: t), "coefficients must be an array of numbers, got the f"),
    (lambda: mf.mixture([(0.5, LAW), (0.5, LAW)]), r"list of \(weight, mean, concentration\), "),
    (lambda: mf.mixture([{"weight": 1.0}]), "component: concentration is missing"),
    (lambda: mf.mixture([{"weight": 1.0, "kappa": 2.0}]), "kappa is not known. Known: weight"),
    (lambda: mf.von_mises_fisher(1.0, 20.0), "too many; .*; by name there are mean"),
    (lambda: mf.von_mises_fisher(2.0, centre=1.0), "centre is not known. Known: concentration"),
    (lambda: mf.sampled(100, 0, -1), "max_degree must be at least 0, got -1"),
    (lambda: mf.sample_tokens(LAW.build(C), 10, -1), "rng must be at least 0, got -1"),
    (lambda: mf.sample_tokens(LAW.build(C), -1, 0), "count must be at least 0, got -1"),
    (lambda: mf.growth_rates(P, -1), "max_degree must be at least 0, got -1"),
    (lambda: mf.switching_threshold(1, 1), r"such as mf.Circle\(\) or mf.Sphere\(\), got 1 \(int"),
    (lambda: mf.switching_threshold(C, 0), "degree must be at least 1, got 0"),
    (lambda: mf.Sphere(1.5), "ambient must be an integer, got 1.5"),
    (lambda: mf.Circle(2), r"2 \(int\) is one argument too many; the order is Circle\(\)"),
    (lambda: mf.wasserstein([0.0], [1.0]), r"first must be weighted points, .*, got \[0.0\] \(l"),
    (lambda: mf.from_points(np.linspace(0, 359, 60)), "like degrees, the largest is 359: .*rad"),
    (lambda: mf.Measure(C, np.ones((50, 768))), r"tokens of R\^768 live on mf.Sphere"),
    (lambda: mf.Measure(mf.Sphere(), np.ones((9, 8))),
     r"shape \(9, 8\), .* live on mf.Sphere\(8\)"),
    (lambda: mf.zonal(math.exp), r"takes single numbers only, .*np.exp\(s\) for math.exp"),
    (lambda: mf.zonal(lambda s: s if s > 0 else 0), r"np.where\(s > 0, s, 0\) for s if s > 0"),
    (lambda: mf.zonal(lambda s: 1.0), r"gave shape \(\) for .*: write a constant as 0 \* s \+ 1"),
    (lambda: mf.zonal(lambda s: s[:3]), r"gave shape \(3,\) for .*, expected one number for each"),
    (lambda: mf.zonal(lambda s: np.exp(1j * s)), "must give real numbers, got complex128: give np"),
    (lambda: mf.zonal(lambda s: np.log(s)), "not finite on .*: nan at s = "),
    (lambda: mf.zonal(lambda s: np.maximum(s, 0)), "not smooth enough: .* Round its corners, as"),
    (lambda: mf.zonal(lambda s: np.maximum(s, 0) ** 2), "not smooth enough: its multipliers"),
    (lambda: mf.zonal(np.exp, beta=-3), "zonal: beta must lie between .* cluster, got -3"),
    (lambda: mf.zonal(), "its multipliers or its potential, got neither"),
    (lambda: mf.von_mises_fisher(1e300), r"at most 1e\+08, got 1e\+300"),
    (lambda: mf.from_density([1.0, np.nan]), "coefficients of a density must be finite"),
    (lambda: mf.from_density([0.5, 0.1]), "degree 0 is 0.5, expected the mass 1"),
    (lambda: mf.from_points([]), r"points have shape \(0,\), expected at least one"),
    (lambda: mf.load("."), ". is a folder or a device, expected a file"),
    (lambda: LAW.build(C).moments(10**12), "max_degree must be at most 1048576, got 1000000000000"),
    (lambda: mf.Measure(C, [1]).moments(10**12), "max_degree must be at most 1048576, got 100"),
    (lambda: mf.Measure(C, [1]).moments(-1), "max_degree must be at least 0, got -1"),
    (lambda: mf.sobolev_distance(LAW.build(C), LAW.build(C), 10**12),
     "max_degree must be at most 1048576, got 10"),
    (lambda: mf.perturbed_uniform([[10**9, 0, 0.1]]).build(mf.Sphere()),
     "degree of a mode must be at most 2047, got 1000000000"),
    (lambda: mf.sampled(10**13), "tokens must be at most 10000000000, got 10000000000000"),
    (lambda: mf.sample_tokens(LAW.build(C), 10**15, 0), "count must be at most 10000000000, g"),
    (lambda: mf.simulate(P, 1, tokens=10**13), "tokens must be at most 10000000000, got"),
    (lambda: mf.switching_threshold(C, 10**7), "degree must be at most 1048576, got 10000000"),
    (lambda: P.initial_measure(3), r"initial_measure: 3 \(int\) is one arg"),
    (lambda: LAW.build(C)(0.1, 0.2), r"__call__: 0.2 \(float\) is one .*; by name there are width"),
    (lambda: K.attention(np.pi), r"s must be similarities <x, y> in \[-1, 1\], .* got 3"),
    (lambda: K.potential("x"), r"potential: s must be an array .* or a number, got 'x' \(str"),
    (lambda: K.degree("circle"), r"degree: dimension must be an integer, got 'circle'"),
    (lambda: K.attention_multipliers(C, 3), r"dimension must be an integer, got Circle\(\)"),
    (lambda: K.attention_multipliers(1, -2), "max_degree must be at least 0, got -2"),
    (lambda: mf.zonal(K), r"attention must be a function, got exponential\(beta=9.0\)"),
    (lambda: mf.predict_clusters(P, "100"), "tokens must be an integer or an arr"),
    (lambda: mf.ensemble(mf.Problem, runs=3), r"got the class Problem; write Problem\(...\), with"),
    (lambda: mf.stationary_state(P, 2.5), "symmetry must be an integer, got 2.5"),
    (lambda: mf.load("x.h5", "al"), "states must be 'all', 'last' or 'none', got 'al' .*all'"),
    (lambda: mf.ensemble(lambda: 3), r"problem\(\) must give a problem, .*, got 3 \(int"),
    (lambda: mf.phase_diagram(lambda b: 3, [1]), r"problem_at\(beta\) must give a problem"),
    (lambda: mf.Problem(C, K, mf.USA, mf.Law("m", lambda m: 3)).initial_measure(), "'m' must give"),
    (lambda: mf.growth_rates(P, 10**9), "max_degree must be at most 1048576, got"),
    (lambda: mf.mean_clusters(P, 9, time=-1), "time must be at least 0, got -1"),
    (lambda: mf.von_mises_fisher(9, mean=[0, 0, 1]).build(C), r"mean = \(0.0, .* must be an angle"),
    (lambda: mf.von_mises_fisher(9, mean=1.0).build(mf.Sphere()), "must be a vector .* the sphere"),
    (lambda: mf.wasserstein(LAW.build(C), LAW.build(C), tolerance=-1),
     "tolerance must be at least"),
    (lambda: mf.simulate(C, until=1), r"problem must be a problem, .*, got Circle\(\)"),
    (lambda: mf.simulate(P, until="1"), r"until must be a number, got '1' \(str"),
    (lambda: mf.simulate(P, 1, tokens=10.5), "tokens must be an integer, got 10.5"),
    (lambda: mf.simulate(P, 1, tolerence=1), r"did you mean tolerance\? Known: pr"),
    (lambda: mf.simulate(P, 1, stop=3), "stop must be 'one_cluster' or a functi"),
    (lambda: mf.simulate(P, 1, stop="one_clustr"),
     "stop must be 'one_cluster' or a function, got 'one_clustr' .*did you mean 'one_cluster'"),
    (lambda: mf.simulate(P, 1, observables=3), "must be a list or a dictionary"),
    (lambda: mf.observable(len, "a"), "observable: name must be a string, got the function len"),
    (lambda: mf.from_points("a.npy"), r"got 'a.npy' \(str\); np.load\(path\) reads a file"),
    (lambda: mf.load(3), r"path must be a string or a path, got 3 \(int\)"),
    (lambda: mf.simulate(mf.Problem(mf.Euclidean(64), mf.zonal(np.exp), mf.USA, ROWS), 1.0),
     "kernel 'zonal' is no head of attention on space:64, expected mf.exponential, .* Own ker"),
    (lambda: mf.zonal(np.exp, beta=lambda t: 2 + t),
     "beta .*; functions of time are for mf.Attention, mf.Head, mf.exponential, mf.Flow and mf"),
    (lambda: mf.Attention([mf.RandomHead()], beta=1.0),
     r"heads \[0\] .*RandomHead.*; mf.merging_diagram alone draws .*, as mf.Head\(score="),
    (lambda: mf.ensemble(P, executor=Client()),
     r"executor must be an executor, .*; client.get_executor\(\) makes one"),
    (lambda: mf.wasserstein(TOKENS, TOKENS),
     "no Wasserstein distance is known on the sphere:64. .* mf.maximum_mean_discrepancy"),
]  # fmt: skip


@together("call, message", MISTAKES)
def test_mistakes_of_newcomers_are_explained(call, message):
    """Each once surfaced far away, in the words of NumPy, or not at all."""
    with pytest.raises((TypeError, ValueError), match=message) as caught:
        call()
    assert not re.search(INTERNAL, str(caught.value))


def test_errors_of_own_kernels_are_their_own():
    """A slip inside the function would be reported as something else."""
    with pytest.raises(NameError, match="undefined"):
        mf.zonal(lambda s: undefined * s)  # type: ignore[name-defined]  # noqa: F821
    with pytest.raises(TypeError, match="takes 0 positional"):
        mf.zonal(lambda: 1.0)  # type: ignore[misc, arg-type]


def test_a_seed_is_a_generator():
    """A generator of NumPy would be refused as a seed."""
    density, rng = LAW.build(C), np.random.default_rng(3)
    assert isinstance(density, mf.Density)
    assert np.array_equal(mf.sample_tokens(density, 5, 3), mf.sample_tokens(density, 5, rng))


def test_radians_of_some_turns_are_no_degrees():
    """Windings of noisy tokens would be refused."""
    for largest in (25.0, 361.0, 1e4):
        assert len(mf.from_points([0.0, largest]).build(C).points) == 2
