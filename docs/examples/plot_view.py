r"""
Look at a run in the browser
============================

A figure shows some times of a run, a view all of them: turn the globe, play, step with
the arrow keys, go to a time by a click into the pictures at the right. `run.view()` is
one page without any request to a network, which notebooks show in place.
"""

import meanfield as mf

# %%
# Three waves on the sphere, and what becomes of them by softmax attention:

law = mf.perturbed_uniform([[1, 0, 0.05], [2, 1, 0.15], [3, -2, 0.15]])
problem = mf.Problem(mf.Sphere(), mf.exponential(beta=4.0), mf.SA, law)
run = mf.simulate(problem, until=3.0, save=25, tolerance=1e-5)
run.view()

# %%
# A thousand tokens of the same law, which go on longer, are dots over their density,
# smoothed by the heat kernel. On the circle a ring, or a ribbon, takes the place of the
# globe, and in other dimensions a cloud on the leading principal axes.

tokens = mf.simulate(
    problem, until=12.0, save=13, representation="particles", tokens=1000
)
tokens.view()

# %%
# On the command line that is ``meanfield view run.h5 --open``; `save` writes the page.
# As a figure the same looks like this:

tokens.plot("map")
