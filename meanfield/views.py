"""What results are asked for and the floors above them make: figures, films, data sets, problems.

A result names what it wants ("Run.plot"); the top of the package, which knows every floor, says who
makes it, and loads it when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

VIEWS: dict[str, Callable[..., Any]] = {}
"""Class and method of a result -> what makes it, a function of the result and of the arguments."""
