r"""
Distances between measures
==========================

`wasserstein` compares densities and tokens, in any combination: exactly on the circle,
between proven bounds on the sphere.
"""

import matplotlib.pyplot as plt
import numpy as np

import meanfield as mf

# %%
# Two densities on the circle, and tokens drawn from the first.

circle = mf.Circle()
first = mf.perturbed_uniform([[3, 0.6, 0.0]]).build(circle)
second = mf.von_mises_fisher(concentration=2.0).build(circle)
rng = np.random.default_rng(1)
tokens = mf.Measure(circle, mf.sample_tokens(first, 1000, rng))
print(f"densities:         W1 = {mf.wasserstein(first, second):.6f} rad")
print(f"tokens of the first: W1 = {mf.wasserstein(tokens, first):.6f} rad")

# %%
# On the circle these are exact to rounding: a rotation by 0.3 moves mass by 0.3.

angles = rng.normal(0.0, 0.2, 500)
turned = mf.wasserstein(
    mf.Measure(circle, angles), mf.Measure(circle, angles + 0.3), p=2
)
print(f"turned by 0.3:     W2 = {turned:.15f}")

# %%
# On the sphere no formula is known. The result is a bracket, whose ends are proved by a
# plan and by potentials of the dual problem:

sphere = mf.Sphere()
tetrahedron = mf.perturbed_uniform([[3, 2, 0.2]]).build(sphere)
few = mf.Measure(sphere, mf.sample_tokens(tetrahedron, 100, rng))
print(mf.wasserstein(few, tetrahedron, p=1))

# %%
# On the circle :math:`W_1` of samples to their law falls like :math:`n^{-1/2}`, and so
# do cheaper distances, by moments.

sizes = 2 ** np.arange(5, 15)
distances = {"$W_1$": [], "Sobolev": [], "MMD": []}
for size in sizes:
    drawn = [mf.Measure(circle, mf.sample_tokens(first, size, rng)) for _ in range(10)]
    distances["$W_1$"].append(np.mean([mf.wasserstein(one, first) for one in drawn]))
    distances["Sobolev"].append(
        np.mean([mf.sobolev_distance(one, first) for one in drawn])
    )
    distances["MMD"].append(
        np.mean([mf.maximum_mean_discrepancy(one, first, 4.0) for one in drawn])
    )
_, axes = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
for name, values in distances.items():
    axes.loglog(sizes, values, "o-", markersize=3, label=name)
axes.loglog(sizes, 2 / np.sqrt(sizes), "k:", label="$2\\,n^{-1/2}$")
axes.set(xlabel="tokens $n$", title="mean distance of a sample to its law")
axes.legend(frameon=False)
plt.show()
