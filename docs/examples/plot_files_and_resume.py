r"""
Run files, results, and going on
================================

What Python does a run file does, and back: TOML in, HDF5 out. A file is whole at every
moment, and a run that was stopped goes on from it to the same bits.
"""

from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np

import meanfield as mf

folder = Path(mkdtemp())

# %%
# With `output=` a run is written as it goes.

law = mf.perturbed_uniform([[3, 0.1, 0.0], [1, 0.0, 0.02]])
problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA, law)
first = mf.simulate(problem, until=20.0, save=11, output=folder / "three.h5")
print(first)

# %%
# Later, ask for more and say `resume`. Nothing is computed twice, and it is the run
# that one call would have made:

more = mf.simulate(
    problem, until=60.0, save=31, output=folder / "three.h5", resume=True
)
whole = mf.simulate(problem, until=60.0, save=31)
print("the same to the bit:", np.array_equal(more.moments, whole.moments))

# %%
# Everything needed to make it again is in the file, as a run file:

loaded = mf.load(folder / "three.h5")
print(loaded.attributes["config"])

# %%
# That text runs by itself, with keys of your own where you like. On the command line it
# is ``meanfield run again.toml --set problem.beta=4``.

(folder / "again.toml").write_text(loaded.attributes["config"])
_, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
for beta in (4.0, 5.0, 6.0):
    run = mf.run(folder / "again.toml", problem={"beta": beta})
    axes.plot(run.time, run.observables["energy"], label=rf"$\beta = {beta:g}$")
axes.set(xlabel="scaled time", ylabel="energy over that of one cluster")
axes.legend(frameon=False)
plt.show()
