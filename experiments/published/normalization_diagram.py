"""Placement of normalisation: clusters over beta and depth, 64 random tokens in R^16."""

from __future__ import annotations

import numpy as np
from claims import Claim
from matplotlib.figure import Figure

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.fields.blocks import attention_output, unit_vectors
from meanfield.figures.draw.axes import DENSITY_COLOURS
from meanfield.schemes.layers import Placement
from meanfield.terms.attention import HeadMatrices
from published.entry import Progress, Reproduction, unfollowed

TOKENS, DIMENSION, STEP, ALPHA, THRESHOLD = 64, 16, 0.1, 0.2, 0.999
PLACEMENTS: tuple[Placement, ...] = ("post", "pre", "peri", "ngpt")
MOST = 10.0
"""Upper end of the colours, as in the source."""
_EVERY = 5  # layers between counts


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """Shares of merged pairs for four placements, by layers of the package or of the source."""
    betas = np.array([1.0, 5.0]) if short else np.linspace(0.1, 15.0, 20)
    replicas, count = (2, 100) if short else (16, 500)
    x = unit_vectors(np.random.default_rng(0).standard_normal((replicas, TOKENS, DIMENSION)))
    asked = [(name, float(beta)) for name in PLACEMENTS for beta in betas]
    made = {
        (name, beta): shares(x, name, beta, count, published)
        for name, beta in progress(asked, len(asked), "placements and temperatures")
    }
    share = np.array([[made[name, float(beta)] for beta in betas] for name in PLACEMENTS])
    numbers = [
        Claim(f"largest distance of {name} layers from those of mf.simulate, depth 5", 0.0,
               _distance_from_package(x[0], name), 1e-10)
        for name in PLACEMENTS
    ]  # fmt: skip
    at = int(np.argmin(np.abs(betas - 1.0)))
    beta, depth = float(betas[at]), count * STEP
    for name, found in zip(PLACEMENTS, share[:, at], strict=True):
        other = shares(x, name, beta, count, not published)
        theirs, ours = (found, other) if published else (other, found)
        numbers.append(
            Claim(f"share of merged pairs, {name}, beta = {beta:.3g}, depth {depth:g}",
                   float(theirs[-1]), float(ours[-1]), None,
                   "by the source's layers"
                   + (", which are the same" if name == "post" else ", whose lengths are other ones"
                      if name != "ngpt" else ", which keep all of the token"))
        )  # fmt: skip
    data = {
        "beta": betas, "depth": STEP * np.arange(0, count + 1, _EVERY), "share": share,
        "replicas": np.array(replicas), "published": np.array(published),
    }  # fmt: skip
    return Reproduction(tuple(numbers), data)


def shares(
    x: FloatArray, placement: Placement, beta: float, count: int, published: bool
) -> FloatArray:
    """Share of merged pairs before the first layer and after every fifth one."""
    above, found = np.triu_indices(TOKENS, 1), []
    lengths = np.ones(x.shape[:-1])
    for layer in range(count + 1):
        if layer % _EVERY == 0:
            cosines = np.matmul(x, x.swapaxes(-1, -2))[:, *above]
            found.append(float((cosines > THRESHOLD).mean()))
        if layer < count:
            x, lengths = moved(x, lengths, placement, beta, published)
    return np.array(found)


def moved(
    x: FloatArray, lengths: FloatArray, placement: Placement, beta: float, published: bool
) -> tuple[FloatArray, FloatArray]:
    """Directions x (R, n, d) and lengths (R, n) after one layer.

    With `published` lengths are the source's: r' = r sum_c A_c in place of <theta, A>.
    """
    eye = np.eye(DIMENSION)
    output = attention_output(x, [HeadMatrices(beta * eye, eye)])
    if placement in ("peri", "ngpt"):
        output = unit_vectors(output)
    if placement == "post":
        return unit_vectors(x + STEP * output), lengths
    if placement == "ngpt":
        return unit_vectors(x + STEP * ALPHA * (output if published else output - x)), lengths
    if not published:
        whole = lengths[..., None] * x + STEP * output
        return unit_vectors(whole), np.linalg.norm(whole, axis=-1)
    lengths = lengths * (1.0 + STEP * output.sum(axis=-1))
    if placement == "pre":
        output = output - (x * output).sum(axis=-1, keepdims=True) * x
    return unit_vectors(x + STEP * output / lengths[..., None]), lengths


def draw(figure: Figure, reproduction: Reproduction) -> None:
    """One over the share of merged pairs, a panel for each placement."""
    data = reproduction.data
    figure.set_size_inches(9.0, 6.2)
    panels = figure.subplots(2, 2, sharex=True, sharey=True).ravel()
    words = "the source's layers" if data["published"] else "layers"
    for axes, name, share in zip(panels, PLACEMENTS, data["share"], strict=True):
        with np.errstate(divide="ignore"):
            number = np.minimum(1.0 / share, MOST)
        mesh = axes.pcolormesh(
            data["depth"], data["beta"], number, cmap=DENSITY_COLOURS, vmin=1.0, vmax=MOST,
            shading="nearest", rasterized=True,
        )  # fmt: skip
        axes.set_title(f"{name}, {words} of step {STEP:g}, {data['replicas']} replicas", loc="left")
    for axes in panels[2:]:
        axes.set_xlabel("depth")
    for axes in panels[::2]:
        axes.set_ylabel(r"inverse temperature $\beta$")
    figure.colorbar(mesh, ax=panels, label="1 / share of merged pairs, at most 10")


def _distance_from_package(x: FloatArray, placement: Placement) -> float:
    """Largest distance of a token after 50 layers from that in a run."""
    layers = mf.Layers(step=STEP, count=50, placement=placement, alpha=ALPHA)
    problem = mf.Problem(
        mf.Sphere(DIMENSION), mf.exponential(2.0), mf.SA, mf.from_points(x), layers=layers
    )
    run = mf.simulate(problem, save=[50], representation="particles")
    here, lengths = x[None], np.ones((1, TOKENS))
    for _ in range(50):
        here, lengths = moved(here, lengths, placement, 2.0, False)
    last = run.measures[-1]
    assert isinstance(last, mf.Measure)
    return float(np.abs(unit_vectors(last.points) - here[0]).max())
