"""Every figure of the gallery in its short form: numbers, arrays, drawing; and the table itself."""

import io
from pathlib import Path

import numpy as np
import published
import pytest
from fresh_process import run_python
from published import ENTRIES
from published.pages import maker_of

from meanfield.figures.draw.axes import style
from meanfield.figures.draw.figures import new_figure

FIGURES = [
    (name, published)
    for name, entry in ENTRIES.items()
    for published in ((False, True) if entry.published else (False,))
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "published"), FIGURES)
def test_numbers_are_the_published_ones_and_drawn(name, published):
    """A figure would no longer show what its source shows, or could not be drawn or stored."""
    maker = maker_of(ENTRIES[name])
    result = maker.compute(short=True, published=published)
    wrong = [number for number in result.numbers if not number.holds]
    assert result.numbers and not wrong, wrong
    np.savez(io.BytesIO(), allow_pickle=False, **result.data)
    with style():
        figure = new_figure((7.0, 4.2))
        maker.draw(figure, result)
    assert figure.axes and all(axes.has_data() for axes in figure.axes if axes.axison)


def test_table_is_sorted_and_loads_nothing_heavy():
    """A name would be hard to find, or the list of names take a second."""
    assert list(ENTRIES) == sorted(ENTRIES)
    code = "import published, sys; print('numpy' in sys.modules)"
    folder = Path(published.__file__).parents[1]
    assert run_python(code, cwd=folder).stdout == "False\n"
