r"""
Tutorial: one problem, from the question to the file
====================================================

Tokens on a circle attract each other with the weights of self-attention. In the limit
of many tokens their distribution :math:`\mu` obeys

.. math:: \partial_t \mu + \operatorname{div}(\mu\, v) = 0, \qquad
    v(x) = \nabla (W * \mu)(x), \qquad W(s) = \tfrac1\beta e^{\beta s - \beta} .

This tutorial predicts how many clusters form, runs and checks one such problem, and
goes on to tokens, heads and files. With all its results it is also a notebook,
``docs/tutorial.ipynb``.
"""

from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np

import meanfield as mf

# %%
# What will happen?
# -----------------
#
# A problem is a manifold, a kernel, a flow and an initial law; it computes nothing by
# itself. The law is the density :math:`1 + 0.1 \cos 3\theta + 0.02 \sin\theta`,
# relative to the uniform probability measure.

law = mf.perturbed_uniform([[3, 0.1, 0.0], [1, 0.0, 0.02]])
problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA, law)
problem

# %%
# The bars are the growth rates of degrees 1, 2, ... about the uniform measure: degree 3
# grows fastest. For random tokens, whose moments are noise of size :math:`n^{-1/2}`,
# three clusters are therefore likely, but not certain:

random = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA)
mf.predict_clusters(random, tokens=1000, runs=200)

# %%
# Time is *scaled time*, that of a kernel of largest value 1. Papers leave out the
# factor :math:`e^{-\beta}`; ``unit="paper"`` converts times.
#
# A run
# -----

run = mf.simulate(problem, until=0.4, unit="paper", save=41)
run

# %%
# A run has times, and at each the moments of the measure and observables.

print(run.time.shape, run.moments.shape)
print("masses of the clusters:", run.observables["clusters/mass"][-1].round(4))
print("their centres:", run.observables["clusters/centre"][-1].round(4))

# %%
run.plot()

# %%
# Is it right?
# ------------
#
# As long as degree 3 is small it grows as linear theory says:

c3 = abs(run.moments[:5, 3])
rate = np.log(c3[-1] / c3[0]) / run.scaled_time[4]
print(f"measured {rate:.5f}, predicted {mf.growth_rates(problem)[3]:.5f}")

# %%
# The flow is a gradient flow: the rate of the energy equals the dissipation of the
# flow. For densities a run stores both, computed independently of each other.

by_density = np.array(run.representation) == "density"
ratio = run.diagnostics["energy_rate"] / run.diagnostics["energy_dissipation"]
print("largest deviation:", abs(ratio[by_density] - 1).max())

# %%
# `verify` checks a run against the laws of its mathematics:

mf.verify(run)

# %%
# How close are tokens?
# ---------------------
#
# Systems of :math:`n` tokens, each drawn from the initial density, and their
# distance :math:`W_1` to its evolution, in radians. A hundred times as many tokens are
# about ten times closer. All distances grow, because the uniform density is unstable.

times = run.time[:21:2]
_, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
for tokens in (100, 1000, 10_000):
    system = mf.simulate(
        problem,
        until=0.2,
        unit="paper",
        save=times,
        representation="particles",
        tokens=tokens,
        seed=1,
    )
    distances = [
        mf.wasserstein(measure, limit, p=1)
        for measure, limit in zip(system.measures, run.measures[:21:2], strict=True)
    ]
    axes.semilogy(times, distances, "o-", markersize=3, label=f"{tokens:,} tokens")
axes.set(xlabel="paper time", ylabel="$W_1$ to the limit (rad)")
axes.legend(frameon=False)
plt.show()

# %%
# Another attention
# -----------------
#
# Softmax divides the velocity by
# :math:`Z(x) = \int e^{\beta\langle x, y\rangle} d\mu(y)`, and heads have matrices
# :math:`Q, K, V`. A value matrix that is a rotation makes clusters that rotate while
# they form:

turning = mf.Head(value=[[0.825, -0.565], [0.565, 0.825]])
heads = mf.Attention([turning], "softmax", beta=5.0)
rotating = mf.Problem(mf.Circle(), heads, initial=law)
print(mf.linear_operator(rotating).describe())
mf.simulate(rotating, until=12.0).plot("density")

# %%
# On the sphere
# -------------
#
# The same calls take a sphere. Modes are spherical harmonics, `[degree, order,
# amplitude]`; this one has its maxima at the corners of a tetrahedron.

corners = mf.perturbed_uniform([[3, 2, 0.1], [1, 0, 0.02]])
ball = mf.Problem(mf.Sphere(), mf.exponential(beta=5.0), mf.USA, corners)
mf.simulate(ball, until=0.2, unit="paper", save=3).plot("map")

# %%
# Files
# -----
#
# `save` writes a run, and `load` reads it. ``meanfield plot``, ``info`` and ``view``
# take the file, too.

path = Path(mkdtemp()) / "three.h5"
run.save(path)
loaded = mf.load(path)
print(loaded, np.array_equal(loaded.moments, run.moments))
