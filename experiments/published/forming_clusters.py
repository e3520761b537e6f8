"""Clusters from a noisy uniform density, as in the notebook of arXiv:2410.23228.

The notebook uses the scheme of Lax and Friedrichs on 10,000 points, dt = dx / 50,

    u_j <- (u_{j+1} + u_{j-1}) / 2 - dt / (2 dx) (u v|_{j+1} - u v|_{j-1}),

with two defects. Its diffusion is dx^2 / (2 dt) = 25 dx. Its velocity is a correlation instead of a
convolution, v(x) = int W'(x + y) u(y) dy. So real parts of the coefficients grow at the rate
lambda_k, imaginary parts decay at it, and every density becomes mirror-symmetric.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from claims import Claim
from matplotlib.figure import Figure
from scipy.fft import irfft, rfft

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.figures.draw.axes import ENERGY, ORDER
from published.entry import Progress, Reproduction, unfollowed

POINTS, COURANT, NOISE = 10_000, 0.02, 0.01
CIRCLE = 2.0 * np.pi
# Higher modes of the noise do not grow.
HIGHEST = 32
ANGLES = CIRCLE * np.arange(2000) / 2000
# Panel of beta = 5, t = 0.44: angles and heights of its peaks, by eye.
PEAKS, HEIGHTS = (0.0, 2.11, 4.16), (0.60, 0.92, 0.92)


@dataclass(frozen=True)
class Job:
    """One of the two runs of the source."""

    beta: float
    every: int  # steps between panels
    panels: tuple[int, ...]  # numbers of the panels in the figure

    @property
    def times(self) -> FloatArray:
        """Times of the panels, in paper time."""
        return np.array(self.panels) * self.every * COURANT * CIRCLE / POINTS


JOBS = (Job(5.0, 5000, (5, 6, 7)), Job(7.0, 700, (6, 7, 8)))


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """Densities at the times of the panels, by the equation and by the scheme."""
    start = (1.0 + CIRCLE * NOISE * torch_normal(0, POINTS)) / CIRCLE
    numbers: list[Claim] = []
    data = {"angle": ANGLES, "start": start}
    for job in JOBS:
        name = f"beta_{job.beta:g}"
        data[f"{name}_time"] = job.times
        data[f"{name}_here"] = exact(job, start, 1e-5 if short else 1e-8)
        if published:
            kept = scheme(job, start, 10 if short else 1, progress)
            data[f"{name}_published"] = np.array([np.interp(ANGLES, *each) for each in kept])
    last = data["beta_5_published" if published else "beta_5_here"][-1]
    tops = peaks(last)
    why = "the equation keeps no mirror image" if not published else ""
    for angle, height in zip(PEAKS, HEIGHTS, strict=True):
        off = np.angle(np.exp(1j * (ANGLES[tops] - angle)))
        near = int(np.argmin(np.abs(off)))
        found = angle + float(off[near])
        numbers.append(
            Claim(f"beta = 5, t = 0.44: angle of the peak near {angle:g}", angle, found,
                   0.05 if published else None, why or "by eye", printed=True)
        )  # fmt: skip
        numbers.append(
            Claim("its height", height, float(last[tops[near]]), None,
                   "by eye; another draw of the noise, or another time", printed=True)
        )  # fmt: skip
    if not published:
        c_3 = 2.0 * np.pi * np.exp(-3j * ANGLES) @ data["beta_5_here"][0] / len(ANGLES)
        away = float(abs(c_3 - third_mode(JOBS[0], start)))
        what = "beta = 5, t = 0.31: c_3, distance from a second integration"
        why = "characteristics by SciPy's DOP853 at 1e-10"
        numbers.append(Claim(what, 0.0, away, 1e-6, why))
    if published:
        numbers += growth()
    return Reproduction(tuple(numbers), data)


def torch_normal(seed: int, count: int) -> FloatArray:
    """Normal numbers of PyTorch on a CPU in single precision; `count` is a multiple of 16.

    A Mersenne twister gives 24 bits a number; of sixteen numbers the first eight are radii, the
    others angles (Box and Muller).

    >>> torch_normal(0, 16)[:4].round(4)  # torch.manual_seed(0); torch.randn(16)[:4]
    array([-1.1258, -1.1524, -0.2506, -0.4339])
    """
    words = np.random.RandomState(seed).randint(0, 2**32, count, dtype=np.uint32)
    shares = (words & np.uint32(2**24 - 1)).reshape(-1, 2, 8) / 2.0**24
    radii = np.sqrt(-2.0 * np.log(1.0 - shares[:, 0]))
    angles = CIRCLE * shares[:, 1]
    return np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1).ravel()


def exact(job: Job, start: FloatArray, tolerance: float) -> FloatArray:
    """Densities (n_times, n_angles) by this package."""
    c = rfft(start)[: HIGHEST + 1]
    modes = [(k, 2.0 * (c[k] / c[0]).real, -2.0 * (c[k] / c[0]).imag) for k in range(1, len(c))]
    law = mf.perturbed_uniform(modes)
    problem = mf.Problem(mf.Circle(), mf.exponential(job.beta), mf.USA, law)
    times = job.times.tolist()
    run = mf.simulate(
        problem, times[-1], save=times, unit="paper", tolerance=tolerance, observables=()
    )
    return np.array([run.density(ANGLES, time=time) for time in times]) / CIRCLE


def third_mode(job: Job, start: FloatArray) -> complex:
    """c_3 of the equation at the time of the first panel, by SciPy and characteristics."""
    from scipy.integrate import solve_ivp
    from scipy.special import iv

    points, k = CIRCLE * np.arange(512) / 512, np.arange(1, HIGHEST + 1)
    c = rfft(start)[: HIGHEST + 1] / rfft(start)[0]
    mass = (1.0 + 2.0 * (np.exp(1j * np.outer(points, k)) @ c[1:]).real) / len(points)

    def velocity(_: float, x: FloatArray) -> FloatArray:
        waves = np.exp(1j * np.outer(x, k))
        moments = k * iv(k, job.beta) / job.beta * (mass @ waves.conj())
        return np.asarray(-2.0 * (waves @ moments).imag)

    until = (0.0, float(job.times[0]))
    moved = solve_ivp(velocity, until, points, "DOP853", rtol=1e-10, atol=1e-10).y[:, -1]
    return complex(mass @ np.exp(-3j * moved))


def scheme(
    job: Job, start: FloatArray, coarser: int, progress: Progress
) -> list[tuple[FloatArray, FloatArray]]:
    """Angles and densities of the scheme at the times of the panels."""
    u = start.reshape(-1, coarser).mean(axis=1)
    x = CIRCLE * np.arange(len(u)) / len(u)
    every, panels = job.every // coarser, job.panels
    blocks = progress(range(1, panels[-1] + 1), panels[-1], f"scheme, beta = {job.beta:g}")
    steps, kept = lax_friedrichs(job.beta, u), []
    for block in blocks:
        for _ in range(every):
            u = next(steps)
        if block in panels:
            # Even and odd points evolve independently, each with its own noise: average them.
            kept.append((x, np.convolve(np.pad(u, 1, "wrap"), [0.25, 0.5, 0.25], "valid")))
    return kept


def lax_friedrichs(beta: float, u: FloatArray) -> Iterator[FloatArray]:
    """Densities after each step of the scheme, without end."""
    n = len(u)
    x = CIRCLE * np.arange(n) / n
    force = rfft(-np.sin(x) * np.exp(beta * np.cos(x))) * CIRCLE / n
    while True:
        # A convolution would have no conjugate here.
        flux = 0.5 * COURANT * u * irfft(force * rfft(u).conj(), n)
        u = 0.5 * (np.roll(u, -1) + np.roll(u, 1)) - (np.roll(flux, -1) - np.roll(flux, 1))
        yield u


def growth() -> list[Claim]:
    """Growth rates of the real and imaginary part of c_3 by the scheme, 1,000 points, beta = 5.

    A step multiplies them by cos(k dx) +- (dt / dx) sin(k dx) lambda_k / k.
    """
    k, n, steps = 3, 1000, 800
    x, dx = CIRCLE * np.arange(n) / n, CIRCLE / n
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA)
    rate = float(mf.growth_rates(problem, k)[k]) * np.exp(5.0)
    u = (1.0 + 1e-6 * (np.cos(k * x) + np.sin(k * x))) / CIRCLE
    states = lax_friedrichs(5.0, u)
    for _ in range(steps):
        last = next(states)
    numbers = []
    for word, part, sign in (("real", np.real, 1.0), ("imaginary", np.imag, -1.0)):
        found = np.log(part(rfft(last)[k]) / part(rfft(u)[k])) / (steps * COURANT * dx)
        known = np.log(np.cos(k * dx) + sign * COURANT * np.sin(k * dx) * rate / k) / (COURANT * dx)
        numbers.append(
            Claim(f"beta = 5, 1,000 points: growth rate of the {word} part of c_3", float(known),
                   float(found), 1e-3, f"linear theory of the scheme; the equation: {rate:.4f}")
        )  # fmt: skip
    return numbers


def peaks(values: FloatArray) -> npt.NDArray[np.intp]:
    """Indices of the maxima that are higher than uniform."""
    higher = (values > np.roll(values, 1)) & (values >= np.roll(values, -1))
    return np.flatnonzero(higher & (values > 1.0 / CIRCLE))


def draw(figure: Figure, reproduction: Reproduction) -> None:
    """Densities by the equation and by the scheme, a row for each temperature."""
    data = reproduction.data
    figure.set_size_inches(9.0, 4.6)
    panels = figure.subplots(len(JOBS), 3, sharex=True)
    both = "beta_5_published" in data
    for row, job in zip(panels, JOBS, strict=True):
        name = f"beta_{job.beta:g}"
        for column, axes in enumerate(row):
            here = data[f"{name}_here"][column]
            axes.fill_between(
                data["angle"], here, color=ORDER, alpha=0.25 if both else 0.6, linewidth=0,
                label="the equation, by this package",
            )  # fmt: skip
            axes.plot(data["angle"], here, color=ORDER, linewidth=1.2)
            top = here.max()
            if both:
                theirs = data[f"{name}_published"][column]
                axes.plot(
                    data["angle"], theirs, color=ENERGY, label="the published scheme", linewidth=1.4
                )
                # Peaks of the equation are higher than the picture.
                top = min(top, 3.0 * theirs.max())
            axes.set_ylim(0.0, 1.08 * top)
            axes.set_xlim(0.0, CIRCLE)
            time = data[f"{name}_time"][column]
            axes.set_title(rf"$\beta = {job.beta:g}$,  $t = {time:.3g}$", loc="left")
    for axes in panels[-1]:
        axes.set_xticks(np.pi * np.arange(3), ["0", r"$\pi$", r"$2\pi$"])
        axes.set_xlabel(r"angle $\theta$")
    for axes in panels[:, 0]:
        axes.set_ylabel("density")
    if both:
        panels[0][0].set_ylim(top=0.4)
        panels[0][0].legend(loc="upper center", fontsize=7.5)
