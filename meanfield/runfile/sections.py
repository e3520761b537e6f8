"""Sections of a run file that build a `Problem`: [problem], its parts, and [initial]."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from meanfield.carriers.step_limits import check_range
from meanfield.errors import list_names
from meanfield.laws.initial import (
    InitialLaw,
    configuration,
    from_points,
    mixture,
    normal_tokens,
    perturbed_uniform,
    sampled,
    uniform,
    von_mises_fisher,
    with_profile,
)
from meanfield.laws.own import from_function
from meanfield.problem import Problem
from meanfield.runfile.document import USUAL_LAW
from meanfield.runfile.keys import (
    HEADS,
    ConfigError,
    Key,
    either,
    format_value,
    keys_of,
    kind,
    list_of,
    located,
    number,
    one_of,
    read_table,
    string,
    table_schema,
)
from meanfield.runfile.matrices import (
    attention_of,
    frequencies_of,
    mask_name,
    mask_of_keys,
    matrix,
    vector,
)
from meanfield.runfile.python_file import (
    Folder,
    file_function,
    file_term,
    functions_of,
    is_function,
    last_state_of_run,
    tokens_from_file,
    values_from_file,
)
from meanfield.schemes.layers import Layers
from meanfield.spaces import density_space, manifold_of
from meanfield.terms.attention import Attention
from meanfield.terms.fixed import FeedForward, LinearDrift
from meanfield.terms.flows import Flow, Normalization, normalization_of
from meanfield.terms.kernels import KERNELS, zonal
from meanfield.terms.kernels.exponential import LARGEST_BETA
from meanfield.terms.kernels.zonal import WIDTH_BETAS
from meanfield.terms.own import OwnTerm
from meanfield.terms.random_values import RandomValues
from meanfield.terms.rotary import Rotary

# Laws written by hand stay far below; memory and time of a law are proportional to its tokens.
_MOST_TOKENS = 10**8


PARTS: dict[str, Callable[..., Any]] = {
    "feed_forward": FeedForward,
    "drift": LinearDrift,
    "layers": Layers,
    "frequencies": frequencies_of,
}
"""Optional sections of a problem beside [[heads]] -> functions that make the parts."""

PART_KEYS = {
    "feed_forward": keys_of(FeedForward, input=matrix, output=matrix, bias=vector),
    "drift": keys_of(LinearDrift, matrix=matrix),
    "layers": keys_of(Layers),
    "frequencies": keys_of(frequencies_of, values=matrix),
    "random_values": keys_of(RandomValues, heads=matrix),
}
"""Keys of these sections, and of [random_values], which [[random_heads]] share."""
# The heads are the sections [[random_heads]].
del PART_KEYS["random_values"]["heads"]


def bare_problem(where: str, folder: Folder, tables: Mapping[str, Any]) -> Problem:
    """Problem of a document without files of matrices, without its initial law and stages."""
    section = f"{where}[problem]"
    values = read_table(section, tables["problem"], PROBLEM_KEYS)
    values |= functions_of(section, folder, {key: values[key] for key in _FUNCTIONS})
    with located(section):
        # `_with_random_values` replaces random heads once all parts are known.
        name = next((name for name in HEADS if name in tables), "heads")
        heads = tables.get(name)
        if heads is not None:
            heads = [functions_of(f"{where}[[{name}]]", folder, head) for head in heads]
        bare = _problem(section, folder, heads, name, **values)
        label = f"{section} terms = "
        terms = [file_term(label + format_value(each), folder, each) for each in values["terms"]]
        bare = replace(bare, own_terms=tuple(map(OwnTerm, terms)))
    for name in (name for name in PARTS if name in tables):
        with located(f"{where}[{name}]"):
            part = functions_of(f"{where}[{name}]", folder, tables[name])
            parts: dict[str, Any] = {name: PARTS[name](**part)}
            bare = replace(bare, **parts)
    if "random_heads" in tables or "random_values" in tables:
        bare = _with_random_values(where, tables, bare, values)
    with located(section):
        # This raises if a user's kernel is not smooth, before anything starts.
        _ = bare.kernel_degree
    return bare


def _with_random_values(
    where: str, tables: Mapping[str, Any], bare: Problem, values: Mapping[str, Any]
) -> Problem:
    """Problem whose [[random_heads]] have values that are drawn anew."""
    section = f"{where}[random_values]"
    if not {"random_heads", "random_values"} <= tables.keys():
        raise ConfigError(f"{section} and [[random_heads]] belong together: give both or neither.")
    mask = (values[name] for name in ("mask", "window", "globals", "causal"))
    options = {name: values[name] for name in ("strength", "diffusivity", "alibi_rate", "sink")}
    options["mask"] = mask_of_keys(f"{where}[problem]", *mask)
    options["rotary"] = Rotary(values["rotary_length"] or 0.0, values["rotary_base"])

    def attention(name: str) -> Attention:
        label, d = f"{where}[[{name}]]", bare.manifold.ambient
        how, beta = bare.normalization, values["beta"]
        return attention_of(label, tables[name], d, how, beta, **options)

    part = read_table(section, tables["random_values"], PART_KEYS["random_values"])
    with located(section):
        terms = [RandomValues(attention("random_heads"), **part)]
        steady = [attention("heads")] if "heads" in tables else []
        own = [each.term for each in bare.own_terms]
        parts: dict[str, Any] = {"kernel": [*steady, *terms, *own], "flow": None}
        return replace(bare, **parts)


_FUNCTIONS = ("beta", "strength", "diffusivity", "mask")
"""Keys of a problem that may name functions, the first three of time."""


@kind(type=["number", "string"])
def _number_or_function(value: Any) -> Any:
    """Number, or name of a function of time."""
    return value if is_function(value) else number(value)


@kind(type="string", pattern=r"^(circle|sphere|(sphere|axial|space):[0-9]+)$")
def _manifold(value: Any) -> Any:
    """Name of a manifold."""
    name = string(value)
    try:
        manifold_of(name)
    except ValueError as error:
        raise TypeError(str(error).removeprefix(f"manifold {name} ").rstrip(".")) from None
    return name


def _problem(
    section: str,
    folder: Folder,
    heads: list[dict[str, Any]] | None,
    name: str,
    /,
    manifold: Annotated[str, _manifold],
    kernel: Annotated[str, one_of(*KERNELS, "zonal")] = "exponential",
    beta: Annotated[Any, _number_or_function] = None,
    multipliers: tuple[float, ...] | None = None,
    attention: str | None = None,
    normalization: Normalization | None = None,
    normalized: bool | None = None,
    strength: Annotated[Any, _number_or_function] = 1.0,
    diffusivity: Annotated[Any, _number_or_function] = 0.0,
    mask: Annotated[Any, mask_name] = "none",
    alibi_rate: float | None = None,
    window: float | None = None,
    globals: float = 0.0,
    causal: bool = False,
    sink: float = 0.0,
    rotary_length: float | None = None,
    rotary_base: float = 10_000.0,
    terms: Annotated[Sequence[str], list_of(string)] = (),
) -> Problem:
    with located(section):
        how = normalization_of(normalization, normalized)
        own_mask = mask_of_keys(section, mask, window, globals, causal)
        rotary = Rotary(rotary_length or 0.0, rotary_base)
    if rotary_length is None and rotary != Rotary(0.0):
        raise ConfigError(f"{section} rotary_base needs rotary_length: give both, or drop it.")
    flow = Flow(how, strength, diffusivity)
    check_range(flow)
    space = manifold_of(manifold)
    if terms and heads is None and beta is None and kernel == "exponential":
        # Terms alone: attention that moves nothing.
        heads, beta = [{"value": 0.0}], 0.0
    matrices = {
        f"[[{name}]] need": heads is not None,
        'normalization = "sinkhorn" needs': how == "sinkhorn",
        f"mask = {format_value(mask)} needs": mask != "none",
        "alibi_rate needs": alibi_rate is not None,
        "sink needs": sink != 0.0,
        "rotary_length needs": rotary.length != 0.0,
    }
    needing = [what for what, matrix in matrices.items() if matrix]
    if kernel != "exponential" and needing:
        raise ConfigError(
            f'{section} {needing[0]} kernel = "exponential", got {format_value(kernel)}.'
        )
    own = {"multipliers": multipliers, "attention": attention}
    matrix = [key for key, value in own.items() if value is not None]
    if kernel != "zonal":
        if matrix:
            # Other packages give the normalization by the key `attention`.
            softmax = attention is not None and ":" not in attention
            usual = ' Attention by softmax (SA) is normalization = "softmax".' if softmax else ""
            raise ConfigError(f'{section} {matrix[0]} needs kernel = "zonal".{usual}')
        if beta is None and kernel == "exponential" and heads is None:
            raise ConfigError(f"{section} beta is missing.")
        kernel_of_beta = KERNELS[kernel](beta or 0.0)  # checks the range of beta
        if needing:
            label = section if heads is None else section.replace("[problem]", f"[[{name}]]")
            options: dict[str, Any] = {
                "strength": strength,
                "diffusivity": diffusivity,
                "mask": own_mask,
                "alibi_rate": alibi_rate,
                "sink": sink,
                "rotary": rotary,
            }
            return Problem(
                space, attention_of(label, heads or [{}], space.ambient, how, beta, **options)
            )
        return Problem(space, kernel_of_beta, flow)
    if len(matrix) != 1:
        raise ConfigError(
            f'{section} kernel = "zonal" needs either multipliers = [a_0, a_1, ...] or '
            'attention = "file.py:function".'
        )
    width = 1.0 if beta is None else beta
    low, high = WIDTH_BETAS
    if callable(width) or not low <= width <= high:
        raise ConfigError(
            f"{section} beta = {format_value(width)} must lie between {low:g} and {high:g}: for a "
            "zonal kernel it only sets the width of a cluster."
        )
    if attention is None:
        kernel_of_beta = zonal(multipliers=multipliers, beta=width)
    else:
        label = f"{section} attention = {format_value(attention)}"
        function = file_function(label, folder, attention)
        with located(label):
            kernel_of_beta = zonal(function, beta=width, name=attention)
    return Problem(space, kernel_of_beta, flow)


PROBLEM_KEYS = keys_of(_problem)


def initial_law(section: str, folder: Folder, table: Any, bare: Problem) -> InitialLaw:
    """Law of the section [initial], not yet built."""
    if not isinstance(table, dict):
        raise ConfigError(f"{section} must be a table, got {format_value(table)}.")
    name = table.get("name", USUAL_LAW)
    if not isinstance(name, str) or name not in INITIAL:
        raise ConfigError(
            f"{section} name = {format_value(name)} is not known. {list_names(name, INITIAL)}"
        )
    keys = {"name": Key(string, name), **PROFILE_KEYS, **keys_of(INITIAL[name])}
    values = read_table(section, table, keys)
    del values["name"]
    profile = values.pop("profile")
    law = INITIAL[name](replace(folder, section=section), bare, **values)
    if profile is None:
        return law
    if bare.mask == "none":
        raise ConfigError(f"{section} profile is over positions: it needs [problem] mask.")
    if profile < 0:
        raise ConfigError(f"{section} profile must be at least 0, got {profile:g}.")
    return with_profile(law, profile)


PROFILE_KEYS = {"profile": Key(number, None)}
"""Key of every law, for tokens with positions."""


@kind(type="number", minimum=0, maximum=LARGEST_BETA)
def _concentration(value: Any) -> Any:
    concentration = number(value)
    if not 0 <= concentration <= LARGEST_BETA:
        raise TypeError(f"must lie between 0 and {LARGEST_BETA:g}")
    return concentration


def _uniform(folder: Folder, bare: Problem, /) -> InitialLaw:
    return uniform()


def _perturbed_uniform(
    folder: Folder, bare: Problem, /, modes: Annotated[list[list[float]], list_of(list_of(number))]
) -> InitialLaw:
    largest = density_space(bare.manifold).largest_degree
    for mode in modes if bare.manifold.is_sphere else []:
        if mode and mode[0] > largest:
            raise ValueError(f"modes holds degree {mode[0]:g}, expected at most {largest}.")
    return perturbed_uniform(modes)


def _von_mises_fisher(
    folder: Folder,
    bare: Problem,
    /,
    concentration: Annotated[float, _concentration],
    mean: Annotated[Any, either(number, list_of(number))] = None,
) -> InitialLaw:
    return von_mises_fisher(concentration, mean=_mean(mean, bare))


def _mean(value: Any, bare: Problem) -> Any:
    """Angle on the circle, vector elsewhere."""
    d = bare.manifold.ambient
    wanted = (
        "an angle" if d == 2 else "a vector [x, y, z]" if d == 3 else f"a vector of {d} numbers"
    )
    fits = not isinstance(value, list) if d == 2 else isinstance(value, list) and len(value) == d
    if density_space(bare.manifold).has_rings:
        wanted = f"0 or pi, the polar angle of a pole, or a vector of {d} numbers"
        fits = fits or not isinstance(value, list)
    if value is not None and not fits:
        raise ValueError(
            f"mean = {format_value(value)} must be {wanted} on the {bare.manifold.name}."
        )
    return value


_COMPONENT_KEYS = {"weight": Key(number)} | {
    name: keys_of(_von_mises_fisher)[name] for name in ("mean", "concentration")
}


@kind(**table_schema(_COMPONENT_KEYS))
def _component(value: Any) -> dict[str, Any]:
    try:
        return read_table("component", value, _COMPONENT_KEYS)
    except ConfigError as error:
        raise TypeError(f"is wrong: {str(error).rstrip('.')}") from None


def _mixture(
    folder: Folder,
    bare: Problem,
    /,
    components: Annotated[list[dict[str, Any]], list_of(_component, least=1)],
) -> InitialLaw:
    return mixture(
        [(one["weight"], _mean(one["mean"], bare), one["concentration"]) for one in components]
    )


def _sampled(
    folder: Folder, bare: Problem, /, tokens: int, seed: int = 0, max_degree: int | None = None
) -> InitialLaw:
    largest = density_space(bare.manifold).largest_degree
    if not 1 <= tokens <= _MOST_TOKENS:
        raise ValueError(f"tokens = {tokens} must lie between 1 and {_MOST_TOKENS}.")
    if max_degree is not None and not 1 <= max_degree <= largest:
        raise ValueError(f"max_degree = {max_degree} must lie between 1 and {largest}.")
    if seed < 0:
        raise ValueError(f"seed = {seed} must not be negative.")
    return sampled(tokens, seed, max_degree)


def _normal_tokens(
    folder: Folder, bare: Problem, /, tokens: int, seed: int = 0, scale: float = 1.0
) -> InitialLaw:
    return normal_tokens(tokens, seed, scale)


def _configuration(
    folder: Folder,
    bare: Problem,
    /,
    shape: str,
    tokens: int | None = None,
    dimension: int | None = None,
    weights: Annotated[list[float] | None, list_of(number)] = None,
) -> InitialLaw:
    return configuration(shape, tokens, dimension, weights)


def _atoms(
    folder: Folder,
    bare: Problem,
    /,
    angles: tuple[float, ...] | None = None,
    points: Annotated[list[list[float]] | None, list_of(list_of(number), least=1)] = None,
    weights: Annotated[list[float] | None, list_of(number)] = None,
) -> InitialLaw:
    coordinates: dict[str, Any] = {"angles": angles, "points": points}
    wanted = "points" if bare.manifold.point_shape else "angles"
    places = coordinates.pop(wanted)
    if places is None or [*coordinates.values()] != [None]:
        raise ValueError(f"atoms on the {bare.manifold.name} are given by {wanted} = [...] alone.")
    d = bare.manifold.ambient
    for point in () if wanted == "angles" else places:
        if len(point) != d:
            raise ValueError(
                f"points holds {format_value(point)}, expected vectors of {d} numbers."
            )
    return from_points(np.array(places), None if weights is None else np.array(weights), "atoms")


def _function(folder: Folder, bare: Problem, /, function: str) -> InitialLaw:
    label = f"{folder.section} function = {format_value(function)}"
    own = file_function(label, folder, function)
    return uniform() if folder.code == "later" else from_function(own)


INITIAL: dict[str, Callable[..., InitialLaw]] = {
    "uniform": _uniform,
    "perturbed_uniform": _perturbed_uniform,
    "von_mises_fisher": _von_mises_fisher,
    "mixture": _mixture,
    "sampled": _sampled,
    "normal_tokens": _normal_tokens,
    "configuration": _configuration,
    "function": _function,
    "values": values_from_file,
    "file": last_state_of_run,
    "tokens": tokens_from_file,
    "atoms": _atoms,
}
"""Initial laws that a run file names, as functions of their keys after folder and problem."""

INITIAL_FROM_FILES = ("file", "tokens", "function", "values")
"""Initial laws that other files define."""
