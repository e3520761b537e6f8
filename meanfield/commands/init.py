"""`meanfield init`: a commented run file to start from."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path

TEMPLATE = """\
# A run of meanfield. Try: meanfield run {name}

title = "Clusters on the circle"

[problem]
manifold = "circle"           # "circle" | "sphere" | "sphere:128" | "space:2" (R^2, tokens)
kernel = "exponential"        # "exponential" | "linear" (Kuramoto) | "zonal" (your own)
beta = 9.0                    # inverse temperature
normalization = "softmax"     # "softmax" (SA) | "none" (USA) | "sinkhorn" (doubly stochastic)
strength = 1.0                # -1.0 repels
# mask = "causal"             # tokens see those before them; or "alibi", with alibi_rate

# [[heads]]                   # one a head, as many as there are; without any Q = K = V = 1
# query = 1.0                 # a number, a diagonal [a, b], rows, "w.npy" or "w.npz:name"
# key = 1.0
# value = [[0.8, -0.6], [0.6, 0.8]]
# beta = 2.0                  # this head's own; default: that of [problem]
#                             # [time] unit = "growth" only where they leave uniform alone

# [feed_forward]              # moves tokens too: output . activation(input . x + bias)
# input = "mlp.npz:input"     # matrices as above
# bias = "mlp.npz:bias"
# output = "mlp.npz:output"
# activation = "gelu"         # "relu" | "gelu" | "silu" | "tanh" | "identity"

# [drift]                     # moves tokens too: matrix . x
# matrix = [[0, -0.3], [0.3, 0]]

# [[stages]]                  # what changes: keys of [problem], heads, feed_forward, drift
# end = 1.0                   # in [time] unit; the last stage has none
# [[stages]]
# beta = 4.0

# [layers]                    # discrete layers instead of the flow; then [time] may be left out
# count = 24
# step = 0.1
# placement = "pre"           # "post" | "pre" | "peri" | "sandwich" | "mix" | "ngpt" | ...

# [frequencies]               # on the circle: tokens also turn, each at its own
# law = "gaussian"            # "lorentzian" | "gaussian" | "uniform" | "given" (values)
# width = 0.1

[initial]
name = "perturbed_uniform"    # "uniform" | "von_mises_fisher" | "mixture" | "sampled" |
                              # "normal_tokens" | "configuration" | "tokens" | "atoms" |
                              # "file"
modes = [[1, 0.01, 0.0], [3, 0.02, -0.01], [4, 0.0, 0.02]]   # [k, cosine, sine]
                              # on the sphere: [l, m, amplitude]

[representation]
name = "auto"                 # "auto" | "density" | "characteristics" | "atoms" | "particles" |
                              # "labelled": densities by position or frequency
# labels = 64                 # labelled: positions or frequencies stored; more taken as needed
# tolerance = 1e-10           # default; characteristics on the sphere: 1e-4
# max_degree = 4096           # density: largest degree (default on the sphere: 512)
# max_nodes = 100000          # characteristics: most nodes (default: 2000000)
# tokens = 1000               # particles: how many to draw from the initial density
# seed = 0

[time]
end = 8.0
unit = "growth"               # "scaled" | "paper" | "growth" (1 / largest growth rate)
save = 81                     # equally spaced, or a list of times
# spacing = "log"             # from first to end instead: for the times of merging clusters
# first = 0.1
# stop = "one_cluster"        # end there, if earlier

[output]
path = {output}               # relative to this file
observables = ["order_parameter", "energy", "clusters", "peaks", "resolution"]

# [fluctuations]              # how far N tokens are from this limit, at every saved time
# degree = 4                  # of the moments
# tokens = 1000               # N, for figures and tables
"""


def execute(options: argparse.Namespace) -> int:
    """Write the file, never over another."""
    path = Path(options.name)
    if not path.name or not path.name.isprintable():
        raise ValueError(f"{options.name!r} is no name of a file.")
    if path.suffix != ".toml":
        path = path.with_name(path.name + ".toml")
    # A string of JSON is one of TOML.
    output = json.dumps(f"{path.stem}.h5", ensure_ascii=False)
    try:
        # Never over another file, not even one that appears now.
        path.open("x").close()
    except FileExistsError:
        raise ValueError(f"{path} exists: choose another name.") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror}.") from None
    try:
        path.write_text(
            TEMPLATE.format(name=shlex.quote(path.name), output=output), encoding="utf-8"
        )
    except OSError as error:
        # Half a file would be in the way of the next attempt.
        path.unlink(missing_ok=True)
        raise ValueError(f"{path} cannot be written: {error.strerror}.") from None
    print(f"{path}: now try `meanfield run {shlex.quote(str(path))}`.")
    return 0
