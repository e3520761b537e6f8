"""Computing: compiled loops, threads, elementary functions that vectorise."""
