"""`meanfield stability`: the promised numbers, under the promised names."""

import numpy as np
import pytest
from scipy.special import ive


@pytest.fixture
def answer(cli):
    return lambda line: cli.json("stability", *line.split())


def test_json_holds_linear_theory(answer):
    """A program would find other names or numbers than promised."""
    result = answer("--manifold circle --beta 9 --normalization none --tokens 1000")
    l = np.arange(13)
    # lambda_l = l^2 e^{-beta} I_l(beta) / beta on the circle.
    rates = l**2 * ive(l, 9.0) / 9.0
    assert result["growth_rates"] == pytest.approx(rates.tolist(), rel=1e-12)
    assert result["dominant_degree"] == 4
    assert result["growth_rate_max"] == pytest.approx(rates.max(), rel=1e-12)
    assert result["critical_diffusivity"] == pytest.approx(ive(1, 9.0) / 9.0, rel=1e-12)
    assert result["onset_time"] == pytest.approx(np.log(1000) / (2 * rates.max()), rel=1e-12)
    assert [round(beta, 4) for beta in result["thresholds"]] == [1.0445, 3.1654, 6.2113]


def test_nothing_that_grows_is_null(answer):
    """Infinity is no JSON."""
    result = answer("--manifold sphere --beta 3 --normalization none --strength -1 --tokens 10")
    assert result["dominant_degree"] is None and result["onset_time"] is None
    assert result["critical_diffusivity"] == 0.0 and result["thresholds"] == []


@pytest.mark.parametrize("degree", [1, 60])
def test_max_degree_is_the_option(answer, degree):
    """The list would end elsewhere."""
    line = f"--manifold sphere:5 --beta 2 --normalization none --max-degree {degree}"
    assert len(answer(line)["growth_rates"]) == degree + 1


@pytest.mark.parametrize(
    "line",
    [
        "--manifold circle --beta 740 --normalization none",
        "--manifold circle --beta 800 --normalization none",
        "--manifold sphere --beta -1e5 --normalized",
        "--manifold circle --beta 3 --normalization none --strength 1e308",
        "--manifold sphere:1000 --beta 1e-200 --normalization none",
        "--manifold circle --beta 0 --normalization none --max-degree 50",
    ],
)
def test_extremes_are_printed_without_a_warning(answer, cli, line):
    """NumPy's warnings would stand between the numbers."""
    assert "growth rate (scaled time)" in cli.quiet("stability", *line.split())
    answer(line)


RUN_FILE = """\
problem = { manifold = "circle", beta = 4.0, normalization = "softmax", diffusivity = 0.02 }
time = { end = 1.0 }
"""


def test_run_file_of_a_kernel_has_its_eigenvalues(answer, tmp_path):
    """A program would have to know which run files have heads before it asks."""
    path = tmp_path / "kernel.toml"
    path.write_text(RUN_FILE, encoding="utf-8")
    result = answer(f"--config {path} --set problem.beta=5")
    rates = np.sort(np.repeat(result["growth_rates"][1:], 2))[::-1]
    assert result["beta"] == 5.0 and result["stationary"] is True and result["drift"] < 1e-12
    # Degrees above those listed decay by diffusion, faster than the first dozen of these.
    values = np.array(result["eigenvalues"])
    assert values[:20] == pytest.approx(np.column_stack([rates[:20], 0 * rates[:20]]), abs=1e-12)
    assert result["growth_rate_max"] == pytest.approx(values[0, 0])
    assert len(answer(f"--config {path} --modes 3")["eigenvalues"]) == 3


def of_heads(folder, value):
    path = folder / "heads.toml"
    path.write_text(RUN_FILE.replace(", diffusivity = 0.02", "") + f"heads = [{{value = {value}}}]")
    return path


@pytest.mark.slow
def test_heads_that_turn_are_rotating_waves(answer, cli, tmp_path):
    """Complex eigenvalues would be lost between the operator and its reader."""
    path, figure = of_heads(tmp_path, "[[0.8, -0.6], [0.6, 0.8]]"), tmp_path / "x.png"
    result = answer(f"--config {path}")
    (rate, frequency), (again, opposite) = result["eigenvalues"][:2]
    assert rate == again == result["growth_rate_max"] > 0 and frequency == -opposite > 0
    drift = pytest.approx(0.6 * ive(1, 4.0) / ive(0, 4.0))
    assert result["stationary"] is True and result["drift"] == drift
    text = cli("stability", "--config", path, "--modes", 2, "--plot", figure)
    assert figure.stat().st_size > 10_000
    assert "carried by a rotation with |v| up to 0.5181" in text
    assert "grows, rotating wave, angular velocity " in text and "more: --modes N" in text


def test_uniform_that_heads_move_has_no_rates(answer, cli, tmp_path):
    """Numbers that mean nothing would be printed."""
    path = of_heads(tmp_path, "[2.0, 1.0]")
    result = answer(f"--config {path}")
    assert result["stationary"] is False and result["eigenvalues"] == []
    assert result["growth_rate_max"] is None
    assert result["drift"] == pytest.approx(0.5 * ive(1, 4.0) / ive(0, 4.0), rel=1e-9)
    assert "not stationary: |v| up to 0.4317" in cli("stability", "--config", path)
    for line, message in (
        ("--plot x.png", "the density is not stationary"),
        ("--tokens 5", "this problem has heads"),
        ("--beta 2", "--beta is in the run file: leave it out, or --set problem.beta="),
        ("--kernel exponential", "--kernel is in the run file: leave it out, or --set problem.ke"),
        ("--strength 1", "--strength is in the run file"),
        ("--diffusivity 0", "--diffusivity is in the run file"),
    ):
        assert message in cli.refused("stability", "--config", path, *line.split())


POSITIONS = '[problem]\nmanifold = "circle"\n{}\n[time]\nend = 1.0\n'


@pytest.mark.parametrize(
    "more, expected",
    [
        # lambda_3 times the eigenvalues of a window, extrapolated from 200 and 400 cells.
        (
            'beta = 5.0\nmask = "window"\nwindow = 0.2',
            0.682678333617 * np.array([1.0, 0.92138141, 0.71439060]),
        ),
        # Two families of nodes: degrees 1 and 2.
        ("beta = 4.0\nrotary_length = 6.0", [0.497792112152, 0.859100304767]),
        ('beta = 5.0\nmask = "causal"', []),
    ],
)
def test_positions_have_modes(cli, tmp_path, more, expected):
    """Growth at wavenumbers of position would have to be looked for in Python."""
    path = tmp_path / "run.toml"
    path.write_text(POSITIONS.format(more), "utf-8")
    facts, text = cli.json("stability", "--config", path), cli("stability", "--config", path)
    if not len(expected):
        assert "position_modes" not in facts and "of position" not in text
        return
    assert "mode 3 of position" in text
    modes = np.array(facts["position_modes"])
    assert modes.shape == (12, 64, 2)
    if "rotary" in more:
        assert modes[:2, 0, 0] == pytest.approx(expected, abs=1e-10)
        assert "growth_rate_max" not in facts
        return
    assert modes[2, :3, 0] == pytest.approx(expected, abs=1e-6)
    assert modes[2, 0, 0] == pytest.approx(facts["growth_rate_max"], rel=1e-12)
