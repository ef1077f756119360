"""Kernels: what the library computes at full scale, one file each.

Each file holds three things: a reference in torch that says what is computed, the
Triton kernel, and a launcher that chooses between them by where its tensors lie. The
reference runs on the CPU and is what the kernel is tested against; `kvteach.testing`
has the four gates through which every kernel goes without a GPU.

`kvteach.kernels.launch` has what the launchers share.
"""
