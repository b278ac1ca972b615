"""One module per command: parse the flags, run the pipeline, export, choose the exit code."""
