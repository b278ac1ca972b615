"""Reading users' text: CUDA C++, Python, CuPy, Numba, includes."""
