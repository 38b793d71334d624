"""Loops over the samples of a batch, compiled by numba: pure functions of arrays, each a small module.

A function that another one calls in compiled code lies in the same module: numba's cache of machine code notices a
change of the module that it compiled, not of the modules that one imports. `lanes` and `masks` are the exceptions:
after a change of one of them, remove what numba kept (``find . -name '*.nb[ic]' -delete``).
"""
