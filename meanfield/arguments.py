"""Checks of the arguments of public functions against their annotations, with one-line errors.

`checked` reads the annotations of a function or a dataclass, as `runfile.keys` does for run files,
and checks the arguments before anything else runs. A wrong type raises a TypeError, a wrong value a
ValueError, each in one sentence: expected, received, remedy.

    simulate: until must be a number, got '1' (str).

Numbers of NumPy become Python's. Lists become arrays where arrays are expected. A whole float is
accepted as an integer (1e4 tokens), 10.5 is not. The function checks combinations of values.
"""

from __future__ import annotations

import math
import os
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache, wraps
from inspect import Parameter, signature, unwrap
from types import FunctionType, NoneType, SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    ParamSpec,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from numpy.typing import ArrayLike

from meanfield.arrays import FloatArray, IntArray, ModalArray
from meanfield.errors import nearest, one_line
from meanfield.renamed import renamed

# Class name -> words for errors. This module must not import the classes.
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
    "Mask": "mf.Window(width) or mf.Bias(function)",
    "Measure": "weighted points, such as mf.Measure(mf.Circle(), [0.0, 3.0])",
    "Problem": "a problem, such as mf.Problem(mf.Circle(), mf.exponential(beta=9.0))",
    "Rotary": "a rotary embedding, such as mf.Rotary(length=12)",
    "Run": "a run, such as mf.simulate(...) makes",
    "Stack": "a trained model, such as mf.load_decoder(path)",
    "Stage": "a stage, such as mf.Stage(end=1.0)",
    "Geometry": "a manifold, such as mf.Circle() or mf.Sphere()",
    "UnimodalFrequencies": "a law of frequencies with a peak, such as mf.Gaussian(width=0.5)",
}

# Expected class -> type of the wrong value -> what to write instead.
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
# Parameters that some classes accept as functions of time.
_PARAMETERS = ("beta", "strength", "diffusivity")

# Words and dtype kinds of each array type. The types are compared as a whole, because their parts
# differ between releases of NumPy.
_ARRAYS = {
    FloatArray: ("an array of real numbers", "fiu"),
    IntArray: ("an array of integers", "iu"),
    ModalArray: ("an array of numbers", "fiuc"),
}

_LARGEST = float(np.finfo(np.float64).max)
_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 60


class Mismatch(TypeError):
    """A value of another kind; another member of a union may accept it."""


class Kind(NamedTuple):
    """Kind of an argument.

    `take` returns the converted value. It raises `Mismatch` without a message, or a TypeError or
    ValueError whose message completes the sentence.
    """

    words: str
    take: Callable[[Any], Any]
    wanted: Any = None


def describe(value: object) -> str:
    """Short description of a value for an error: one line, with its type."""
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
    """Return a name that is among the choices; ValueError otherwise."""
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
    """Kind of an annotation."""
    if isinstance(hint, TypeVar) or hint is Any:
        return Kind("anything", lambda value: value)
    if hint in (ArrayLike, ArrayLike | None):  # the function checks the shape
        return Kind("a number or an array of them", lambda value: value)
    if hint in _ARRAYS:
        return _array(*_ARRAYS[hint])
    origin, members = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _worded(kind_of(members[0]), members[1])
    if origin in (Union, UnionType):
        return _either([kind_of(member) for member in members])
    if origin is Literal:
        return Kind(_words(members), lambda value: one_of(_instance(value, str), members))
    if origin is Callable:
        return Kind("a function", _function)
    if origin is tuple and Ellipsis not in members:
        return _tuple_of([kind_of(member) for member in members])
    if origin in (Sequence, Iterable, list, tuple):
        return _sequence_of(kind_of(members[0]))
    if origin in (dict, Mapping):
        return Kind("a dictionary", lambda value: _instance(value, Mapping))
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    if origin is os.PathLike or hint is os.PathLike:
        return Kind("a path", lambda value: _instance(value, os.PathLike))
    if isinstance(hint, type):
        words = _WORDS.get(hint.__name__, f"a {hint.__name__}")
        return Kind(words, lambda value: _instance(value, hint), hint)
    raise NotImplementedError(f"arguments: no kind is known for {hint!r}.")


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


def _function(value: Any) -> Any:
    # Calling a class would construct an object: the user forgot the brackets.
    if not callable(value) or isinstance(value, type):
        raise Mismatch
    return value


def _instance(value: Any, wanted: Any) -> Any:
    if not fits(value, wanted):
        raise Mismatch
    return value


_SIMPLE = {
    float: Kind("a number", _number),
    int: Kind("an integer", _integer),
    bool: Kind("True or False", lambda value: bool(_instance(value, bool | np.bool_))),
    str: Kind("a string", lambda value: _instance(value, str)),
    NoneType: Kind("None", lambda value: _instance(value, NoneType)),
}


def fits(value: Any, wanted: Any) -> bool:
    """True if a value is an instance of a class, or has the members of a protocol."""
    if not getattr(wanted, "_is_protocol", False):
        return isinstance(wanted, type | UnionType) and isinstance(value, wanted)
    # isinstance would compute every property, and accept a class in place of an object.
    if isinstance(value, type):
        return False
    kind: type = type(value)
    return _lacking(kind, wanted) <= getattr(value, "__dict__", {}).keys()


@lru_cache(maxsize=256)
def _lacking(kind: type, protocol: type) -> frozenset[str]:
    """Members of a protocol that a class lacks, so that its objects must have them."""
    return frozenset(name for name in _members(protocol) if not hasattr(kind, name))


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
        value = value.tolist()  # a number, if the array has no dimension
    if not isinstance(value, Sequence):
        raise Mismatch
    return value


def _complaint(wrong: Exception, kind: Kind, value: Any, place: str, advice: str) -> Exception:
    """Error for a value that its kind refuses; `advice` ends the sentence on a mismatch."""
    if isinstance(wrong, Mismatch):
        return TypeError(f"{place} must be {kind.words}, got {describe(value)}{advice}.")
    return (ValueError if isinstance(wrong, ValueError) else TypeError)(f"{place} {wrong}")


def _item(position: int, kind: Kind, value: Any) -> Any:
    try:
        return kind.take(value)
    except (TypeError, ValueError) as wrong:
        raise _complaint(wrong, kind, value, f"[{position}]", remedy(value, kind)) from None


def _worded(kind: Kind, words: str) -> Kind:
    """A kind with words of its own, also in the errors of its parts."""

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
    # The words leave None out: a user who gives a wrong value wants something else.
    words = " or ".join(dict.fromkeys(kind.words for kind in kinds if kind.words != "None"))

    def take(value: Any) -> Any:
        closest: Exception = Mismatch()
        for kind in kinds:
            try:
                return kind.take(value)
            except Mismatch:
                continue
            except (TypeError, ValueError) as wrong:
                if isinstance(closest, Mismatch):
                    closest = wrong
                    if kind.words.startswith("'"):  # names, but not the only allowed values
                        closest = type(wrong)(str(wrong).replace(kind.words, words, 1))
        raise closest

    wanted = next((kind.wanted for kind in kinds if kind.wanted), None)
    return Kind(words, take, wanted)


def remedy(value: Any, kind: Kind, parameter: str = "") -> str:
    """End of the error message: what to write instead of a value, if that is clear."""
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


_Checked = TypeVar("_Checked", bound=Callable[..., Any])
_Result = TypeVar("_Result")
_Arguments = ParamSpec("_Arguments")


def check_returned(what: str, value: Any, *wanted: type) -> Any:
    """The return value of a user's function, if its class is one of `wanted`.

    >>> check_returned("the function", 3, dict)
    Traceback (most recent call last):
    TypeError: the function must give a dict, got 3 (int).
    """
    if isinstance(value, wanted):
        return value
    words = " or ".join(kind_of(each).words for each in wanted)
    raise TypeError(f"{what} must give {words}, got {describe(value)}.")


def check_arguments(name: str, function: object) -> None:
    """Refuse a function that does not take a time and a measure.

    >>> check_arguments("stop", lambda time: True)
    Traceback (most recent call last):
    TypeError: stop is called as stop(time, measure), which this function does not take: too many \
positional arguments.
    """
    if not callable(function):
        raise TypeError("is no function.")
    with suppress(ValueError):  # some builtins have no signature
        try:
            signature(function).bind(0.0, None)
        except TypeError as error:
            text = f"{name} is called as {name}(time, measure), which this function does not"
            raise TypeError(f"{text} take: {error}.") from None


def at_least(least: float, **values: float) -> None:
    """Refuse numbers below a bound.

    >>> at_least(1, degree=0)
    Traceback (most recent call last):
    ValueError: degree must be at least 1, got 0.
    """
    for name, value in values.items():
        if value < least:
            raise ValueError(f"{name} must be at least {least:g}, got {value}.")


def at_most(most: float, **values: float) -> None:
    """Refuse numbers above a bound.

    >>> at_most(2**20, degree=10**12)
    Traceback (most recent call last):
    ValueError: degree must be at most 1048576, got 1000000000000.
    """
    for name, value in values.items():
        if value > most:
            raise ValueError(f"{name} must be at most {most}, got {value}.")


def checked(thing: _Checked) -> _Checked:
    """Check the arguments of a function, or the fields of a dataclass, by their annotations.

    Parameters without an annotation, such as `self`, are not checked.

    >>> import numpy as np
    >>> @checked
    ... def until(time: float, unit: str = "scaled") -> float:
    ...     return time
    >>> until(np.float32(2.0))
    2.0
    >>> until("1")
    Traceback (most recent call last):
    TypeError: until: time must be a number, got '1' (str).
    >>> until(1.0, units="paper")
    Traceback (most recent call last):
    TypeError: until: units is not known; did you mean unit? Known: time, unit.
    """
    if isinstance(thing, type):
        thing.__init__ = _guarded(thing.__init__, thing.__name__)  # type: ignore[misc]
        return thing
    # "Density.at" for a method; the plain name for a function inside another one.
    return cast(_Checked, _guarded(thing, thing.__qualname__.rpartition("<locals>.")[2]))


def checked_as(
    model: Callable[_Arguments, Any],
) -> Callable[[Callable[..., _Result]], Callable[_Arguments, _Result]]:
    """Check the arguments of a function by the signature of another one, and take its parameters.

    >>> def run(end: float, save: int = 61) -> str: ...
    >>> @checked_as(run)
    ... def count(*arguments, **options):
    ...     return signature(run).bind(*arguments, **options).arguments
    >>> count(2, save=3), signature(count)
    ({'end': 2, 'save': 3}, <Signature (end: 'float', save: 'int' = 61)>)
    >>> count("2")
    Traceback (most recent call last):
    TypeError: count: end must be a number, got '2' (str).
    """

    def decorate(function: Callable[..., _Result]) -> Callable[_Arguments, _Result]:
        guarded = _guarded(function, function.__name__, unwrap(model))
        returned = signature(function).return_annotation
        guarded.__signature__ = signature(model).replace(  # type: ignore[attr-defined]
            return_annotation=returned
        )
        return guarded

    return decorate


def _guarded(
    function: Callable[..., Any], name: str, model: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    model = model or function
    parameters = signature(model).parameters
    ordered = [
        each.name
        for each in parameters.values()
        if each.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.POSITIONAL_ONLY)
    ]
    open_ended = any(each.kind is Parameter.VAR_KEYWORD for each in parameters.values())
    named = {
        each.name: each
        for each in parameters.values()
        if each.kind not in (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL)
        and each.name != "self"
    }
    required = [each.name for each in named.values() if each.default is Parameter.empty]

    @cache  # at the first call: annotations may name classes that are defined later
    def kinds() -> dict[str, Kind]:
        return _kinds_of(model, list(named))

    def order() -> str:
        return f"the order is {name}({', '.join(each for each in ordered if each != 'self')})"

    def taken(parameter: str, value: Any) -> Any:
        kind = kinds().get(parameter)
        if kind is None or value is named[parameter].default:
            return value
        try:
            return kind.take(value)
        except (TypeError, ValueError) as wrong:
            advice = remedy(value, kind, parameter)
            if not advice and any(fits(value, each.wanted) for each in kinds().values()):
                advice = f"; {order()}"
            raise _complaint(wrong, kind, value, f"{name}: {parameter}", advice) from None

    def refuse_names(arguments: Sequence[Any], options: Mapping[str, Any]) -> None:
        missing = [each for each in named if each not in ordered[: len(arguments)]]
        for each in options:
            if each in named and each not in missing:
                raise TypeError(f"{name}: {each} is given twice; {order()}.")
            if each not in named and not open_ended:
                near = nearest(each, named)
                meant = f"; did you mean {near}?" if near else "."
                raise TypeError(f"{name}: {each} is not known{meant} Known: {', '.join(named)}.")
        if len(arguments) > len(ordered):
            extra = describe(arguments[len(ordered)])
            rest = [each for each in named if each not in ordered]
            others = f"; by name there are {', '.join(rest)}" if rest else ""
            raise TypeError(f"{name}: {extra} is one argument too many; {order()}{others}.")

    @wraps(function)
    def checked_first(*argument: Any, **options: Any) -> Any:
        if not options.keys() <= named.keys():
            options = renamed(options, named, f"{name}: ")
        if len(argument) > len(ordered) or not options.keys() <= named.keys() - set(
            ordered[: len(argument)]
        ):
            refuse_names(argument, options)
        values = [
            taken(each, value) if each in named else value
            for each, value in zip(ordered, argument, strict=False)
        ]
        for each, value in options.items():
            if each in named:
                options[each] = taken(each, value)
        for each in required:
            if each not in options and each not in ordered[: len(argument)]:
                words = f": give {kinds()[each].words}" if each in kinds() else ""
                raise TypeError(f"{name}: {each} is missing{words}; {order()}.")
        return function(*values, **options)

    return checked_first


def _kinds_of(function: Callable[..., Any], names: list[str]) -> dict[str, Kind]:
    written = {name: hint for name, hint in function.__annotations__.items() if name in names}
    home = getattr(function, "__globals__", {})
    hints = get_type_hints(SimpleNamespace(__annotations__=written), home, include_extras=True)
    return {name: kind_of(hint) for name, hint in hints.items()}
