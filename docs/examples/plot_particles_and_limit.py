r"""
How close are N tokens to their limit?
======================================

Draw :math:`n` tokens from the initial density, move them by the same attention, and
measure how far they are from the density that solves the mean-field equation, in the
Wasserstein distance :math:`W_1`. At first it is of order :math:`n^{-1/2}`. How fast
does it grow?
"""

import matplotlib.pyplot as plt
import numpy as np

import meanfield as mf

law = mf.perturbed_uniform([[1, 0.03, 0.01], [3, 0.0, -0.02], [4, 0.02, 0.01]])
problem = mf.Problem(mf.Circle(), mf.exponential(beta=9.0), mf.USA, law)

# %%
# `convergence_study` runs the density once and many systems of each size. Saved times
# are in scaled time.

study = mf.convergence_study(
    problem, until=40.0, save=21, tokens=[100, 1000, 10_000], runs=6
)
study

# %%
# At first the distance falls like :math:`n^{-1/2}`, by sampling alone. Then instability
# drives every system away from the limit, no faster than the fastest mode (dashed).
# Once the clusters of small systems are elsewhere, the exponent is no longer that of
# the limit.

study.plot()

# %%
# One system, with the density behind its tokens. Both have the same number of clusters,
# but not at the same places.

few, until = 300, 60.0
limit = mf.simulate(problem, until=until)
tokens = mf.simulate(
    problem, until=until, representation="particles", tokens=few, seed=2
)
angles = np.array([measure.points for measure in tokens.measures])
_, axes = plt.subplots(figsize=(7, 4), layout="constrained")
limit.plot("density", ax=axes, title=f"the limit, and {few} tokens (cyan)")
axes.plot(
    tokens.time,
    np.mod(angles + np.pi, 2 * np.pi)[:, ::10] - np.pi,
    "c.",
    markersize=1.5,
)
plt.show()
