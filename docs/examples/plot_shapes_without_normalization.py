r"""
Without layer normalisation: polytopes and hyperplanes
======================================================

In :math:`\mathbb R^d` tokens of one softmax head move by :math:`\dot x_i = \sum_j
P_{ij} V x_j` and grow without bound. :math:`z_i = e^{-tV} x_i` has a limit, whose shape
depends on :math:`V`: the boundary of a polytope, or a few parallel hyperplanes
(`arXiv:2305.05465 <https://arxiv.org/abs/2305.05465>`_).
"""

import matplotlib.pyplot as plt
import numpy as np

import meanfield as mf

start = np.random.default_rng(3).uniform(-5, 5, size=(20, 2))

# %%
# For :math:`V = 1` tokens follow the vertices of a polygon.

same = mf.Problem(
    mf.Euclidean(2),
    mf.Attention([mf.Head()], beta=1.0),
    initial=mf.from_points(start / 4),
)
run = mf.simulate(same, until=10.0, save=21)
shape = mf.limit_shape(same, run.measures[-1], run.time[-1])
print(shape)

# %%
# A matrix with one largest eigenvalue leaves at most three hyperplanes, here lines.

value = [[0.64709742, 0.81911926], [0.61210449, 0.63263484]]
lines = mf.Problem(
    mf.Euclidean(2),
    mf.Attention([mf.Head(value=value)], beta=1.0),
    initial=mf.from_points(start / 4),
)
stretched = mf.simulate(lines, until=10.0, save=21)
print(mf.limit_shape(lines, stretched.measures[-1], stretched.time[-1]))

# %%
# Rescaled tokens over time:

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
run.plot("hulls", ax=left, title="$V = 1$: a polygon")
stretched.plot("hulls", ax=right, title="one leading eigenvalue: lines")
plt.show()
