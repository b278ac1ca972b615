"""Find, load and start external tools (NVIDIA's and git); nothing else does."""
