r"""
How many clusters will tokens form?
===================================

Random tokens are nearly uniform, and leave uniform along its unstable modes. Theory
predicts without a simulation which modes grow, and how many clusters form.
"""

import matplotlib.pyplot as plt
import numpy as np

import meanfield as mf

# %%
# A mode of degree :math:`l` grows like :math:`e^{\lambda_l t}`, and :math:`\lambda_l`
# is a Bessel function. At :math:`\beta = 7` degree 4 is the fastest, but degree 3 is
# hardly slower.

problem = mf.Problem(mf.Circle(), mf.exponential(beta=7.0), mf.USA)
rates = mf.growth_rates(problem, max_degree=12)
print("fastest degree", mf.dominant_degree(problem))
print("rates of degrees 2 to 5:", rates[2:6].round(4))

# %%
# So the number of clusters is random. `predict_clusters` draws the initial
# moments of many sets of 20,000 tokens, lets all modes grow by linear theory until they
# are no longer small, and solves the mean-field equation from there (the *corrected*
# law).

prediction = mf.predict_clusters(problem, tokens=20_000, runs=200)
print(prediction)

# %%
# The dominant degree is four, but three clusters are more likely: neighbouring wells of
# the potential merge before clusters are tight. In a notebook a prediction shows its
# report:

prediction

# %%
# Both laws beside the spectrum:

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
degrees = np.arange(1, 13)
left.bar(degrees, rates[1:], color=np.where(degrees == rates.argmax(), "C1", "C0"))
left.set(xlabel="degree", ylabel="growth rate (scaled time)", title="which modes grow")
for name, law, shift in [
    ("linear", prediction.linear, -0.2),
    ("corrected", prediction.corrected, 0.2),
]:
    if law is not None:
        counts = np.array(list(law.distribution))
        right.bar(counts + shift, list(law.distribution.values()), 0.4, label=name)
right.set(
    xlabel="clusters",
    ylabel="probability",
    title="how many clusters",
    xticks=range(2, 7),
)
right.legend(frameon=False)
plt.show()
