"""Kinds of arguments by annotation: the words for each, and the values that it takes.

Numbers of NumPy become Python's, lists arrays where arrays are wanted. Whole floats are integers,
for 1e4 tokens are as good as 10000; 10.5 is refused.
"""

from __future__ import annotations

import math
import os
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter, signature
from types import FunctionType, NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import numpy as np
from numpy.typing import ArrayLike

from meanfield.arrays import FloatArray, IntArray, ModalArray
from meanfield.errors import nearest, one_line

# What is wanted where a class is: by its name, for this floor knows no other.
_WORDS = {
    "Attention": "an attention, such as mf.Attention([mf.Head(score=[1, -1])], beta=4.0)",
    "Axes": "axes of matplotlib, such as Figure().subplots()",
    "Density": "a density, such as mf.Density(mf.Circle(), [1.0, 0.1])",
    "Encoder": "an encoder, such as mf.load_encoder(folder)",
    "Event": "an Event",
    "Executor": "an executor, such as concurrent.futures.ProcessPoolExecutor()",
    "Flow": "a flow: mf.USA, mf.SA or mf.Flow(...)",
    "Frequencies": "a law of frequencies, such as mf.Lorentzian(width=0.2)",
    "Generator": "a random generator, such as np.random.default_rng(0)",
    "Head": "a head, such as mf.Head(score=[1, -1], value=1.0)",
    "InitialLaw": "an initial law, such as mf.uniform() or mf.von_mises_fisher(2.0)",
    "Kernel": "a kernel, such as mf.exponential(beta=9.0)",
    "Manifold": "a manifold, such as mf.Circle() or mf.Sphere()",
    "Measure": "weighted points, such as mf.Measure(mf.Circle(), [0.0, 3.0])",
    "Problem": "a problem, such as mf.Problem(mf.Circle(), mf.exponential(beta=9.0))",
    "Run": "a run, such as mf.simulate(...) makes",
    "Stage": "a stage, such as mf.Stage(end=1.0)",
    "Geometry": "a manifold, such as mf.Circle() or mf.Sphere()",
    "UnimodalFrequencies": "a law of frequencies with a peak, such as mf.Gaussian(width=0.5)",
}

# What to write in place of a value, by the name of what is wanted and the type of the value.
_REMEDIES = {
    "Executor": {"Client": "client.get_executor() makes one"},
    "Head": {
        "RandomHead": "mf.merging_diagram alone draws random heads anew for every replica: draw "
        "matrices once, as mf.Head(score=rng.normal(size=(d, d)))"
    },
    "InitialLaw": {
        **dict.fromkeys(["list", "ndarray"], "tokens are mf.from_points(array)"),
        **dict.fromkeys(["function", "ufunc"], "a density is mf.from_function(f)"),
        "str": "tokens of a file are mf.from_points(np.load(path))",
        "Density": "a density is mf.from_density(density.coefficients)",
        "Measure": "points are mf.from_points(measure.points, measure.weights)",
    },
}
# Parameters that people write as functions of time.
_PARAMETERS = ("beta", "strength", "diffusivity")

# Words and dtype kinds of each array type. NumPy spells these types differently in each release,
# so they are compared, never taken apart.
_ARRAYS = {
    FloatArray: ("an array of real numbers", "fiu"),
    IntArray: ("an array of integers", "iu"),
    ModalArray: ("an array of numbers", "fiuc"),
}

_LARGEST = float(np.finfo(np.float64).max)
_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 60


class Mismatch(TypeError):
    """A value of another kind altogether: another member of a union may take it."""


class Kind(NamedTuple):
    """Kind of an argument.

    `take` returns the value as the function uses it, or raises `Mismatch` without words; TypeError
    or ValueError with the rest of the sentence if it knows better what is wrong.
    """

    words: str
    take: Callable[[Any], Any]
    wanted: Any = None


def describe(value: object) -> str:
    """A value in an error: short, on one line, with its type."""
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if callable(value) and hasattr(value, "__name__"):
        return f"the function {value.__name__}"
    if isinstance(value, np.ndarray):
        kind = "" if value.dtype.kind in "fiu" else f" of {value.dtype}"
        return f"an array{kind} of shape {value.shape}"
    text = one_line(_REPR.repr(value))
    ours = type(value).__module__.startswith("meanfield.")
    return text if ours else f"{text} ({type(value).__name__})"


def one_of(value: str, choices: Iterable[str]) -> str:
    """A name if it is known."""
    names = tuple(choices)
    if value in names:
        return value
    near = nearest(str(value), names)
    meant = f"; did you mean {near!r}?" if near else "."
    raise ValueError(f"must be {_words(names)}, got {describe(value)}{meant}")


def _words(names: Sequence[str]) -> str:
    *others, last = map(repr, names)
    return f"{', '.join(others)} or {last}" if others else last


def kind_of(hint: Any) -> Kind:
    """Kind that an annotation says."""
    if isinstance(hint, TypeVar) or hint is Any:
        return Kind("anything", lambda value: value)
    if hint in (ArrayLike, ArrayLike | None):  # of what shape, the function knows
        return Kind("a number or an array of them", lambda value: value)
    if hint in _ARRAYS:
        return _array(*_ARRAYS[hint])
    origin, members = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _worded(kind_of(members[0]), members[1])
    if origin in (Union, UnionType):
        return _either([kind_of(member) for member in members])
    if origin is Literal:
        return Kind(_words(members), lambda value: one_of(_string(value), members))
    if origin is Callable:
        return Kind("a function", _function)
    if origin is tuple and Ellipsis not in members:
        return _tuple_of([kind_of(member) for member in members])
    if origin in (Sequence, Iterable, list, tuple):
        return _sequence_of(kind_of(members[0]))
    if origin in (dict, Mapping):
        return Kind("a dictionary", lambda value: _instance(value, Mapping))
    simple = {
        float: Kind("a number", _number),
        int: Kind("an integer", _integer),
        bool: Kind("True or False", _boolean),
        str: Kind("a string", _string),
        NoneType: Kind("None", lambda value: _instance(value, NoneType)),
    }
    if hint in simple:
        return simple[hint]
    if origin is os.PathLike or hint is os.PathLike:
        return Kind("a path", lambda value: _instance(value, os.PathLike))
    if isinstance(hint, type):
        words = _WORDS.get(hint.__name__, f"a {hint.__name__}")
        return Kind(words, lambda value: _instance(value, hint), hint)
    raise NotImplementedError(f"checks: no kind is known for {hint!r}.")


def _number(value: Any) -> Any:
    if type(value) is not float:
        if isinstance(value, np.generic | np.ndarray) and np.ndim(value) == 0:
            value = value.item()
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Mismatch
    if not abs(value) <= _LARGEST:
        raise ValueError(f"must be a finite number, got {describe(value)}.")
    return value


def _integer(value: Any) -> int:
    if type(value) is int:
        return value
    value = _number(value)
    if value != math.floor(value):
        raise ValueError(f"must be an integer, got {describe(value)}.")
    return int(value)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise Mismatch
    return bool(value)


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise Mismatch
    return value


def _function(value: Any) -> Any:
    # A class would make an object of itself: it was written without its brackets.
    if not callable(value) or isinstance(value, type):
        raise Mismatch
    return value


def _instance(value: Any, wanted: Any) -> Any:
    if not fits(value, wanted):
        raise Mismatch
    return value


def fits(value: Any, wanted: Any) -> bool:
    """True if a value is of a class; of a protocol, if its class has the members."""
    if not isinstance(wanted, type):
        return False
    if not getattr(wanted, "_is_protocol", False):
        return isinstance(value, wanted)
    # By hand: isinstance would compute every property, and take classes for their objects.
    if isinstance(value, type):
        return False
    own = getattr(value, "__dict__", ())
    return all(member in own or hasattr(type(value), member) for member in _members(wanted))


def _members(protocol: type) -> set[str]:
    return {name for each in protocol.__mro__ for name in vars(each) if not name.startswith("_")}


def _array(kind: str, allowed: str) -> Kind:
    def take(value: Any) -> Any:
        if hasattr(value, "to_array"):  # pyshtools.SHCoeffs, SHGrid
            return value
        if isinstance(value, str | bytes | Mapping) or np.isscalar(value):
            raise Mismatch
        try:
            array = np.asarray(value)
        except (TypeError, ValueError):
            raise ValueError(
                f"must be {kind} with rows of one length, got {describe(value)}."
            ) from None
        if array.ndim == 0 or (array.size and array.dtype.kind not in allowed):
            raise Mismatch
        if array.dtype.kind in "fc" and array.size:
            return array
        return array.astype(np.int64 if allowed == "iu" else np.float64, copy=False)

    return Kind(kind, take)


def _items(value: Any) -> Sequence[Any]:
    if isinstance(value, str | bytes):
        raise Mismatch
    if isinstance(value, np.ndarray):
        value = value.tolist()  # of a single number, that number
    if not isinstance(value, Sequence):
        raise Mismatch
    return value


def _item(position: int, kind: Kind, value: Any) -> Any:
    error: type[Exception]
    try:
        return kind.take(value)
    except Mismatch:
        problem = f"must be {kind.words}, got {describe(value)}{remedy(value, kind)}."
        error = TypeError
    except (TypeError, ValueError) as wrong:
        error, problem = type(wrong), str(wrong)
    raise error(f"[{position}] {problem}")


def _worded(kind: Kind, words: str) -> Kind:
    """A kind with words of its own, also for what is wrong inside."""

    def take(value: Any) -> Any:
        try:
            return kind.take(value)
        except TypeError:
            raise Mismatch from None

    return Kind(words, take, kind.wanted)


def _many(kind: Kind) -> str:
    plurals = {"a number": "numbers", "an integer": "integers", "a string": "strings"}
    return plurals.get(kind.words, "")


def _sequence_of(kind: Kind) -> Kind:
    many = _many(kind)

    def take(value: Any) -> Any:
        items = [_item(i, kind, item) for i, item in enumerate(_items(value))]
        return tuple(items) if isinstance(value, tuple) else items

    if kind.words == "anything":
        return Kind("a list", take)
    return Kind(f"a list of {many}" if many else f"a list, each entry {kind.words}", take)


def _tuple_of(kinds: list[Kind]) -> Kind:
    words = f"{len(kinds)} values, {', '.join(kind.words for kind in kinds)}"
    if len({kind.words for kind in kinds}) == 1 and _many(kinds[0]):
        words = f"{len(kinds)} {_many(kinds[0])}"

    def take(value: Any) -> Any:
        items = _items(value)
        if len(items) != len(kinds):
            raise Mismatch
        return tuple(_item(i, *each) for i, each in enumerate(zip(kinds, items, strict=True)))

    return Kind(words, take)


def _either(kinds: list[Kind]) -> Kind:
    # None is always allowed to be left out: no need to say it where something else is meant.
    words = " or ".join(dict.fromkeys(kind.words for kind in kinds if kind.words != "None"))

    def take(value: Any) -> Any:
        closest: Exception = Mismatch()
        for kind in kinds:
            try:
                return kind.take(value)
            except Mismatch:
                continue
            except (TypeError, ValueError) as wrong:
                closest = wrong if isinstance(closest, Mismatch) else closest
        raise closest

    wanted = next((kind.wanted for kind in kinds if kind.wanted), None)
    return Kind(words, take, wanted)


def remedy(value: Any, kind: Kind, parameter: str = "") -> str:
    """End of the sentence on a wrong value: what to write in its place, if that is clear."""
    if isinstance(value, FunctionType) and parameter in _PARAMETERS:
        return (
            "; functions of time are for mf.Attention, mf.Head, mf.exponential, mf.Flow and "
            "mf.LinearDrift, in a Problem"
        )
    if isinstance(value, str) and "an array" in kind.words:
        return "; np.load(path) reads a file"
    if kind.wanted is None:
        return ""
    if isinstance(value, type):
        attributes = {*dir(value), *getattr(value, "__dataclass_fields__", ())}
        if getattr(kind.wanted, "_is_protocol", False):
            makes = _members(kind.wanted) <= attributes
        else:
            makes = issubclass(value, kind.wanted)
    else:
        returned = getattr(value, "__annotations__", {}).get("return")
        makes = isinstance(value, FunctionType) and returned == kind.wanted.__name__
    if makes:
        parameters = signature(value).parameters.values()
        needed = any(each.default is Parameter.empty for each in parameters)
        return f"; write {value.__name__}({'...' if needed else ''}), with brackets"
    advice = _REMEDIES.get(kind.wanted.__name__, {}).get(type(value).__name__)
    return f"; {advice}" if advice else ""
