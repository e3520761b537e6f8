r"""
One cluster, or several that last?
==================================

In how many dimensions, and at which :math:`\beta`, do random tokens become one cluster?
`merging_diagram` moves many replicas and counts the pairs that have met, the phase
diagram of `arXiv:2312.10794 <https://arxiv.org/abs/2312.10794>`_ on a small scale.
"""

import matplotlib.pyplot as plt
import numpy as np

import meanfield as mf

# %%
# Sixteen random tokens on spheres in 2 and in 128 dimensions, softmax attention; a pair
# has met when its cosine is above 0.999.

betas = np.linspace(0.5, 9, 18)
times = np.linspace(0, 30, 61)
flat = mf.merging_diagram(16, 2, betas=betas, times=times, runs=16)
high = mf.merging_diagram(16, 128, betas=betas, times=times, runs=4)
high

# %%
# In many dimensions random tokens are nearly orthogonal. The dashed curve, for exactly
# equal angles, separates "none has met" from "all have met". In the plane there is a
# third region at large :math:`\beta`, where several clusters last and the share is
# neither 0 nor 1.

figure, panels = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
for axes, made in zip(panels, (flat, high), strict=True):
    colours = axes.pcolormesh(
        times, betas, made.fraction, vmin=0, vmax=1, cmap="cividis"
    )
    axes.set(title=f"$d = {made.dimension}$", xlabel="time", ylim=(0.5, 9))
later = times[times > 1]
panels[1].plot(later, mf.equiangular_beta(16, later, 1 - 0.999), "w--")
panels[0].set(ylabel=r"$\beta$")
figure.colorbar(colours, ax=panels, label="share of pairs that have met")
plt.show()
