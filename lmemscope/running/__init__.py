"""Where units run: worker processes, or a Dask cluster."""
