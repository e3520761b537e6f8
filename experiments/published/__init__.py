"""Table of published figures that `meanfield reproduce` makes.

A figure is an entry of `ENTRIES` and a module beside this file. `entry.py` defines the interface of
these modules, and `pages.py` writes the results.
"""

from __future__ import annotations

from published.entry import Entry

_ALL = (
    Entry(
        name="alignment-phase",
        source="arXiv:2509.25040, figure 1",
        title="Tokens align with the leading eigenspace",
        parameters="Sphere $S^2$, SA with $Q = K = 1$, $\\beta = 30$, 400 even tokens (the source: "
        "10,000 random ones) to $t = 6$; $V = \\mathrm{diag}(1, 0, 0)$, and $V$ with eigenvalues "
        "$1 \\pm i$ and 0. The source's matrices are not known to us.",
        shows="Tokens at four times: a pair of opposite points, and a great circle that turns.",
        differs="The source prints no numbers. Beside ours stand those of the limit, the linear "
        "flow $e^{tV}x/|e^{tV}x|$, and two that are exact at late times: a pair is approached at "
        "rate 1, and the circle turns by $I_1(\\beta)/I_0(\\beta) = 0.98319$ a unit of time.",
        seconds=5.0,
        module="alignment_phase",
    ),
    Entry(
        name="causal-centres",
        source="arXiv:2411.04990, figure 2",
        title="Under a causal mask clusters form at the first tokens",
        parameters="200 independent uniform tokens on the circle under a causal mask, softmax, $Q "
        "= K = V = 1$, $\\beta = 64$; 20 prompts, $\\delta = 4 \\beta^{-1/2} = 0.5$.",
        shows="Tokens of one prompt at five times, and their paths. A token farther than "
        "$\\delta$ from all before it is a strong centre (red); one that is so far from all "
        "centres kept before it is a greedy one (Renyi's parking). In the prompt shown a strong "
        "centre merges with a cluster: it is only a little farther than $\\delta$ from it, and "
        "the cluster has many tokens.",
        differs="The source shows one prompt of an unknown seed, one of whose centres is gone "
        "between $t = 75$ and 150; here the same is counted over prompts. Strong is a separation, "
        "no promise for all times: few prompts have such a centre.",
        seconds=30.0,
        module="causal_centres",
    ),
    Entry(
        name="cosine-histograms",
        source="arXiv:2312.10794, figure 4 (metastable clusters)",
        title="Cosines of pairs of tokens: clusters that last",
        parameters="32 uniform tokens on the circle, softmax, $Q = K = V = 1$, $\\beta = 9$, seed "
        "1.",
        shows="Histograms of the cosines of pairs at $t = 2.5$ and $t = 18$, and the mean number "
        "of tokens that one attends to, the exponential of the entropy of its row. At $t = 2.5$ "
        "five clusters are forming, at $t = 18$ there are four, and all pairs have one of a few "
        "cosines.",
        differs="The source gives no seed; $d$, $n$, $\\beta$ and the times are those commonly "
        "quoted, and the start is ours. Numbers are compared with a second integration. The "
        "published layers $x \\leftarrow N(x + 0.1 A)$ run late by a tenth where tokens are "
        "close.",
        seconds=2.0,
        module="cosine_histograms",
        published_seconds=2.0,
    ),
    Entry(
        name="eigenvalues",
        source="arXiv:2410.23228, notebook of the authors",
        title="Growth rates at two temperatures",
        parameters="Circle, USA, $\\beta = 5$ and $7$, degrees $k = 0, \\dots, 10$.",
        shows="$\\gamma_k = k^2 I_k(\\beta) / (\\pi \\beta)$ against the degree $k$; the largest "
        "one, which clusters are counted by, is marked.",
        differs="They are the growth rates $\\lambda_k = k^2 I_k(\\beta) / \\beta$ of Fourier "
        "modes in the paper's time, divided by $\\pi$; the degree of the largest is the same. The "
        "published numbers of $\\beta = 5$ are read off the figure.",
        seconds=0.1,
        module="eigenvalues",
    ),
    Entry(
        name="energy-maximisers",
        source="arXiv:2501.03096, figures 1, 6 and 7",
        title="Where tokens climb to under a matrix",
        parameters="Sphere $S^2$, USA with score and value $D$, 100 tokens; 30 starts of $D = 1$, "
        "diag(1, 3, 4) and diag(1, -3, -4), 6 of $D = -1$; to $t = 25$ and, where weights reach "
        "$e^4$, $t = 1.5$ in the paper's time.",
        shows="Tokens of all starts at the end, on balls coloured by $x^T D x$; and the energy "
        "$\\iint e^{x^T D y}$ of one and of two clusters under diag(-1, $d$).",
        differs="The source prints no numbers of figures 1 and 6; theorems say where clusters "
        "are. Its stored script of figure 1 has starts of one token each, which do not move for "
        "$D = 1$; here each start is 100 tokens. Of diag(1, -3, -4) it has 100 starts. Energies "
        "of figure 7 are stored, and equal.",
        seconds=30.0,
        module="maximisers",
    ),
    Entry(
        name="energy-minimisers",
        source="arXiv:2501.03096, figures 3 and 4",
        title="Where tokens descend to under a matrix",
        parameters="Sphere $S^2$, USA with score $D$ and value $-D$, 100 random tokens (the "
        "source: 400) to $t = 300$ in the paper's time; $D = 1$, diag(1, 1/4, 1), diag(1, 0, 1) "
        "and diag(0, 0, 1). Circle: four tokens, $D = \\mathrm{diag}(1, d)$, to $t = 30$.",
        shows="Tokens at the end, on balls coloured by $x^T D x$; and how far the ratio "
        "$\\tanh(x_1^2) / \\tanh(d x_2^2)$ of four tokens is from $d$, which it is at rest.",
        differs="Stored ratios are within 0.0006 of $d$, those here within rounding: the source "
        "computes in single precision. Least energies are exact, "
        "$\\sinh 1$ and 1; where $D$ has a kernel tokens approach it like $t^{-1/2}$.",
        seconds=60.0,
        module="minimisers",
    ),
    Entry(
        name="equiangular-curve",
        source="arXiv:2312.10794, equation (6.12), notebook curve of the authors",
        title="The curve that parts one cluster from none",
        parameters="$n = 128$ tokens that begin orthogonal, softmax, $1 - \\delta = 0.999$, times "
        "to 30; in the notebook 50 values of $\\beta$ in $[0.1, 9]$ and 300 times.",
        shows="At each time the largest $\\beta$ at which the common cosine, equation (6.9), has "
        "come to $1 - \\delta$.",
        differs="The notebook integrates (6.9) by SciPy's solve_ivp with its default tolerances "
        "and takes the largest of 50 values of $\\beta$, hence the stairs; here the time is a "
        "closed form in exponential integrals, and $\\beta$ its root.",
        seconds=2.0,
        module="equiangular_curve",
        published_seconds=2.0,
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
        name="heat-phase",
        source="arXiv:2509.25040, figure 3",
        title="Repulsive attention is a heat flow",
        parameters="Circle, SA with $V = -1$, $\\beta = 50$, a mixture of three Gaussians (widths "
        "0.25, 0.35, 0.3) to $s = t/\\beta = 5$; the density itself instead of 50,000 tokens.",
        shows="The density at five times $s$, and the heat flow from the same start, both through "
        "a window of width 0.05.",
        differs="The source prints no numbers; its mixture is not known to us. Distances from the "
        "limit are of order $1/\\beta$, and the last mode decays by $I_1(\\beta)/I_0(\\beta)$, "
        "0.98995, of its limit rate.",
        seconds=5.0,
        module="heat_phase",
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
        name="limit-shapes",
        source="arXiv:2305.05465, figures of theorems 3.1, 4.1 and 5.1",
        title="Limit shapes without layer normalisation",
        parameters="$\\mathbb R^d$, one softmax head with $Q^T K = 1$, 20 tokens uniform in "
        "$[-5, 5]^d$ to $t = 5$; $V = 1$, $V = ((0.647, 0.819), (0.612, 0.633))$ and "
        "$V = \\mathrm{diag}(1, 1, -1/2)$. Numbers are of six tokens, a line of five and a pair.",
        shows="Paths of $z = e^{-tV}x$, their convex hulls at three times, where they are at the "
        "end: a polytope, hyperplanes, and a polytope in the plane on which $V$ is 1.",
        differs="The source prints no numbers, and its starts are not kept; beside ours stand "
        "those of another integrator, and theorems. Its step with four stages is Euler's exactly: "
        "`--published` takes both. At $t = 5$ steps of 0.1 leave vertices 0.01 from the flow's.",
        seconds=4.0,
        module="limit_shapes",
        published_seconds=1.0,
    ),
    Entry(
        name="lost-in-the-middle-circle",
        source="arXiv:2605.09213, script of the authors for particles on the circle, seed 17",
        title="A decoder on the circle: the first tokens gather the others",
        parameters="64 tokens, $\\beta = 1$, ALiBi's weights $e^{-\\lambda (j - k) / n}$, "
        "$\\lambda = 1$, over the tokens before, no softmax; four clusters of 16 at $0.1 \\pi, "
        "\\dots, 1.9 \\pi$ with deviations of 0.075; time to 10, Runge-Kutta steps of 0.0025.",
        shows="Tokens at five times with their paths, coloured by the cluster that they begin in; "
        "the first token, which rests, in a ring. Below all angles over time.",
        differs="In the source a token does not attend to itself; in this package it does, as "
        "under the causal mask of arXiv:2411.04990, which slows token $j$ by a factor of about "
        "$1 - 1/j$ and vanishes with many tokens. The source's force has a factor $\\beta$ more, "
        "here 1.",
        seconds=6.0,
        module="lost_in_the_middle_circle",
        published_seconds=6.0,
    ),
    Entry(
        name="merging-random-matrices",
        source="arXiv:2312.10794, figure 5, script phase-diagrams of the authors",
        title="Merged pairs with random matrices",
        parameters="32 uniform tokens on the sphere of $\\mathbb R^8$, softmax, times to 30; 45 "
        "values of $\\beta$ in $[0.1, 9]$, 64 replicas, matrices drawn anew for each.",
        shows="Share of the pairs with a cosine above 0.999 over time and $\\beta$, for six pairs "
        "of laws of $B = Q^T K$ and $V$.",
        differs="The script has 90 values and 2,048 replicas, no seed, and sweeps the dimension: "
        "the figure's is not in it. Its values act on rows from the right, hence $B^T$. No number "
        "is printed.",
        seconds=60.0,
        module="merging_random_matrices",
        published_seconds=60.0,
    ),
    Entry(
        name="merging-softmax",
        source="arXiv:2312.10794, figure 3, script phase-diagrams of the authors",
        title="When random tokens merge, softmax",
        parameters="32 uniform tokens on the sphere of $\\mathbb R^d$, $d$ = 2, 8, 128, 1024, $Q "
        "= K = V = 1$; 90 values of $\\beta$ in $[0.1, 9]$ (30 in $\\mathbb R^{1024}$), 200 times "
        "to 30; 128, 64, 4 and 2 replicas.",
        shows="Share of the pairs with a cosine above 0.999 over time and $\\beta$; dashed the "
        "curve (6.12), where tokens that begin orthogonal reach it. In $\\mathbb R^2$ and "
        "$\\mathbb R^8$ several clusters last at large $\\beta$, and shares stop between 0.2 and "
        "0.6, the sum of their squared masses; in high dimension all pairs merge at once, on the "
        "curve.",
        differs="The script has 2,048 replicas and no seed; with fewer, standard errors are 0.001 "
        "to 0.01, and 0.05 in the transition. Its layers $x \\leftarrow N(x + 0.1 A)$ are not "
        "projected and come about half a unit of time after the flow.",
        seconds=100.0,
        module="merging_softmax",
        published_seconds=100.0,
    ),
    Entry(
        name="merging-unnormalized",
        source="arXiv:2312.10794, figure 3 for USA, script phase-diagrams of the authors",
        title="When random tokens merge, without normalisation",
        parameters="As for softmax, $d$ = 2, 8, 128, 45 values of $\\beta$ in $[0.2, 9]$, times to "
        "1 in the paper's unit; 32, 32 and 2 replicas.",
        shows="Share of the pairs with a cosine above 0.999 over time and $\\beta$; dashed the "
        "times at which tokens that begin orthogonal, equation (6.10), reach it.",
        differs="The script has 2,048 replicas and no seed. Its step is 0.1 over "
        "$\\max(\\sqrt\\beta e^{\\beta - 1/2}, 1)$, 147,000 layers at $\\beta = 9$: by that "
        "scheme 23 values of $\\beta$ and 8, 4 and 2 replicas are made here.",
        seconds=70.0,
        module="merging_unnormalized",
        published_seconds=70.0,
    ),
    Entry(
        name="minimising-density",
        source="arXiv:2501.03096, figure 5",
        title="The density of least energy",
        parameters="Circle, USA with score $D = \\mathrm{diag}(1, 1 + \\epsilon)$ and value $-D$, "
        "$\\epsilon = -0.1, -0.05, \\dots, 0.3$; from uniform to $t = 20000$, where degree 6 is "
        "at rest, too; degree 8 is not, and is seen in the sixth digit of the density.",
        shows="The density at rest over uniform, and its moments of degrees 2, 4 and 6 beside "
        "those of the linear equation $\\int e^{x^T D y}\\rho(y)\\,dy = $ const.",
        differs="The published densities are 1,500 steps of exponentiated gradient on 1,000 "
        "points, after which degree 4 is 3 % and degree 6 35 % below what it tends to: degree $k$ "
        "decays like $e^{-k^2 I_k(1) t}$ in the paper's time, 6 far more slowly than 2. "
        "`--published` makes the same steps, and gives the stored numbers to single precision.",
        seconds=80.0,
        module="minimising_density",
        published_seconds=15.0,
    ),
    Entry(
        name="mixture-collapse",
        source="arXiv:2509.25040, figure 2",
        title="Components of a mixture collapse",
        parameters="Great circle, SA, $\\beta = 10$, 9,999 tokens at quantiles of three wrapped "
        "Gaussians with $\\sigma_0 = 0.2$, to $t = 1.5$.",
        shows="Histograms of the azimuth at four times, and the variance of a component.",
        differs="The source prints no numbers. The limit, backward heat, would collapse at "
        "$t = \\beta\\sigma_0^2/2 = 0.2$; at $\\beta = 10$ a Gaussian on a line has the variance "
        "$\\ln v + \\beta v = \\ln v_0 + \\beta v_0 - 2t$, which tokens follow within 3 %: the "
        "rest is the curvature of the circle.",
        seconds=5.0,
        module="mixture_collapse",
    ),
    Entry(
        name="noisy-phases",
        source="arXiv:2604.16288 and arXiv:2606.05140 (the theory; no figure)",
        title="Where order sets in with noise",
        parameters="Circle and sphere, USA with diffusivity $D$ in scaled time, $\\beta$ from 1 to "
        "10.",
        shows="Above, in units of the critical diffusivity $D_\\#$: the transition $D_c$, where "
        "uniform and order have one free energy, and the saddle node $D_{SN}$, up to which order "
        "lasts; both are stable in between. Below, the order parameter at $D_c$, which jumps there "
        "from zero.",
        differs="The theory has $\\beta_*$ as the root of an equation and $D_\\#$ in closed form, "
        "which agree; no source has numbers for $D_c$, $D_{SN}$ and the jump: these are the "
        "package's own, by continuation of the branch that leaves uniform. Slow ramps of the "
        "diffusivity show the hysteresis (`experiments/noisy_transition`).",
        seconds=12.0,
        module="noisy_phases",
    ),
    Entry(
        name="normalization-diagram",
        source="arXiv:2510.22026, simulations of the author (simuformer)",
        title="Where layers normalise sets the clock of clustering",
        parameters="64 uniform tokens on the sphere of $\\mathbb R^{16}$, softmax, $Q = K = V = "
        "1$, 20 values of $\\beta$ in $[0.1, 15]$, 500 layers of step 0.1, $\\alpha = 0.2$ of "
        "nGPT; 16 replicas.",
        shows="One over the share of the pairs with a cosine above 0.999, at most 10, over depth "
        "and $\\beta$: about the number of clusters.",
        differs="The script has 512 replicas; its 8 heads are all the same, as one. Its lengths "
        "of pre and peri grow by $r' = r \\sum_c A_c$, the sum of the coordinates of the output, "
        "in the place of $\\langle\\theta, A\\rangle$: lengths grow or shrink exponentially "
        "by an accidental sign, so that some tokens rest, others jump, and shares rise far too "
        "early, and some fall again. "
        "Its nGPT keeps all of the token, $N(\\theta + h \\alpha N(A))$, and is slower by $1 - h "
        "\\alpha$. Post is the same to the bit.",
        seconds=70.0,
        module="normalization_diagram",
        published_seconds=70.0,
    ),
    Entry(
        name="output-angles",
        source="arXiv:2510.05554, figure 1",
        title="One attention layer at a temperature that grows with the context",
        parameters="$n$ tokens of the same cosine $\\rho$, softmax at $\\beta = \\gamma \\ln n$, "
        "without the token itself added; $n$ = 512, $10^6$, $10^{24}$.",
        shows="$\\lambda$, the angle of two outputs over that of two tokens; dashed $\\gamma = "
        "1/(1 - \\rho)$. Below it all outputs have one direction, above they are the tokens.",
        differs="The source shows random tokens of finite dimension and its $\\lambda$ is defined "
        "in its equation (3.2), of which only the words input-to-output angle ratio were at hand; "
        "here tokens have exactly one cosine and $\\lambda$ is a closed form. A token's own "
        "weight tends to 0, 1/2 and 1 below, on and above the line.",
        seconds=2.0,
        module="output_angles",
    ),
    Entry(
        name="pair-force",
        source="arXiv:2312.10794, figure 6",
        title="The force of a pair",
        parameters="$\\beta$ = 1, 2, 4, 9.",
        shows="$h_\\beta(\\theta) = e^{\\beta \\cos\\theta} \\sin\\theta$ over its largest value, "
        "which is at $\\cos\\tau_\\beta = (\\sqrt{1 + 4\\beta^2} - 1)/2\\beta$.",
        differs="They do not.",
        seconds=0.5,
        module="pair_force",
    ),
    Entry(
        name="perceptron-clusters",
        source="arXiv:2601.21366, particles on the circle and the sphere",
        title="Repelling tokens in the valleys of a perceptron",
        parameters="$S^1$ and $S^2$, USA descending, with as many ReLU neurons as dimensions, "
        "weights $s_m a_m$, $s_m$ normal; 200 tokens (the source: 500) to $t = 2000$, six "
        "$\\beta$ from 0.1 to 50 of its thirteen; NumPy's random numbers of the "
        "source's seeds, in an order of our own.",
        shows="The potential and tokens at rest on the circle; how many atoms there are over "
        "$\\sqrt\\beta$; tokens at rest on the sphere.",
        differs="The source prints no numbers. Its gap between clusters, "
        "$\\min(1 / (2\\sqrt\\beta), \\pi/2d)$, counts atoms here. On the circle there are "
        "more of them the sharper the kernel; in both valleys of the sphere $U$ is curved by more "
        "than the mass of the atom there, and neither splits at any $\\beta$. Tokens do not pass "
        "from one valley to another, so that states need not be of least energy; as the energy is "
        "convex in the measure, none is farther above the least energy than stated.",
        seconds=90.0,
        module="perceptron_clusters",
    ),
    Entry(
        name="retrieval-profiles",
        source="arXiv:2605.09213, profiles and threshold",
        title="Lost in the middle: profiles and threshold",
        parameters="Circle, USA with ALiBi's weights of rate $\\lambda = 1$, $\\beta = 1$ on the "
        "left and 0.1 to 4.8 on the right; degrees $n \\le 20$ with weights "
        "$e^{-(\\pi n/M)^2/2}$, $M = 8$.",
        shows="How much each position influences the end of a context, at times $t$; and the time "
        "$t_{crit}(\\beta)$ at which the U ends, as the slope at $s = 1$ vanishes.",
        differs="They agree. The rates are growth rates of this package, the kernel its "
        "`causal_response`, and the threshold the zero of the slope at the end; the published "
        "numbers are the source's closed form "
        "$2(1 - e^{-\\lambda})\\sum w_n b_n / \\sum w_n b_n^2$, $b_n = n^2 I_n(\\beta)$.",
        seconds=2.0,
        module="retrieval_profiles",
    ),
    Entry(
        name="sphere-paths",
        source="arXiv:2312.10794, films of its repository",
        title="Sixty-four tokens on the sphere",
        parameters="Sphere, softmax, $\\beta = 1$, identity matrices, 64 uniform tokens, to "
        "$t = 15$. The source takes steps of 0.1 and no seed.",
        shows="Tokens (grey: on the far side) at four times, with the paths that led there. A "
        "film: `meanfield plot RUN.h5 -o film.gif`.",
        differs="All tokens become one cluster, as in the films. Their steps add 0.1 times the "
        "average, which is not projected, so that their clock is up to a factor 1.1 slow.",
        seconds=2.0,
        module="sphere_paths",
        published_seconds=2.0,
    ),
    Entry(
        name="staircase",
        source="arXiv:2410.06833, staircase figure, with its code",
        title="A staircase of energies, up to time 1e143",
        parameters="Circle, five tokens at $(0, 1/4, 1, 2, 7/2) \\ln(2000) / \\sqrt{2000}$, "
        "$\\beta$ = 500, 1000, 1500, 2000, 3000, 4000, softmax and USA. The stored script takes "
        "steps of $10^{-5} \\ln \\beta$ along the gradient, USA.",
        shows="The energy, as a share of that of one cluster, over time and over the clock of the "
        "paper, $dt = \\ln\\beta \\min e^{\\beta(1 - \\cos)}\\,ds$ over pairs farther apart than "
        "$1/\\sqrt{\\beta \\ln \\beta}$; dotted, sums of squared masses of 5, 4, 3, 2, 1 clusters. "
        "With `--published` over the arc length of the script, over $\\ln\\beta$.",
        differs="Levels agree. The clock of the paper and that of its script are two: the script "
        "counts steps of one length; here pairs are glued as soon as they are nearer than 0.001, "
        "there once the gradient is small as well. On its axis, which is printed up to 10, all is "
        "over by 0.12. "
        "Time itself is on neither: the last two clusters of softmax meet at $1.3 \\cdot 10^{143}$ "
        "at $\\beta = 4000$.",
        seconds=20.0,
        module="staircase",
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
        "clusters by itself, $(2\\pi j - \\mathrm{arg}\\, c_k(0))/k$; histograms of all tokens.",
        differs="Another draw makes other clusters: their generator was a GPU's. At $\\beta = 7$ "
        "the figure has four, which is one draw: degrees 3 and 4 grow nearly as fast as each "
        "other, and three clusters are the more likely. With the same draw Euler's steps move "
        "tokens next to a watershed to another side, and no cluster by much.",
        seconds=8.0,
        module="many_tokens",
        published_seconds=8.0,
    ),
    Entry(
        name="two-clusters-split",
        source="arXiv:2501.03096, figure 2",
        title="One cluster or two",
        parameters="Circle, USA with score and value $D = \\mathrm{diag}(d, 1)$, 20 values of $d$ "
        "from 0 to 1.5; 100 random tokens to $t = 150$ in the paper's time, 50 starts of each $d$ "
        "(the source: 100).",
        shows="The share of starts that end in one cluster, and the interval in which two clusters "
        "are not stable.",
        differs="They agree within the spread of random starts. The interval is exact: two equal "
        "clusters at the ends of an axis with eigenvalue $\\lambda$ tilt to one side if the other "
        "one, $\\mu$, is larger than $\\lambda\\tanh\\lambda$, so from $\\tanh 1 = 0.7616$ to "
        "$d\\tanh d = 1$, 1.1997. `--published` takes layers $x \\leftarrow N(x + \\tau A)$ of "
        "step 0.1, 5 starts of each.",
        seconds=100.0,
        module="two_clusters_split",
        published_seconds=40.0,
    ),
)

ENTRIES: dict[str, Entry] = {entry.name: entry for entry in _ALL}
"""Figures by name, in the order of names."""
