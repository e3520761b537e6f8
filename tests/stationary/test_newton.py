"""Newton's method where it fails."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from meanfield.stationary.states import newton


@pytest.mark.parametrize("jacobian", [np.zeros((2, 2)), np.ones((2, 2))])
def test_newton_gives_up_where_the_jacobian_is_singular(jacobian):
    """At a bifurcation a traceback of linear algebra would end the continuation."""
    equation: Any = SimpleNamespace(
        residual=lambda moments, diffusivity: np.ones(2), jacobian=lambda *_: jacobian
    )
    assert newton(equation, np.zeros(2), 0.1) is None
