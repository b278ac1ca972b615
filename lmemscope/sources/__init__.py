"""Read the user's source text: CUDA C++, includes, macros, Python, CuPy and Numba."""
