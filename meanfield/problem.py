"""The problem: manifold, kernel, flow and initial law. Read this first.

    velocity   v(x) = strength * grad (W * mu)(x) / Z(x),   Z = 1 or a * mu
    equation   d_t f = -div(f v) + diffusivity * Laplacian f

`terms.attention` has v with matrices. Time is scaled time: the exponential kernel is
a(s) = exp(beta s - |beta|), largest value 1.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from meanfield.arguments import check_returned, checked, describe
from meanfield.arrays import ModalArray
from meanfield.engines.limits import check_memory
from meanfield.labels import USUAL_LABELS, Labels, frequency_labels, positions
from meanfield.laws.initial import (
    InitialLaw,
    LabelledLaw,
    from_labels,
    has_density,
    sampled,
    uniform,
    with_profile,
)
from meanfield.measures import Density, LabelledDensity, Measure
from meanfield.names import VIEWS
from meanfield.schemes.layers import Layers
from meanfield.spaces import Axial, Geometry, Manifold, density_space
from meanfield.spectrum.isotropic import Isotropic, IsotropicHeads, ZonalProblem
from meanfield.stages import (
    CHANGING,
    Stage,
    check_ends,
    differing_stages,
    on_clock_of,
    stage_problems,
)
from meanfield.terms.attention import Attention, Head, HeadMatrices
from meanfield.terms.fixed import FeedForward, LinearDrift, Term
from meanfield.terms.flows import SA, USA, Flow, Normalization
from meanfield.terms.frequencies import Frequencies
from meanfield.terms.kernels import Kernel, kernel_of
from meanfield.terms.masks import Mask, MaskName, WeightMatrix
from meanfield.terms.own import OwnTerm, check_label
from meanfield.terms.random_values import RandomValues
from meanfield.terms.time_dependent import at_time, is_time_dependent

TERMS = ("feed_forward", "drift")
"""Parts of a problem that are fixed fields."""


@checked
@dataclass(frozen=True, init=False)
class Problem:
    """Mean-field problem: manifold, attention and other terms, initial law.

        v(x) = strength * grad (W * mu)(x) / Z(x)
        d_t mu = -div(mu v) + diffusivity * Laplacian mu

    with W(s) = e^{beta s - |beta|} / beta for `exponential(beta)`. Time is scaled time. Papers omit
    e^{-|beta|}; for USA, scaled time is e^{|beta|} times paper time.

    Attributes
    ----------
    manifold : Circle, Sphere, Axial or Euclidean, of any dimension
    kernel : Kernel or Attention
        An `Attention` has matrices and sets the flow itself; one plain head of numbers becomes
        kernel and flow. Or a list of terms: at most one kernel or attention, a `FeedForward`, a
        `LinearDrift`, `RandomValues` (also without a list), and own terms, objects with a method
        `field(seen, x, time) -> VectorField`.
        Numbers and matrices of kernels, heads, flows and fixed fields may be functions of
        scaled time; `now` returns the problem at one time.
    flow : Flow
        `SA`, the default (softmax, Z the mean of the kernel over mu), `USA` (unnormalised, Z = 1),
        or `Flow(normalization, strength, diffusivity)`. `normalization="none"` alone means `USA`.
    initial : InitialLaw
        Initial law, by default `uniform()`; stability does not use it. Others: `perturbed_uniform`,
        `von_mises_fisher`, `mixture`, `sampled`, `normal_tokens`, `configuration`, `from_points`,
        `from_function`, `from_values`, `from_density`.
    feed_forward, drift : FeedForward, LinearDrift; optional
        Fixed fields u, which add P_x u(x) to the velocity.
    layers : Layers, optional
        Discrete layers in place of the flow.
    frequencies : Frequencies, optional
        On the circle: law of natural frequencies, the angular velocities of tokens on their own.
    stages : sequence of Stage
        Parameters that change with time, see `Stage`; the last stage has no end. All share one
        clock: scaled time is that of the largest e^{|beta|}, or e^s of heads, among them.

    Raises
    ------
    ValueError
        If a normalised flow has a kernel that is not positive, an attention comes with another
        flow, or matrices do not fit the manifold.

    Examples
    --------
    >>> import meanfield as mf
    >>> mf.Problem(mf.Circle(), mf.exponential(beta=9.0), mf.USA)
    Problem(Circle(), exponential(beta=9.0), USA, uniform())
    """

    manifold: Manifold
    kernel: Kernel | Attention
    flow: Flow
    initial: InitialLaw
    feed_forward: FeedForward | None
    drift: LinearDrift | None
    layers: Layers | None
    frequencies: Frequencies | None
    stages: Sequence[Stage]
    own_terms: tuple[OwnTerm, ...]
    # (name, part with functions of time, that part at time 0); the field has the last one.
    time_functions: tuple[tuple[str, Any, Any], ...]
    random: RandomValues | None  # the stages are drawn from them

    def __init__(
        self,
        manifold: Geometry,
        kernel: Kernel | Attention | RandomValues | Iterable[Any],
        flow: Flow | None = None,
        initial: InitialLaw | None = None,
        *,
        normalization: Normalization | None = None,
        feed_forward: FeedForward | None = None,
        drift: LinearDrift | None = None,
        layers: Layers | None = None,
        frequencies: Frequencies | None = None,
        stages: Sequence[Stage] = (),
        own_terms: Sequence[OwnTerm] = (),
        time_functions: Sequence[tuple[str, Any, Any]] = (),
        random: RandomValues | None = None,
    ) -> None:
        if not isinstance(kernel, Kernel | Attention):
            terms = [kernel] if isinstance(kernel, RandomValues) else kernel
            if random is not None and stages:
                random.check_stages(stages)
                stages = ()  # drawn from the values that these terms replace
            kernel, feed_forward, drift, own_terms, random = _sorted(terms, feed_forward, drift)
            if random is not None and stages:
                raise ValueError("stages beside random values are not supported: give one.")
            if random is not None:
                drawn = _drawn(random, kernel, manifold, layers, own_terms)
                random, kernel, stages, own_terms = drawn
        parts = {"kernel": kernel, "flow": flow, "feed_forward": feed_forward, "drift": drift}
        functions = {name: part for name, part in parts.items() if is_time_dependent(part)}
        # Callers that give no time get the parts at time 0.
        kernel, flow, feed_forward, drift = (at_time(part, 0.0) for part in parts.values())
        if flow is None:
            flow = kernel.flow if isinstance(kernel, Attention) else Flow(normalization)
        if normalization not in (None, flow.normalization):
            raise ValueError(
                f'normalization = "{normalization}" beside "{flow.normalization}": give one.'
            )
        if flow.normalization == "sinkhorn" and isinstance(kernel, Kernel):
            kernel = _sinkhorn(kernel, flow)
        law = uniform() if initial is None else initial
        parts_ = (manifold, kernel, flow, law, feed_forward, drift, layers, frequencies, stages)
        arguments = (*parts_, tuple(own_terms), (), random if stages else None)
        for name, value in zip(self.__dataclass_fields__, arguments, strict=True):
            object.__setattr__(self, name, value)
        self._check_one()
        if self.random is not None:
            self.random.check_drawn(self.kernel, self.layers, self.own_terms)
            self.random.check_stages(self.stages, self.kernel)
        unchanged = [
            each
            for each in time_functions
            if each[0] not in functions and getattr(self, each[0]) == each[2]
        ]
        own = [(name, part, getattr(self, name)) for name, part in functions.items()]
        object.__setattr__(self, "time_functions", (*unchanged, *own))
        self._check_time_dependence()
        check_ends(self.stages)
        if not self.layering.is_flow:
            self.layering.check_ends([stage.end for stage in self.stages[:-1]])
        object.__setattr__(self, "stages", differing_stages(self, self._alone))

    def _check_one(self) -> None:
        self._check_axis()
        if self.frequencies is not None and not self.manifold.is_circle:
            raise ValueError(
                "frequencies turn tokens on the circle; elsewhere a rotation has an axis. "
                f"Give mf.Circle(), not {self.manifold}."
            )
        of_labels = isinstance(self.initial, LabelledLaw)
        if of_labels and not self.has_labels:
            raise ValueError(
                f"{self.initial!r} is a law of labels, and tokens have none here: give the "
                'attention mask = "causal", or the problem frequencies.'
            )
        if isinstance(self.initial, with_profile) and self.mask == "none":
            raise ValueError("with_profile is over positions: frequencies have from_labels.")
        for term in self.terms:
            term.check_fits(self._d)
        if (attention := self.attention) is not None:
            if self.flow != attention.flow:
                raise ValueError(
                    f"an attention says its own flow, got {self.flow} beside it: give "
                    "normalization, strength and diffusivity to the Attention."
                )
            kernel, flow = attention.zonal(self._d) or (attention, attention.flow)
            object.__setattr__(self, "kernel", kernel)
            object.__setattr__(self, "flow", flow)
        if self.layers is not None:
            self._check_layers(self.layers)
        if self.sink and not self.manifold.is_sphere:
            raise ValueError(
                f"a sink counts in units of the largest weight, and {self.manifold.name} has none: "
                "take a sphere."
            )
        # Exponentials are positive.
        if self.flow.normalized and not self.kernel.is_exponential:
            s = np.cos(np.linspace(0.0, np.pi, 4001))
            lowest = float(np.min(self.own_kernel.attention(s)))
            # Underflow to zero far from a narrow peak is harmless; a sign change is not.
            if lowest < 0:
                raise ValueError(
                    f"a normalised flow needs a positive kernel; {self.own_kernel.name!r} falls to "
                    f'{lowest:.3g}. Take normalization = "none".'
                )

    def _check_time_dependence(self) -> None:
        """Refuse combinations whose right-hand sides take no time."""
        names = [f"the {name} is a function of time" for name, _, _ in self.time_functions]
        what = "a mask or frequencies"
        if self.layers is not None:
            what = "layers"
            names = [f"{term.name} is a term of your own" for term in self.own_terms] + names
        if names and (self.has_labels or self.layers is not None):
            raise ValueError(f"{names[0]}, and {what} beside it are not supported: leave one out.")
        if self.time_functions and self.stages:
            what = "stages" if self.random is None else "random values"
            raise ValueError(
                f"the {self.time_functions[0][0]} is a function of time, and {what} beside it "
                "are not supported: put the change into the function."
            )
        if self.noise_changes and not self.flow.diffusivity:
            raise ValueError("a diffusivity that is a function of time must be positive at time 0.")

    def _check_axis(self) -> None:
        """Refuse terms that break the axis of axial measures."""
        if not self.manifold.has_rings:
            return
        if self.terms or (self.attention and self.attention.zonal(self._d) is None):
            raise ValueError(
                f"{self.manifold.name}: densities keep their axis under a kernel, or one head of "
                "numbers without mask and sink, and nothing else: the others have tokens on "
                f"mf.Sphere({self._d})."
            )

    @property
    def axial(self) -> Problem:
        """The same problem for densities with an axis: on S^(d-1) it becomes `Axial(d)`.

        Examples
        --------
        >>> import meanfield as mf
        >>> mf.Problem(mf.Sphere(8), mf.exponential(beta=5.0), mf.SA).axial
        Problem(Axial(8), exponential(beta=5.0), SA, uniform())
        """
        if self.manifold.has_rings:
            return self
        if not self.manifold.is_sphere:
            raise ValueError(f"densities have no place on {self.manifold.name}: give points.")
        return replace(self, manifold=Axial(self._d))

    @cached_property
    def _alone(self) -> tuple[Problem, ...]:
        return stage_problems(self)

    @cached_property
    def timeline(self) -> tuple[tuple[float, Problem], ...]:
        """End and problem of each stage, on one clock; the last end is infinite.

        Ends are in the unit of the run. If the largest weight of a stage is e^s, its strength gets
        the factor e^{s - s_max}, s_max the largest s of all stages; s = 0 for normalised flows.
        Diffusivities, feed-forward layers and drifts are rates on that clock.

        Examples
        --------
        >>> import meanfield as mf
        >>> stages = [mf.Stage(end=1.0), mf.Stage(kernel=mf.exponential(2.0))]
        >>> problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA, stages=stages)
        >>> problem.staged[1].flow.strength == np.exp(-3.0)
        np.True_
        """
        if not self.stages:
            return ((math.inf, self),)
        ends = (math.inf if stage.end is None else stage.end for stage in self.stages)
        problems = (on_clock_of(self, alone) for alone in self._alone)
        return tuple(zip(ends, problems, strict=True))

    @property
    def staged(self) -> tuple[Problem, ...]:
        return tuple(problem for _, problem in self.timeline)

    @property
    def is_time_dependent(self) -> bool:
        """True if own terms or functions of time may make velocities depend on time."""
        return bool(self.time_functions) or any(each.is_users for each in self.own_terms)

    @property
    def noise_changes(self) -> bool:
        """True if the diffusivity is a function of time."""
        return any(
            callable(getattr(part, "diffusivity", None)) for _, part, _ in self.time_functions
        )

    def now(self, time: float) -> Problem:
        """Problem with its functions of time evaluated at a scaled time."""
        if not self.is_time_dependent:
            return self
        terms = tuple(replace(each, time=time) for each in self.own_terms)
        if not self.time_functions:
            return replace(self, own_terms=terms)
        try:
            parts = {name: at_time(part, time) for name, part, _ in self.time_functions}
            if isinstance(parts.get("kernel"), Attention):
                parts["flow"] = None
            problem = replace(self, own_terms=terms, time_functions=(), **parts)
        except (TypeError, ValueError) as error:
            raise ValueError(f"at the scaled time {time:.6g}: {error}") from None
        return problem if self.flow.normalized else on_clock_of(self, problem)

    def at(self, time: float, unit_length: float = 1.0) -> Problem:
        """Problem of the stage at a scaled time; at the end of a stage, of that stage.

        `unit_length` is the scaled time of one unit of the stages' ends.
        """
        ends = [end * unit_length for end, _ in self.timeline]
        return self.staged[bisect_left(ends, time)].now(time)

    def check_one_stage(self) -> None:
        """ValueError if parameters change with time."""
        self._check_no_functions("this rests")
        self._check_stages()

    def _check_no_functions(self, subject: str) -> None:
        if self.time_functions:
            raise ValueError(
                f"{subject} on parameters that never change, and the "
                f"{self.time_functions[0][0]} is a function of time: take problem.now(time), or "
                "mf.simulate."
            )

    def _check_stages(self) -> None:
        if self.random is not None:
            raise ValueError(
                "this rests on parameters that never change, and the problem has random values: "
                "mf.simulate has their runs, mf.papers.random_layers their laws."
            )
        if self.stages:
            raise ValueError(
                f"this rests on parameters that never change, and the problem has "
                f"{len(self.stages)} stages: take one of problem.staged, or mf.simulate, which has "
                "their runs."
            )

    def check_lives(self, what: str, measure: Density | Measure) -> None:
        """Refuse a measure on another manifold; `what` is its name with a verb."""
        if measure.manifold.name != self.manifold.name:
            raise ValueError(
                f"{what} on the {measure.manifold.name}, the problem on the {self.manifold.name}: "
                "rates need one manifold."
            )

    def check_own_clock(self, what: str) -> None:
        """Refuse functions of time, and layers unless `Layers.keeps_time`."""
        self._check_no_functions(f"{what} rest")
        if not self.layering.keeps_time:
            raise ValueError(
                f"{what} rest on the flow of attention, and the problem has layers: use "
                "mf.simulate, or leave the layers out."
            )

    def _check_layers(self, layers: Layers) -> None:
        if self.frequencies is not None:
            raise ValueError("frequencies are of a flow in time, and layers have none.")
        if diffusivity := self.flow.diffusivity:
            raise ValueError(
                f"layers and noise exclude each other, got diffusivity = {diffusivity:g} beside "
                "them: leave one out."
            )
        if not self.manifold.is_sphere and layers.placement != "post":
            raise ValueError(
                f'in R^d nothing is normalised: placement must be "post", which stands for '
                f'x <- x + h A there, got "{layers.placement}".'
            )
        if self.sink:
            raise ValueError("layers and a sink exclude each other: leave one out.")

    @property
    def terms(self) -> tuple[Term, ...]:
        """Fixed fields and own terms, which move tokens besides attention."""
        parts = (getattr(self, name) for name in TERMS)
        return (*(term for term in parts if term is not None), *self.own_terms)

    @cached_property
    def undriven(self) -> Problem:
        """The problem of attention alone, without `terms`."""
        if not self.terms:
            return self
        return replace(self, feed_forward=None, drift=None, own_terms=(), random=None)

    @property
    def layering(self) -> Layers:
        """Layers of the problem; without layers the flow: placement "post", step 0."""
        return self.layers or _FLOW

    @property
    def mask(self) -> MaskName | Mask:
        of = self.attention
        return of.masking if of and of.rotary else self.kernel.mask

    @property
    def has_rotary(self) -> bool:
        """True if queries and keys turn with their positions."""
        return bool(self.attention and self.attention.rotary)

    @property
    def sink(self) -> float:
        """Sink c of the attention, in units of the largest weight."""
        return self.attention.sink if self.attention else 0.0

    @property
    def log_sink(self) -> float:
        """Logarithm of what the sink adds to Z = int e^{x^T S y} dmu(y)."""
        return self.beta + math.log(self.sink) if self.sink else -math.inf

    @property
    def has_labels(self) -> bool:
        """True if tokens carry labels: positions under a mask, or frequencies."""
        return self.mask != "none" or self.frequencies is not None

    @cached_property
    def unlabelled(self) -> Problem:
        """The problem without mask and frequencies, which each label has in its own mean field.

        Examples
        --------
        >>> import meanfield as mf
        >>> causal = mf.Attention([mf.Head()], beta=3.0, mask="causal")
        >>> mf.Problem(mf.Circle(), causal).unlabelled
        Problem(Circle(), exponential(beta=3.0), SA, uniform())
        """
        if not self.has_labels:
            return self
        law = uniform() if isinstance(self.initial, LabelledLaw) else self.initial
        kernel = self.attention.unmasked if self.attention else self.kernel
        return replace(self, kernel=kernel, initial=law, frequencies=None)

    def labels(self, count: int | None = None, refinement: int = 1) -> Labels:
        """Labels of densities: count * refinement, refinement odd; `count` of them are stored.

        The default count is that of the law or of the mask's matrix, else 64.
        """
        if self.mask != "none" and self.frequencies is not None:
            raise ValueError(
                "a density has one label, and this problem has two, the position that the mask "
                'asks for and a frequency: take tokens, representation "particles".'
            )
        if count is None:
            law = self.initial
            count = (law.count if isinstance(law, from_labels) else None) or USUAL_LABELS
            if isinstance(self.kernel.mask, WeightMatrix):
                count = len(self.kernel.mask.weights)
        if self.frequencies is not None:
            return frequency_labels(self.frequencies, count, refinement)
        if self.attention is not None and self.mask != "none":
            return positions(count, self.attention.masking, refinement)
        raise ValueError("labels are of problems with a mask or with frequencies.")

    @property
    def attention(self) -> Attention | None:
        """The attention if it has matrices, None if the problem has a kernel."""
        return self.kernel if isinstance(self.kernel, Attention) else None

    @property
    def kernel_alone(self) -> bool:
        """True if a kernel alone moves tokens, without `terms`."""
        return self.attention is None and not self.terms

    @property
    def own_kernel(self) -> Kernel:
        """The kernel; ValueError for an attention with matrices."""
        if isinstance(self.kernel, Attention):
            raise ValueError("the attention has heads, and is no kernel a(<x, y>).")
        return self.kernel

    @property
    def heads(self) -> tuple[HeadMatrices, ...] | None:
        """As `matrices`; refuses a sink, for callers that support none."""
        if self.sink:
            raise ValueError(
                f"this rests on attention without a sink, got sink = {self.sink:g}: leave it out. "
                "mf.simulate and mf.linear_operator support it."
            )
        return self.matrices

    @property
    def matrices(self) -> tuple[HeadMatrices, ...] | None:
        """Heads of the attention; for a built-in kernel its one head, for other kernels None."""
        if isinstance(self.kernel, Attention):
            return self.kernel.matrices(self._d)
        beta = self.kernel.log_slope
        if beta is None:
            return None
        # One temporary and both matrices.
        check_memory(24.0 * self._d**2, f"matrices of R^{self._d}", "Lower the dimension")
        one = np.eye(self._d)
        return (HeadMatrices(beta * one, self.flow.strength * one),)

    @property
    def normalization(self) -> Normalization:
        return self.flow.normalization

    @property
    def zonal(self) -> ZonalProblem:
        """The problem of a kernel alone on a sphere, for theory and stationary states.

        Examples
        --------
        >>> import meanfield as mf
        >>> mf.Problem(mf.Sphere(8), mf.linear(), mf.USA).zonal.dimension
        7
        """
        self._check_stages()
        if not self.manifold.is_sphere:
            raise ValueError(
                f"this rests on the uniform measure, and {self.manifold.name} has none: "
                "mf.simulate has the runs of its tokens."
            )
        if self.frequencies is not None:
            raise ValueError(
                "this rests on attention alone, and tokens turn at frequencies of their own: "
                "mf.incoherence_growth_rates has their stability, mf.simulate their runs."
            )
        if self.terms:
            raise ValueError(
                "this rests on attention alone, and a feed_forward, a drift or a term of your own "
                "moves tokens too: mf.simulate has their runs."
            )
        self.check_rates()
        if isinstance(self.kernel, Attention):
            raise ValueError(
                "this rests on a kernel a(<x, y>), and the attention has "
                f"{'a sink' if self.sink else 'heads'}: "
                "mf.linear_operator (meanfield stability --config) has their stability, "
                "mf.simulate their runs."
            )
        return cast(ZonalProblem, self.isotropic_bound)

    def check_rates(self) -> None:
        """Refuse growth rates of uniform under a rotary embedding."""
        if self.has_rotary:
            raise ValueError(
                "under a rotary embedding uniform is not at rest, each position drifts at a "
                "velocity of its own: there is no growth rate, and no growth or onset time. Times "
                "of runs may be scaled or paper; mf.position_modes has growth by mode of position."
            )

    @property
    def isotropic(self) -> Isotropic:
        """Growth rates of a kernel, or of heads that are numbers; refuses others like `zonal`."""
        heads, flow = self.kernel.matrices(self._d), self.flow
        numbers = tuple(head.multiples for head in heads if head.multiples)
        if not numbers or not self.is_isotropic:
            return self.zonal
        dimension = self.manifold.dimension
        return IsotropicHeads(dimension, numbers, flow.normalization, flow.diffusivity, self.sink)

    @cached_property
    def isotropic_bound(self) -> Isotropic:
        """The kernel, or for heads the numbers that are the norms of their matrices."""
        dimension, flow = self.manifold.dimension, self.flow
        if isinstance(self.kernel, Attention):
            numbers = self.kernel.norms(self._d)
            return IsotropicHeads(dimension, numbers, flow.normalization, flow.diffusivity)
        return ZonalProblem(
            dimension, self.kernel, flow.normalized, flow.strength, flow.diffusivity
        )

    @property
    def is_isotropic(self) -> bool:
        """True if no direction is preferred, so that `isotropic` has growth rates."""
        if self.terms or self.stages or self.frequencies is not None or self.has_rotary:
            return False
        heads = self.kernel.matrices(self._d)
        return self.manifold.is_sphere and all(head.multiples is not None for head in heads)

    @property
    def beta(self) -> float:
        """Inverse temperature beta; of heads the largest beta |B|_2, of stages the largest."""
        if self.stages:
            return max((alone.beta for alone in self._alone), key=abs)
        return self.kernel.sharpness(self._d)

    @property
    def log_scale(self) -> float:
        """log(scaled time / paper time); of stages the largest.

        0 for normalised flows, and in R^d, where weights have no largest value.
        """
        if self.stages:
            return max(alone.log_scale for alone in self._alone)
        if self.flow.normalized or not self.manifold.is_sphere:
            return 0.0
        return self.beta if isinstance(self.kernel, Attention) else self.kernel.log_scale

    @property
    def kernel_degree(self) -> int:
        """Largest degree of the kernel above rounding; of heads, for the largest beta."""
        return self.relevant_degree()

    def relevant_degree(self, tolerance: float | None = None) -> int:
        """Largest degree of moments that move tokens by more than a tolerance, default rounding."""
        if self.stages:
            return max(alone.relevant_degree(tolerance) for alone in self._alone)
        space, limits = self.manifold, () if tolerance is None else (tolerance,)
        if isinstance(self.kernel, Attention):
            # A head uses degrees of e^{<z, y>} y, one more than its Z, of the density.
            return kernel_of(self.beta).degree(space.dimension, *limits) + 1
        return self.kernel.degree(space.dimension, *limits, of_points=space.has_rings)

    @property
    def moment_degree(self) -> int:
        """Degree to which runs store moments: the kernel's, at least 12 (circle) or 8."""
        if self.stages:
            return max(alone.moment_degree for alone in self._alone)
        least = 12 if self.manifold.dimension == 1 else 8
        return min(max(self.kernel_degree, least), self.manifold.largest_degree)

    @property
    def has_free_energy(self) -> bool:
        """True if a free energy exists; see `ZonalProblem`."""
        return self.kernel_alone and self.is_isotropic and self.zonal.has_free_energy

    @property
    def _d(self) -> int:
        return self.manifold.ambient

    @checked
    def initial_measure(self) -> Density | Measure:
        """The measure at time 0, built once; of a law of labels a `LabelledDensity`."""
        return self._initial_measure

    def labelled_measure(self, count: int | None = None) -> LabelledDensity:
        """Densities of the labels at time 0; equal for all labels, unless by a law of labels."""
        labels = self.labels(count)
        return LabelledDensity.of(self.manifold, self.label_parts(labels), labels)

    def label_parts(self, labels: Labels) -> ModalArray:
        """Coefficients of the density of each label at time 0, shape (M, ...)."""
        if isinstance(self.initial, LabelledLaw):
            return self.initial.parts(self.manifold, labels.values)
        measure = self.initial_measure()
        if isinstance(measure, Measure):
            raise ValueError("labels are of densities, and this law has points.")
        return np.tile(measure.coefficients, (len(labels.values), 1))

    @cached_property
    def _initial_measure(self) -> Density | Measure:
        law = self.initial
        if isinstance(law, LabelledLaw) and self.has_labels:
            return self.labelled_measure()
        if isinstance(law, sampled) and law.max_degree is None:
            # The degrees that grow first, and the harmonics that they make.
            grows = self.isotropic.dominant_degree if self.is_isotropic else None
            usual = 1 if self.is_isotropic else (self.kernel_degree + 1) // 2
            law = replace(law, max_degree=2 * (grows or usual))
        # On spheres of any dimension tokens are drawn from densities with an axis.
        space = density_space(self.manifold) if has_density(law) else self.manifold
        built = check_returned(f"the law {law.name!r}", law.build(space), Density, Measure)
        return cast(Density | Measure, built)

    def _repr_html_(self) -> str:
        return str(VIEWS["Problem.html"](self))

    def __repr__(self) -> str:
        values = {name: getattr(self, name) for name in CHANGING}
        values |= {name: part for name, part, _ in self.time_functions}
        kernel, flow = values["kernel"], values["flow"]
        parts = [repr(self.manifold), repr(kernel)]
        if isinstance(kernel, Kernel):
            parts.append({USA: "USA", SA: "SA"}.get(flow, repr(flow)))
        parts.append(repr(self.initial))
        if self.random is not None:
            parts[1] = repr(self.random)
        elif self.own_terms:
            terms = [each.name for each in self.own_terms]
            parts[1] = f"[{', '.join(terms if self.kernel == STILL else [parts[1], *terms])}]"
        values |= {name: getattr(self, name) for name in ("layers", "frequencies")}
        for name in (*TERMS, "layers", "frequencies"):
            if values[name] is not None:
                parts.append(f"{name}={values[name]!r}")
        if self.stages and self.random is None:
            parts.append(f"stages={list(self.stages)!r}")
        return f"Problem({', '.join(parts)})"


def _sinkhorn(kernel: Kernel, flow: Flow) -> Attention:
    """Attention of one head with the scores of a kernel and doubly stochastic weights."""
    if kernel.log_slope is None:
        raise ValueError(
            f'normalization = "sinkhorn" needs an exponential or linear kernel, not {kernel!r}.'
        )
    strength, diffusivity, beta = flow.strength, flow.diffusivity, kernel.log_slope
    return Attention([Head()], "sinkhorn", beta=beta, strength=strength, diffusivity=diffusivity)


_FLOW = Layers(step=0.0)
STILL = Attention([Head(value=0.0)], "none", beta=0.0)
"""Attention that moves nothing."""


def _sorted(
    terms: Iterable[Any], feed_forward: FeedForward | None, drift: LinearDrift | None
) -> tuple[
    Kernel | Attention,
    FeedForward | None,
    LinearDrift | None,
    tuple[OwnTerm, ...],
    RandomValues | None,
]:
    attention, own, random = list[Any](), list[OwnTerm](), None
    for term in terms:
        if isinstance(term, Kernel | Attention):
            attention.append(term)
        elif isinstance(term, FeedForward) and feed_forward is None:
            feed_forward = term
        elif isinstance(term, LinearDrift) and drift is None:
            drift = term
        elif isinstance(term, RandomValues) and random is None:
            random = term
        elif callable(getattr(term, "field", None)) and not isinstance(term, type):
            own.append(OwnTerm(term))
            check_label(own[-1])
        else:
            call = f"; write {term.__name__}(), with brackets" if isinstance(term, type) else ""
            raise TypeError(
                "Problem: a term must be an attention, a feed_forward, a drift, random values or "
                f"an object with a method field(seen, x, time), got {describe(term)}{call}."
            )
    if len(attention) > 1:
        raise ValueError(
            f"Problem: got {len(attention)} attentions: give all heads to one, mf.Attention([...])."
        )
    return (attention or [STILL])[0], feed_forward, drift, tuple(own), random


def _drawn(
    random: RandomValues,
    kernel: Kernel | Attention,
    manifold: Geometry,
    layers: Layers | None,
    own_terms: Sequence[OwnTerm],
) -> tuple[RandomValues, Attention, list[Stage], tuple[OwnTerm, ...]]:
    """Random values fitted to the layers, and the attention, stages and terms they give."""
    if not isinstance(kernel, Attention):
        raise TypeError(
            f"{kernel!r} beside random values: write it as mf.Attention([mf.Head()], beta=...)."
        )
    if manifold.ambient == 1:
        raise ValueError("random values are matrices, and R^1 has none: take tokens in R^2.")
    random = random.fitted(layers)
    of = random.attentions(manifold.ambient, None if kernel == STILL else kernel, layers)
    drift = random.drift(layers, of[0][1].sharpness(manifold.ambient))
    if drift is not None and not manifold.is_sphere:
        raise ValueError(
            f'random values of the "ito" model in {manifold.name} have layers alone: give '
            'mf.Layers, or take interpretation = "stratonovich".'
        )
    stages = [Stage(end, attention) for end, attention in of[:-1]] + [Stage(None, of[-1][1])]
    drifts = () if drift is None else (OwnTerm(drift),)
    return random, of[0][1], stages, (*own_terms, *drifts)
