r"""
From nearly uniform to clusters
===============================

The limit of infinitely many tokens is a density that obeys

.. math:: \partial_t \mu + \operatorname{div}(\mu\, v) = 0, \qquad v = \nabla (W * \mu),
    \qquad W(\langle x, y\rangle) = \tfrac1\beta e^{\beta\langle x, y\rangle - \beta} .

This run begins with three small waves on the circle and ends with four clusters.
"""

import matplotlib.pyplot as plt
import numpy as np

import meanfield as mf

# %%
# A problem is a manifold, a kernel, a flow and an initial law: here a density :math:`1
# + \sum_k a_k \cos k\theta + b_k \sin k\theta`, each mode as `[k, a, b]`.

law = mf.perturbed_uniform([[1, 0.03, 0.01], [3, 0.0, -0.02], [4, 0.02, 0.01]])
problem = mf.Problem(mf.Circle(), mf.exponential(beta=9.0), mf.USA, law)
problem

# %%
# `simulate` stores the density by its Fourier coefficients while it is smooth, and by
# characteristics once clusters are too narrow for any spectrum. The run reports when:

run = mf.simulate(problem, until=60.0)
run

# %%
# The overview has the density over time, the energy, and each moment beside the growth
# that linear theory gives it.

run.plot()

# %%
# Linear theory holds until moments are of order one. Then all degrees saturate at once.
# Its error:

moments = abs(run.moments[:, :6])
rates = mf.growth_rates(problem, max_degree=5)
_, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
for degree in (1, 3, 4):
    axes.semilogy(run.time, moments[:, degree], f"C{degree}", label=f"$|c_{degree}|$")
    predicted = moments[0, degree] * np.exp(rates[degree] * run.time)
    axes.semilogy(run.time, predicted, f"C{degree}--", linewidth=0.8)
axes.set(
    xlabel="scaled time", ylim=(5e-3, 2), title="moments, and linear theory (dashed)"
)
axes.legend(frameon=False)
plt.show()
