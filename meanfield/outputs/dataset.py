"""A run as an xarray.Dataset: the same numbers with named axes, units and long names.

Variables:

    coordinates   time, degree; cluster where clusters were found
    moments       (time, degree) complex on the circle, (time, kind, degree, order) on the sphere
    observables   by name; clusters_count, clusters_mass, clusters_centre
    diagnostics   as diagnostics_<name>
    growth_rates  (degree), as far as the moments go; NaN where no rate is stored
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from meanfield.observables import OBSERVABLES, entry_axis
from meanfield.runs import Run

if TYPE_CHECKING:
    import xarray

_LONG_NAMES = {name: entry.long_name for name, entry in OBSERVABLES.items()} | {
    "clusters/count": "number of clusters",
    "clusters/mass": "mass of each cluster, largest first",
    "clusters/centre": "mean angle of each cluster",
}
_UNITS = {"clusters/centre": "rad"}


def to_xarray(run: Run) -> xarray.Dataset:
    """Dataset of a run: moments, observables, diagnostics and growth rates.

    Parameters
    ----------
    run : Run
        Its states are not copied; they stay in `run.measures`.

    Returns
    -------
    xarray.Dataset
        A slash in a name becomes an underscore. Attributes are those of the run; those of
        time, which is in the unit of the run, tell how to convert it.

    Raises
    ------
    ValueError
        If xarray is not installed.

    Examples
    --------
    >>> import meanfield as mf
    >>> from meanfield.front import simulate
    >>> law = mf.perturbed_uniform([[1, 0.1, 0.0]])
    >>> run = simulate(mf.Problem(mf.Circle(), mf.linear(), mf.USA, law), until=1.0, save=3)
    >>> dataset = to_xarray(run)
    >>> dict(dataset.moments.sizes), float(dataset.energy.sel(time=0.0).round(6))
    ({'time': 3, 'degree': 13}, 0.0025)
    """
    try:
        import xarray
    except ImportError:
        raise ValueError("to_xarray needs xarray: pip install xarray h5netcdf.") from None
    time = xarray.Variable("time", run.time, _time_attributes(run))
    space, moments = run.manifold, np.asarray(run.moments)
    variables = {
        "moments": (
            ("time", *space.modal_axes),
            moments,
            {"long_name": "moments int conj(Y_l) dmu"},
        ),
        "growth_rates": (
            "degree",
            _to_length(run.growth_rates, moments.shape[-1]),
            {"long_name": "growth rates of the uniform state", "units": "1 / scaled time"},
        ),
        "representation": (
            "time",
            np.array(run.representation, dtype=str),
            {"long_name": "representation in use"},
        ),
    }
    for name, values in run.observables.items():
        entries = "cluster" if name.startswith("clusters/") else entry_axis(name)
        axes = ("time", entries, *space.point_axes)[: values.ndim]
        details = {"long_name": _LONG_NAMES.get(name, name)}
        if name in _UNITS:
            details["units"] = _UNITS[name]
        variables[name.replace("/", "_")] = (axes, values, details)
    for name, values in run.diagnostics.items():
        variables[f"diagnostics_{name}"] = ("time", values, {"long_name": name.replace("_", " ")})
    coordinates: dict[str, Any] = {"time": time}
    for axis, length in zip(space.modal_axes, moments.shape[1:], strict=True):
        coordinates[axis] = np.arange(length)
    if "clusters/mass" in run.observables:
        coordinates["cluster"] = np.arange(run.observables["clusters/mass"].shape[1])
    # NetCDF knows no booleans.
    attributes = {k: int(v) if isinstance(v, bool) else v for k, v in run.attributes.items()}
    return xarray.Dataset(variables, coordinates, attributes)


def _time_attributes(run: Run) -> dict[str, Any]:
    known = ("paper_time_factor", "growth_rate_max")
    factors = {key: run.attributes[key] for key in known if key in run.attributes}
    name = f"{run.unit} time"
    return {"long_name": name, "units": name, **factors}


def _to_length(values: np.ndarray[Any, Any], length: int) -> np.ndarray[Any, Any]:
    """Cut, or fill with NaN."""
    filled = np.full(length, np.nan)
    kept = min(len(values), length)
    filled[:kept] = values[:kept]
    return filled
