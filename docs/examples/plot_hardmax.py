r"""
Hardmax: the limit of large beta
================================

As :math:`\beta \to \infty` a token attends to the one token with the largest score,
:math:`\dot x_i = V (y_i - x_i)` in :math:`\mathbb R^d`. Paths are smooth between the
events at which a token turns to another one. These are located to rounding.
"""

import matplotlib.pyplot as plt
import numpy as np

import meanfield as mf

# %%
# The score matrix turns by more than a right angle: every token follows the token that
# is farthest to its left.

tokens = np.random.default_rng(6).normal(size=(24, 2))
left = [[0.6, 0.8], [-0.8, 0.6]]
run = mf.hardmax(mf.Euclidean(2), tokens, score=left, until=3.0)
print(run)
for event in run.events[:3]:
    print(f"t = {event.time:.4f}: token {event.token}, {event.before} -> {event.after}")

# %%
# The difference of softmax is of order :math:`1/\beta`:

eight = mf.hardmax(mf.Euclidean(2), tokens[:8], score=left, until=1.0)
differences = {}
for beta in (10.0, 40.0, 160.0, 640.0):
    attention = mf.Attention([mf.Head(score=left)], beta=beta)
    law = mf.from_points(tokens[:8])
    problem = mf.Problem(
        mf.Euclidean(2), attention, initial=law, drift=mf.LinearDrift(-1.0)
    )
    end = mf.simulate(problem, until=1.0, save=2, tolerance=1e-9).measures[-1].points
    differences[beta] = abs(end - eight.points[-1]).max()

# %%
# Left, all paths, with a dot at each turn; right, that difference.

figure, (paths, error) = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
paths.plot(run.points[:, :, 0], run.points[:, :, 1], linewidth=1)
paths.plot(*run.points[0].T, "k.", markersize=4)
turns = np.array([run.at(event.time)[event.token] for event in run.events])
paths.plot(*turns.T, "ko", markersize=4, fillstyle="none")
paths.set(aspect="equal", title=f"{len(run.events)} turns of 24 tokens")
error.loglog(differences.keys(), differences.values(), "o-", label="softmax - hardmax")
error.loglog([10, 640], [0.16, 0.16 / 64], "k:", label=r"$\propto 1/\beta$")
error.set(xlabel=r"$\beta$", title="largest difference at t = 1")
error.legend(frameon=False)
plt.show()
