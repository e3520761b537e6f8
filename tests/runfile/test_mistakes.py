"""Every mistake in a run file has its line: file, section, key, value, what is allowed."""

import re

import pytest
from parameters import refused, together

from meanfield.runfile import ConfigError, load_config

MISTAKES = [
    ('problem={manifold="circle", betta=1}', "[problem] 'betta' is not a key of this section. Did "
     "you mean beta? Known: "),
    ("problem.beta=nine", '[problem] beta = "nine" must be a number.'),
    ("problem.beta=nan", "[problem] beta = nan must be a finite number."),
    ("problem.beta=1e9", "[problem] beta must be 1e-300 to 1e+08"),
    ("problem.manifold=torus", '[problem] manifold = "torus" is not known. Known: circle'),
    ("problem.kernel=gauss", '[problem] kernel = "gauss" is not known. Known: exponential, linear'),
    ("problem.normalized=1", "[problem] normalized = 1 must be true or false."),
    ("problem.strength=0", "[problem] strength must be finite and not 0"),
    ("problem.diffusivity=-1", "[problem] diffusivity must be finite and >= 0"),
    ("problem.multipliers=[1]", '[problem] multipliers needs kernel = "zonal".'),
    ("problem.kernel=zonal", '[problem] kernel = "zonal" needs either multipliers'),
    ("problem=1", "[problem] must be a table, got 1."),
    ("initial=1", "[initial] must be a table, got 1."),
    ("initial.name=gauss", '[initial] name = "gauss" is not known. Known: atoms, configuration, '
     "file, function,"),
    ("initial.name=[1]", "[initial] name = [1] is not known."),
    ("initial.tokens=9", "[initial] 'tokens' is not a key of this section. Known: modes, name, "
     "profile."),
    ("initial.modes=[[1, 2.0, 0]]", "[initial] density is negative: -1 at 3.1416."),
    ("initial.modes=[[1, 2.0]]", "[initial] mode [1.0, 2.0] must be [k, cosine, sine]"),
    ("initial.modes=[[]]", "[initial] mode [] must be [k, cosine, sine]"),
    ("initial.modes=[[1e12, 0.1, 0]]", "[initial] modes holds degree 1e+12, expected at most "
     "131072"),
    ("initial.modes=[[1, nan, 0]]", "[initial] modes = [[1, nan, 0]] holds [1, nan, 0], which "
     "holds"),
    ("representation.name=atoms", "[representation] representation 'atoms' needs points"),
    ("representation={step=0.1}", "[representation] 'step' is not a key of this section. Known:"),
    ("representation.tolerance=-1e-9", "[representation] tolerance must lie between 1e-13 and "
     "0.01"),
    ("representation.tolerance=0", "[representation] tolerance must lie between 1e-13 and 0.01"),
    ("representation.max_degree=0", "[representation] max_degree must be at least 1, got 0."),
    ("representation.max_degree=9", "[representation] max_degree = 9 is below degree"),
    ("representation.seed=-1", "[representation] seed must not be negative, got -1."),
    ("representation.tokens=0", "[representation] tokens must be at least 1, got 0."),
    ("representation.tokens=10000000001", "[representation] tokens must be at most 10000000000"),
    ("representation.name=particles", "[representation] particles drawn from a density need "
     "tokens"),
    ("time.end=soon", '[time] end = "soon" must be a number.'),
    ("time.end=0", "[time] end must be positive and finite, got 0."),
    ("time.unit=years", '[time] unit = "years" is not known. Known: growth, paper, scaled.'),
    ("time.unit=growth", "[time] growth time needs a growing degree and none grows"),
    ("time.save=1", "[time] save must be at least 2 times, got 1."),
    ("time.save=2000000", "[time] save must be at most 1000000 times, got 2000000."),
    ("time.save=2.5", "[time] save = 2.5 must be an integer or a list."),
    ("time.save=[]", "[time] save = [] must be an integer or a list of at least 1."),
    ("time.save=[1, 75]", "[time] save holds 75, later than end = 3."),
    *[(f"time.save={times}", "[time] save times must be increasing and not negative, got [")
      for times in ([2, 1], [1, 1], [-1, 1])],
    ("time.spacing=log", '[time] spacing = "log" needs save = COUNT'),
    ("time.first=1", '[time] first needs spacing = "log".'),
    ("time.stop=never", '[time] stop = "never" is not known. Known: one_cluster.'),
    ("output.state=some", '[output] state = "some" is not known. Known: all, last, none.'),
    ('output.observables=["mass"]', '[output] observables = ["mass"] holds "mass", which is not '
     "known"),
    ("output.path=3", "[output] path = 3 must be a string."),
    ("compare.tokens=[1, 5]", "[compare] tokens must all be at least 2, got [1, 5]."),
    ("compare.tokens=[5, 3]", "[compare] tokens must be increasing, got [5, 3]."),
    ("compare.tokens=[]", "[compare] tokens = [] must be a list of at least 1."),
    ("compare.runs=1", "[compare] runs must lie between 2 and 1000000, got 1."),
    ("compare.seed=-2", "[compare] seed must not be negative, got -2."),
    ("compare.metric=W3", '[compare] metric = "W3" is not known. Known: W1, W2, mmd, sobolev.'),
    ("title=3", "title = 3 must be a string of one printable line."),
    ("problem=", "[problem] is missing."),
    ("time=", "[time] is missing."),
    ("problem.beta=", "[problem] beta is missing."),
    ("problem.manifold=", "[problem] manifold is missing."),
    ("problem={manifold='circle', kernel='zonal', multipliers=[1], beta=0}",
     "[problem] beta = 0.0 must lie between 1e-08 and 1e+08: for a zonal"),
    ("problem={manifold='circle', kernel='zonal', multipliers=[0.2, 0.5, 0.1], normalized=true}",
     "[problem] a normalised flow needs a positive kernel; 'zonal' falls to -0.6"),
    ("initial={name='atoms', angles=[0, 1], weights=[0.5, 0.25]}",
     "[initial] weights sum to 0.75, expected 1 within 1e-9."),
    ("initial={name='atoms', angles=[0, 1], weights=[1]}",
     "[initial] weights have shape (1,), expected (2,), one a point."),
    ("initial={name='atoms', angles=[0, 1], weights=[2, -1]}",
     "[initial] weights must be finite and not negative."),
    ("initial={name='atoms'}", "[initial] atoms on the circle are given by angles = [...] alone."),
    ("initial={name='atoms', angles=[0]}", "[representation] representation 'density' needs an "
     "initial density, got points."),
    ("initial={name='mixture', components=[{weight=0.5, concentration=1}]}",
     "[initial] weights of a mixture sum to 0.5, expected 1."),
    ("initial={name='mixture', components=[{weight=1}]}", "[initial] components = [{ weight = 1 }] "
     "holds { weight = 1 }, which is wrong: component concentration is missing."),
    ("initial={name='mixture', components=[1]}", "[initial] components = [1] holds 1, which is "
     "wrong: component must be a table, got 1."),
    ("initial={name='von_mises_fisher', concentration=-1}", "[initial] concentration = -1 must lie "
     "between 0 and 1e+08."),
    ("initial={name='sampled', tokens=0}", "[initial] tokens = 0 must lie between 1 and 1000000"),
    ("initial={name='sampled', tokens=5, max_degree=140000}", "[initial] max_degree = 140000 must "
     "lie between 1 and 131072."),
    ("initial={name='sampled', tokens=5, seed=-1}", "[initial] seed = -1 must not be negative."),
    ("initial={name='sampled', tokens=5, max_degree=8}", "[initial] density is negative"),
]  # fmt: skip


@pytest.mark.slow
@together(("override", "message"), MISTAKES)
def test_mistake_has_its_line(path, override, message):
    """A mistake would be computed with, or the user would not learn where it is."""
    refused(re.escape(f"run.toml: {message}"), load_config, path, [override], error=ConfigError)


@together(
    ("text", "message"),
    [
        ("[problm]\nbeta = 1\n", r"\[problm\] is not a known section\. Did you mean problem\? "),
        ("[[head]]\n", r"\[\[head\]\] is not a known section\. Did you mean heads\? Known: com"),
        ("beta = 1\n", r"run\.toml: beta belongs into a section\. Did you mean problem\.beta\?"),
        ("nonsense = 1\n", r"nonsense belongs into a section\. Expected title, or a section\."),
        (
            '[problem]\nmanifold = "circle"\nattention = "softmax"\nbeta = 1\n[time]\nend = 1\n',
            r'needs kernel = "zonal"\. Attention by softmax \(SA\) is normalization = "softmax"\.',
        ),
    ],
)
def test_mistake_points_at_what_was_meant(path, text, message):
    """The user would search the documentation for a slip of the pen."""
    path.write_text(text)
    refused(message, load_config, path, error=ConfigError)
