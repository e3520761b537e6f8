"""Where the runs of a study are done: here, in processes, on a Dask cluster."""
