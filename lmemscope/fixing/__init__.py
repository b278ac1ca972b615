"""Rewrites tried: a patched copy is compiled as the original is, and compared with it."""
