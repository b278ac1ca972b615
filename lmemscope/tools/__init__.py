"""The only place that finds, loads or starts a tool of NVIDIA's."""
