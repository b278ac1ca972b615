"""Executors that run units: local worker processes, or a Dask cluster."""
