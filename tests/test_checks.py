"""Arguments of public functions: wrong ones are told what was expected, what came, what to do."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.checks import checked
from meanfield.flows import Flow

C, K = mf.Circle(), mf.exponential(beta=9.0)


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


def test_good_arguments_come_through_as_the_function_wants_them() -> None:
    """NumPy's numbers, whole floats and lists are what users have."""
    times, masses, count, points, options = studied(
        mf.SA, np.array([1, 2]), masses=[0.1, 0.9], count=1e4, points=[1, 2], kept="yes"
    )
    assert times == [1, 2] and masses == (0.1, 0.9) and options == {"kept": "yes"}
    assert (type(count), count, points.dtype) == (int, 10_000, np.float64)
    assert studied(mf.SA, (), count=None)[2:4] == (None, None)


@pytest.mark.parametrize(
    ("given", "options", "error", "message"),
    [
        ((Flow, [1.0]), {}, TypeError, r"flow must be a flow: .*; write Flow\(\), with brackets"),
        ((mf.SA,), {}, TypeError, "times is missing: give a list, each entry a number"),
        ((mf.SA, 1), {}, TypeError, "times must be a list, each entry a number, got 1"),
        ((mf.SA, [], 2), {}, TypeError, "too many; .*; others have names: masses=..., count="),
        ((mf.SA, [1]), {"times": 2}, TypeError, "times is given twice"),
        ((mf.SA, "1"), {}, TypeError, r"times must be a list, .*, got '1' \(str\)"),
        ((mf.SA, [1, None]), {}, TypeError, r"times \[1\] must be a number, got None"),
        ((mf.SA, [np.nan]), {}, ValueError, r"times \[0\] must be a finite number, got nan"),
        ((mf.SA, []), {"masses": (1.0,)}, TypeError, "masses must be 2 values, a number, a num"),
        ((mf.SA, []), {"count": 10.5}, ValueError, r"count must be an integer, got 10.5 \(float"),
        ((mf.SA, []), {"count": True}, TypeError, r"count must be an integer, got True \(bool"),
        ((mf.SA, []), {"points": "abc"}, TypeError, "points must be an array of real numbers"),
        ((mf.SA, []), {"points": [1j]}, TypeError, "points must be an array of real numbers"),
        ((mf.SA, []), {"points": [[1], [1, 2]]}, ValueError, "points must .* rows of one length"),
        ((mf.SA, []), {"rule": 3}, TypeError, r"rule must be a function, got 3 \(int\)"),
    ],
)
def test_wrong_arguments_are_told(
    given: Any, options: Any, error: type[Exception], message: str
) -> None:
    """Somewhere far away NumPy would say something that nobody understands."""
    with pytest.raises(error, match="^studied: .*" + message):
        studied(*given, **options)


def test_unknown_annotations_are_no_check() -> None:
    """A parameter would go unchecked without anyone's notice."""

    @checked
    def open_to(anything: set[int]) -> None: ...

    with pytest.raises(NotImplementedError, match=r"no kind is known for set\[int\]"):
        open_to({1})


def test_signatures_survive() -> None:
    """`help()` would show *args instead of the names."""
    assert list(inspect.signature(studied).parameters)[:2] == ["flow", "times"]
    assert list(inspect.signature(mf.Problem).parameters) == [
        "manifold",
        "kernel",
        "flow",
        "initial",
    ]
    assert studied.__doc__ == "Say what came through."


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("circle", K), r"manifold, such as mf.Circle\(\) or mf.Sphere\(\), got 'circle' \(str\)"),
        ((mf.Circle, K), r"got the class Circle; write Circle\(\), with brackets"),
        ((C, 5.0), r"kernel must be a kernel, such as mf.exponential\(beta=9.0\), got 5.0"),
        ((C, mf.exponential), r"got the function exponential; write exponential\(...\), with br"),
        ((K, C), r"manifold must .*; the order is Problem\(manifold, kernel, flow, initial\)"),
        ((C, K, "SA"), r"flow must be a flow: mf.USA, mf.SA or mf.Flow\(...\), got 'SA'"),
        ((C, K, mf.uniform()), r"flow .*; the order is Problem\(manifold, kernel, flow, initial\)"),
        ((C, K, mf.USA, [[3, 0.1, 0]]), r"initial must be an initial law, .*, got \[\[3, 0.1, 0"),
        ((C, K, mf.USA, mf.uniform), r"the function uniform; write uniform\(\), with brackets"),
    ],
)
def test_problem_says_what_it_wants(given: Any, message: str) -> None:
    """The mistake would surface in the middle of a run."""
    with pytest.raises(TypeError, match="^Problem: .*" + message):
        mf.Problem(*given)
