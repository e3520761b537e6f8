"""Published figures, made again: which there are. `meanfield reproduce` makes them.

A figure is one entry of `ENTRIES` and one module beside this file; `entry.py` says what they are
to each other, `pages.py` writes what comes out.
"""

from __future__ import annotations

from meanfield.gallery.entry import Entry

_ALL = (
    Entry(
        name="eigenvalues",
        source="arXiv:2410.23228, notebook of the authors",
        title="Growth rates at two temperatures",
        parameters="Circle, USA, $\\beta = 5$ and $7$, degrees $k = 0, \\dots, 10$.",
        shows="$\\gamma_k = k^2 I_k(\\beta) / (\\pi \\beta)$ against the degree $k$; the largest "
        "one, which clusters are counted by, is marked.",
        differs="They are the growth rates $\\lambda_k = k^2 I_k(\\beta) / \\beta$ of Fourier "
        "modes in the paper's time, divided by $\\pi$; the degree of the largest is the same. "
        "The published numbers of $\\beta = 5$ are read off the figure.",
        seconds=0.1,
        module="eigenvalues",
    ),
)

ENTRIES: dict[str, Entry] = {entry.name: entry for entry in _ALL}
"""Every figure by its name, in the order of names."""
