"""Parts of `tools/gpu_check.py`: one file for each thing that is checked and timed.

A part is a function ``run(device, size)`` that returns a dict of plain numbers. On a
GPU, size is "full"; "rehearsal" is the same code at toy sizes, which the tests run on
the CPU so that the one call on a GPU does not fail for a typing error.
"""
