"""Compiled passes: the kernels over classes that cost most, in C, each beside its twin in numpy.

A kernel in numpy says what is computed, and is used where nothing was compiled. `compiled` puts the name of a pass in
`calls` above it, which takes the same arguments and returns the same numbers, to 1e-12. The library has no Python in
it, so that one file serves all versions of Python; it is made when the package is built, if there is a compiler.
"""
