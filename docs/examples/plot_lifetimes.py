r"""
A staircase: how long clusters live
===================================

Several clusters are a metastable state. At large :math:`\beta` each such state lasts
longer than all before it together, by factors like :math:`e^{\beta}`. Atoms, weighted
clusters that merge as they meet, make such times affordable.
"""

import matplotlib.pyplot as plt
import numpy as np

import meanfield as mf

# %%
# A nearly uniform density at :math:`\beta = 25`, over 22 decades of time, until one
# cluster is left.

modes = [
    [1, 0.02, 0.01],
    [3, 0.0, -0.03],
    [5, -0.03, 0.0],
    [6, 0.01, 0.03],
    [7, 0.02, -0.02],
]
law = mf.perturbed_uniform(modes)
problem = mf.Problem(mf.Circle(), mf.exponential(beta=25.0), mf.USA, law)
run = mf.simulate(
    problem,
    until=1e24,
    save=181,
    spacing="log",
    first=1.0,
    stop="one_cluster",
    tolerance=1e-8,
)
run

# %%
# The energy climbs a staircase: it is nearly constant until two clusters meet.

run.plot("staircase")

# %%
# The clusters that met, and the times:

run.plot("tree")

# %%
# The last step is the longest, and its end is known in closed form: `two_cluster_time`
# integrates the angle between two clusters. The lifetime of :math:`k` equal clusters at
# equal distances needs only a rate and a constant (`polygon_lifetime`):

betas = np.linspace(4, 25, 22)
_, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
for clusters in (2, 4, 6):
    lives = [
        mf.polygon_lifetime(
            mf.Problem(mf.Circle(), mf.exponential(beta), mf.USA), clusters
        ).time(0.01)
        for beta in betas
    ]
    axes.semilogy(betas, lives, label=f"{clusters} clusters")
axes.set(
    xlabel=r"$\beta$",
    ylabel="lifetime (scaled time)",
    title="equal clusters, off by 0.01",
)
axes.legend(frameon=False)
plt.show()
