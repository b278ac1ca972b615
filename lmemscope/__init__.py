"""lmemscope: which CUDA kernels use local memory, what causes it, and what would remove it."""

__version__ = "0.1.0"
