"""HDF5 files of runs and studies: layout, writing, reading."""
