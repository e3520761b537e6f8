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
    Entry(
        name="forming-clusters",
        source="arXiv:2410.23228, notebook of the authors",
        title="A noisy density becomes clusters",
        parameters="Circle, USA, $u_0 = 1/2\\pi + 0.01$ times normal noise on 10,000 points, "
        "PyTorch's generator with seed 0. $\\beta = 5$ at $t = 0.31$, $0.38$, $0.44$ and "
        "$\\beta = 7$ at $t = 0.053$, $0.062$, $0.070$ in the paper's time. The notebook takes the "
        "scheme of Lax and Friedrichs, $\\Delta t = \\Delta x / 50$.",
        shows="The density, here that of the equation itself; with `--published` also that of the "
        "published scheme, from the same noise.",
        differs="The published scheme correlates where the equation convolves, $\\int W'(x + y) "
        "u(y)\\,dy$ instead of $\\int W'(x - y) u(y)\\,dy$: imaginary parts of the coefficients "
        "decay at the rate at which real ones grow, and every panel is its own mirror image, with "
        "a peak at $0$ or $\\pi$. Its diffusion of $25\\,\\Delta x$ keeps peaks low. Peaks stand "
        "where the figure has them, and where any peak of three must in such a picture; their "
        "heights depend on the draw, which need not be that of a CPU.",
        seconds=6.0,
        module="forming_clusters",
        published_seconds=35.0,
    ),
    Entry(
        name="kinetic-phase",
        source="arXiv:2410.06833, figure of the kinetic phase, with its code",
        title="Five tokens, and when their clusters meet",
        parameters="Circle, softmax, $\\beta = 4$, five tokens at 0.06219714, 0.21432297, "
        "1.81912262, 2.91107101, -3.09524835, to $t = 400$. Two tokens have met when the cosine of "
        "their angle is above 0.999. The source takes steps of 0.1.",
        shows="The tokens at five times; the energy as a share of that of one cluster, whole and "
        "about the last merge; with `--published` also that of the source's steps and of Euler's.",
        differs="The source adds $\\Delta t$ times the softmax average, which is not projected to "
        "the tangent space, and normalises: a step of $\\Delta t / (1 + \\Delta t \\langle x, A "
        "\\rangle)$ along the flow, so that its clock is slow by $1 + \\Delta t$ beside clusters. "
        "Who reads times off that figure is 11 % late.",
        seconds=4.0,
        module="kinetic_phase",
        published_seconds=4.0,
    ),
    Entry(
        name="twenty-thousand-tokens",
        source="arXiv:2410.23228, notebook of the authors",
        title="Twenty thousand tokens become three or four clusters",
        parameters="Circle, USA, 20,000 tokens, iid uniform. $\\beta = 5$ to $t = 0.6$ and "
        "$\\beta = 7$ to $t = 0.1$ in the paper's time $t$, histograms of 100 bins at $t = 0.3$ "
        "and $0.045$. The notebook takes Euler's steps of $10^{-4}$ in the angles, through dense "
        "matrices; seeds 12345 and 1234 there and here, of other generators.",
        shows="Paths of 200 of the tokens; dashed, where the mode $k$ that grows fastest would put "
        "clusters by itself, $(2\\pi j - \\arg c_k(0))/k$; histograms of all tokens.",
        differs="Another draw makes other clusters: their generator was a GPU's. At $\\beta = 7$ "
        "the figure has four, which is one draw: degrees 3 and 4 grow nearly as fast as each "
        "other, and three clusters are the more likely. With the same draw Euler's steps move "
        "tokens next to a watershed to another side, and no cluster by much.",
        seconds=8.0,
        module="many_tokens",
        published_seconds=8.0,
    ),
)

ENTRIES: dict[str, Entry] = {entry.name: entry for entry in _ALL}
"""Every figure by its name, in the order of names."""
