"""Checks of arguments of public functions: expected value, received value, remedy.

`checked` reads the annotations of a function or of a dataclass (`kinds`), as run files do in
`runfile.keys`, and looks at what is given before anything else runs. A wrong kind is a TypeError, a
wrong value a ValueError, each of one sentence:

    simulate: until must be a number, got '1' (str).

What values mean together is for the function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, wraps
from inspect import Parameter, signature, unwrap
from types import SimpleNamespace
from typing import Any, ParamSpec, TypeVar, cast, get_type_hints

from meanfield.errors import nearest
from meanfield.kinds import Kind, Mismatch, describe, fits, kind_of, remedy
from meanfield.renamed import renamed

_Checked = TypeVar("_Checked", bound=Callable[..., Any])
_Result = TypeVar("_Result")
_Arguments = ParamSpec("_Arguments")


def check_returned(what: str, value: Any, *wanted: type) -> Any:
    """The return value of a user's function, if its class is one of `wanted`.

    Examples
    --------
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

    Examples
    --------
    >>> check_arguments("stop", lambda time: True)
    Traceback (most recent call last):
    TypeError: stop is called as stop(time, measure), which this function does not take: too many \
positional arguments.
    """
    if not callable(function):
        raise TypeError("is no function.")
    with suppress(ValueError):  # builtins may not tell their arguments
        try:
            signature(function).bind(0.0, None)
        except TypeError as error:
            text = f"{name} is called as {name}(time, measure), which this function does not"
            raise TypeError(f"{text} take: {error}.") from None


def at_least(least: float, **values: float) -> None:
    """Refuse numbers below a bound.

    Examples
    --------
    >>> at_least(1, degree=0)
    Traceback (most recent call last):
    ValueError: degree must be at least 1, got 0.
    """
    for name, value in values.items():
        if value < least:
            raise ValueError(f"{name} must be at least {least:g}, got {value}.")


def at_most(most: float, **values: float) -> None:
    """Refuse numbers above a bound.

    Examples
    --------
    >>> at_most(2**20, degree=10**12)
    Traceback (most recent call last):
    ValueError: degree must be at most 1048576, got 1000000000000.
    """
    for name, value in values.items():
        if value > most:
            raise ValueError(f"{name} must be at most {most}, got {value}.")


def checked(thing: _Checked) -> _Checked:
    """Check the arguments of a function, or the fields of a dataclass, by their annotations.

    Parameters without an annotation, as `self`, are left alone.

    Examples
    --------
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
    # Density.at, but for what is defined inside a function no more than its own name.
    return cast(_Checked, _guarded(thing, thing.__qualname__.rpartition("<locals>.")[2]))


def checked_as(
    model: Callable[_Arguments, Any],
) -> Callable[[Callable[..., _Result]], Callable[_Arguments, _Result]]:
    """Check the arguments of a function as those of a model, whose signature it takes.

    Examples
    --------
    >>> def run(end: float, save: int = 61) -> str: ...
    >>> @checked_as(run)
    ... def count(*arguments, **options):
    ...     return signature(run).bind(*arguments, **options).arguments
    >>> count(2, save=3), signature(count)
    ({'end': 2, 'save': 3}, <Signature (end: 'float', save: 'int' = 61) -> 'str'>)
    >>> count("2")
    Traceback (most recent call last):
    TypeError: count: end must be a number, got '2' (str).
    """

    def decorate(function: Callable[..., _Result]) -> Callable[_Arguments, _Result]:
        guarded = _guarded(function, function.__name__, unwrap(model))
        guarded.__signature__ = signature(model)  # type: ignore[attr-defined]
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

    @cache  # when first called: annotations may name what is defined later
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
        except Mismatch:
            advice = remedy(value, kind, parameter)
            if not advice and any(fits(value, each.wanted) for each in kinds().values()):
                advice = f"; {order()}"
            problem = f"must be {kind.words}, got {describe(value)}{advice}."
            error: type[Exception] = TypeError
        except (TypeError, ValueError) as wrong:
            problem, error = str(wrong), ValueError if isinstance(wrong, ValueError) else TypeError
        raise error(f"{name}: {parameter} {problem}") from None

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
