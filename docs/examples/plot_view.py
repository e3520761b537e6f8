r"""
Look at a run in the browser
============================

A view shows all saved times of a run: turn the globe, play, step with the arrow keys,
go to a time by a click into the pictures at the right. `run.view()` is one page that
needs no network. Notebooks show it in place.
"""

import meanfield as mf

# %%
# Three waves on the sphere under softmax attention:

law = mf.perturbed_uniform([[1, 0, 0.05], [2, 1, 0.15], [3, -2, 0.15]])
problem = mf.Problem(mf.Sphere(), mf.exponential(beta=4.0), mf.SA, law)
run = mf.simulate(problem, until=3.0, save=25, tolerance=1e-5)
run.view()

# %%
# A run of a thousand tokens of the same law to a later time. Tokens are dots over their
# density, smoothed by the heat kernel.

tokens = mf.simulate(
    problem, until=12.0, save=13, representation="particles", tokens=1000
)
tokens.view()

# %%
# On the command line this is ``meanfield view run.h5 --open``; `save` writes the page.
# A figure of the same run:

tokens.plot("map")
