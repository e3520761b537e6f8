"""The lines of `check` and `info` on the degrees in use."""

import re

import pytest

import meanfield as mf
from meanfield.carriers.options import Options
from meanfield.results.run_report import truncation_summary


def line_of(problem, *carriers, tokens=None):
    return truncation_summary(problem, Options(), carriers, tokens)


def test_softmax_is_certified_from_some_partition_on():
    """The smallest Z of all may be below what is cut off; n tokens have one above 1 / n."""
    problem = mf.Problem(mf.Circle(), mf.exponential(25.0), mf.SA)
    truncation = mf.truncation(problem)
    match = re.fullmatch(
        rf"degree {truncation.degree}: velocities within 1e-06 of the largest where Z > (\S+)",
        line_of(problem, "density") or "",
    )
    assert match is not None
    assert float(truncation.softmax_error(float(match[1]))) == pytest.approx(1e-6, rel=0.06)
    share = f"{truncation.softmax_error(1e-3):.2g} of the largest"
    line = f"degree {truncation.degree}: velocities within {share}"
    assert line_of(problem, "particles", tokens=1000) == line


def test_each_degree_is_named_once():
    """Carriers of one degree are one clause, and those that sum over pairs cut nothing off."""
    problem = mf.Problem(mf.Sphere(), mf.exponential(6.0), mf.USA)
    line = line_of(problem, "density", "characteristics", "atoms") or ""
    assert re.findall(r"degree (\d+)", line) == ["27", "17"] and "characteristics degree" in line
    assert line_of(problem, "particles", tokens=20) == "sums over pairs, nothing is cut off"
    flat = mf.Problem(mf.Sphere(5), mf.exponential(6.0), mf.SA)
    assert line_of(flat, "particles", tokens=10**6) == "sums over pairs, nothing is cut off"
    own = mf.Problem(mf.Circle(), mf.zonal(lambda s: s**3), mf.USA)
    assert line_of(own, "density") is None
