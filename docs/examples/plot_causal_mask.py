r"""
A causal mask
=============

Under a causal mask a token attends only to itself and to earlier positions, so the
first tokens hardly move and the later ones follow them. The limit is a density for each
position :math:`s \in (0, 1]`.
"""

import matplotlib.pyplot as plt
import numpy as np

import meanfield as mf

# %%
# `mask="causal"` sets the mask. 64 densities represent the positions.

causal = mf.Attention([mf.Head()], beta=5.0, mask="causal")
law = mf.perturbed_uniform([[2, 0.1, 0.0], [3, 0.0, 0.05]])
problem = mf.Problem(mf.Circle(), causal, initial=law)
run = mf.simulate(problem, until=6.0, labels=64)
run.plot("labels")

# %%
# Without a mask the order of the tokens does not matter, and the order parameter is one
# number; with it each position has its own.

run.plot("label_order")

# %%
# The same with tokens, in eight dimensions. Rows of the attention matrix end at the
# diagonal:

tokens = mf.Problem(mf.Sphere(8), causal, initial=mf.normal_tokens(48))
deep = mf.simulate(tokens, until=20.0, save=21)
figure, axes = plt.subplots(1, 3, figsize=(9, 3.6), layout="constrained")
for panel, time in zip(axes, (0.0, 5.0, 20.0), strict=True):
    at = int(np.argmin(abs(deep.time - time)))
    (weights,) = mf.attention_matrix(tokens, deep.measures[at])
    panel.imshow(weights, norm="log", vmin=1e-4, vmax=1)
    panel.set(title=f"t = {time:g}", xlabel="token attended to", xticks=[], yticks=[])
plt.show()
