r"""
A phase transition with noise
=============================

Let tokens also diffuse: :math:`\partial_t \mu + \operatorname{div}(\mu v)
= D \Delta \mu`. Above a critical :math:`D` the uniform measure is stable, below it
ordered states exist. Does order set in continuously, or with a jump?
"""

import matplotlib.pyplot as plt
import numpy as np

import meanfield as mf
from meanfield.stationary.branches import primary_branch

# %%
# For each :math:`\beta`, `phase_point` follows the branch of ordered states from where
# it leaves uniform, through its folds.

soft = mf.phase_point(mf.Problem(mf.Circle(), mf.exponential(beta=2.0), mf.USA))
sharp = mf.phase_point(mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA))
print(soft)
print(sharp)

# %%
# At :math:`\beta = 5` there is a window between the critical diffusivity and the saddle
# node where both states are stable:

sharp

# %%
# The change from one to the other is at the tricritical :math:`\beta`, a ratio of
# Bessel functions:

print("tricritical beta:", mf.tricritical_beta(mf.Circle()))

# %%
# Order parameter against diffusivity along both branches of stationary states. In the
# grey window uniform and order are both stable; at the dot their free energies are
# equal.

figure, panels = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
for axes, beta in zip(panels, (2.0, 5.0), strict=True):
    branch = primary_branch(
        mf.Problem(mf.Circle(), mf.exponential(beta), mf.USA), smallest=0.6
    )
    stable = branch.stable_within_symmetry
    for label, shown in [("stable", stable), ("unstable", ~stable)]:
        order = np.where(shown, branch.order_parameter, np.nan)
        axes.plot(
            branch.values,
            order,
            "-" if label == "stable" else "--",
            color="C0",
            label=label,
        )
    critical = branch.values[0]
    axes.hlines(0, critical, 1.2 * critical, "C0")
    axes.set(
        title=rf"$\beta = {beta:g}$",
        xlabel="diffusivity",
        xlim=(0.7 * critical, 1.2 * critical),
    )
jump = panels[1]
jump.axvspan(sharp.critical_diffusivity, sharp.saddle_node_diffusivity, color="0.9")
jump.plot(sharp.transition_diffusivity, sharp.order_parameter_at_transition, "ko")
panels[0].set(ylabel="order parameter")
jump.legend(frameon=False)
plt.show()

# %%
# The initial law decides in which of two stable states a run ends:

noisy = mf.Flow("none", diffusivity=0.0358)
for concentration in (1.0, 5.0):
    law = mf.von_mises_fisher(concentration)
    problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), noisy, law)
    run = mf.simulate(problem, until=4000.0, save=2, tolerance=1e-6)
    order = run.observables["order_parameter"][-1]
    print(f"concentration {concentration:g}: order parameter {order:.4f} at the end")
