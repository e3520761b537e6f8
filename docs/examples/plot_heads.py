r"""
Heads with matrices: patterns that turn
=======================================

Attention with matrices :math:`Q, K, V` moves tokens by :math:`\sum_h V_h\, N_h / Z_h`.
A value matrix that is a rotation makes clusters that rotate while they form. The
spectrum about uniform predicts this.
"""

import numpy as np

import meanfield as mf

# %%
# One softmax head whose value matrix is a rotation by 0.6. `linear_operator` has the
# rates of all modes; complex ones turn.

turn = 0.6
rotation = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
attention = mf.Attention([mf.Head(value=rotation)], "softmax", beta=5.0)
law = mf.perturbed_uniform([[1, 0.15, 0.05], [2, 0.1, 0.15], [3, 0.0, -0.4]])
problem = mf.Problem(mf.Circle(), attention, initial=law)
operator = mf.linear_operator(problem)
print(operator.describe())
operator.plot()

# %%
# In a run, with nonlinear terms, the clusters go on turning.

run = mf.simulate(problem, until=6.0)
run.plot("density")

# %%
# Heads add up, each with its own softmax. Here one draws tokens to the horizontal axis,
# and the other turns them. Two opposite clusters form, and turn slowly.

heads = [mf.Head(score=[2.0, 0.0], value=[1.0, 0.0]), mf.Head(value=rotation, beta=2.0)]
both = mf.Problem(mf.Circle(), mf.Attention(heads, "softmax", beta=3.0), initial=law)
mf.simulate(both, until=8.0).plot("density")
