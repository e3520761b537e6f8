r"""
Steering: gradients through a run
=================================

`gradient` differentiates an observable at the end of a run with respect to any
parameters, by one backward sweep. Here an optimiser chooses :math:`\beta` of five
stages so that tokens form two clusters instead of four.
"""

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

import meanfield as mf

# %%
# A softmax flow at :math:`\beta = 9` from six random waves. Five stages of
# :math:`\beta` until :math:`t = 5`, then 9 again.

rng = np.random.default_rng(0)
waves = 0.03 * (rng.standard_normal(6) + 1j * rng.standard_normal(6)) / np.sqrt(2)
law = mf.from_density([1.0, *waves])


def staged(betas: NDArray[np.float64]) -> mf.Problem:
    """Problem with one beta after the other."""
    stages = [
        mf.Stage(end=end, kernel=mf.exponential(beta))
        for end, beta in enumerate(betas, start=1)
    ]
    return mf.Problem(
        mf.Circle(), mf.exponential(9.0), mf.SA, law, stages=[*stages, mf.Stage()]
    )


# %%
# The loss: power in degrees other than 2 and its double, relative to that of degree 2.


def others(moments: NDArray[np.complex128]) -> float:
    """Logarithm of the power of degrees 1, 3, 5 and 6 over that of degree 2."""
    power = abs(moments) ** 2
    return float(np.log(power[[1, 3, 5, 6]].sum() / power[2]))


def both(betas: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Value and gradient, as SciPy's optimisers take them."""
    found = mf.gradient(staged, betas, others, until=5.0, tolerance=1e-7)
    return found.value, found.gradient


start = np.full(5, 3.0)
options = {"maxiter": 6, "ftol": 1e-2}
best = minimize(
    both, start, jac=True, method="L-BFGS-B", bounds=5 * [(0.5, 5.0)], options=options
)
print("betas of the stages:", best.x.round(3), "after", best.nfev, "gradients")

# %%
# The same initial density, without and with steering:

figure, (alone, steered) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for axes, betas, title in [
    (alone, 5 * [9.0], "left alone"),
    (steered, best.x, "steered"),
]:
    run = mf.simulate(staged(np.array(betas)), until=12.0)
    run.plot(
        "density", ax=axes, title=f"{title}: {run.cluster_counts()[-1]:g} clusters"
    )
plt.show()
