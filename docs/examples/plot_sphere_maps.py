r"""
Clusters on the sphere
======================

Layer normalisation with three coordinates puts tokens on the sphere. At :math:`\beta =
5` modes of degree 3 grow fastest; this one has its four maxima at the corners of a
tetrahedron.
"""

import numpy as np

import meanfield as mf

# %%
# Modes on the sphere are real spherical harmonics, `[degree, order, amplitude]`. The
# mode of degree 1 breaks the symmetry.

law = mf.perturbed_uniform([[3, 2, 0.1], [1, 0, 0.02]])
problem = mf.Problem(mf.Sphere(), mf.exponential(beta=5.0), mf.USA, law)
density = mf.simulate(problem, until=32.0, save=5)
density.plot("map")

# %%
# These maps have equal areas. Tokens drawn from the same law go to the same corners:

tokens = mf.simulate(
    problem, until=64.0, save=5, representation="particles", tokens=1000
)
tokens.plot("map")

# %%
# The masses of the four clusters, and the angles between their centres in degrees
# (109.47 for a regular tetrahedron):

last = tokens.observables
mass = last["clusters/mass"][-1]
centres = last["clusters/centre"][-1][np.isfinite(mass)]
print(
    "clusters:",
    tokens.cluster_counts()[-1],
    "masses:",
    mass[np.isfinite(mass)].round(3),
)
cosines = np.clip(centres @ centres.T, -1, 1)
print(np.rad2deg(np.arccos(cosines[np.triu_indices(len(centres), 1)])).round(1))
