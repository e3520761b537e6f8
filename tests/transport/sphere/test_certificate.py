"""Bounds of the cost whatever the masses do inside their cells, against the masses themselves."""

import numpy as np
import pytest
from parameters import each

from meanfield.transport.sphere.partition import Cells
from meanfield.transport.sphere.plans import Plan
from meanfield.transport.sphere.wasserstein import upper_bound

# A tail on one side: the mean angle is not that of the barycentre.
SKEWED = (np.array([0.0, 1.0]), np.array([0.9, 0.1]))
SINGLE = (np.array([0.0]), np.array([1.0]))


def cell(angles: np.ndarray, weights: np.ndarray) -> Cells:
    points = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1)
    barycentre = weights @ points
    reach = np.linalg.norm(points - barycentre, axis=1).max() if len(points) > 1 else 0.0
    return Cells(np.array([2**20]), barycentre[None], np.array([reach]), np.array([0]))


def only_pair() -> Plan:
    plan, index = Plan(*np.zeros((len(Plan._fields), 1))), np.zeros(1, dtype=np.int64)
    return plan._replace(source=index, sink=index, flow=np.array([2**20]))


@pytest.mark.parametrize("skewed", ["first", "second", "both"])
@each("distance", [0.0, 0.5, 1.0, 1.9], geodesic=[True, False], p=[1, 2])
def test_upper_bound_is_above_the_product_coupling(p, geodesic, distance, skewed):
    """Without the third order a long tail away from the other cell costs more than the bound."""
    x, v = SKEWED if skewed != "second" else SINGLE
    y, w = SKEWED if skewed != "first" else SINGLE
    y = -distance - y
    angles = np.abs(x[:, None] - y[None, :])
    costs = angles if geodesic else 2.0 * np.sin(0.5 * angles)
    true = v @ costs**p @ w
    bound = upper_bound(only_pair(), cell(x, v), cell(y, w), geodesic, p)
    assert bound >= true * (1.0 - 1e-14)
    if not geodesic and p == 2:
        assert bound == pytest.approx(true, rel=1e-13)
