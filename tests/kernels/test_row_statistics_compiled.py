"""The row statistics compile for real targets: no spills, 128-bit loads of K and V."""

import re
import subprocess
from pathlib import Path

import pytest

triton = pytest.importorskip("triton")
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from kvteach.kernels import row_statistics

CEILING = {80: 166_912, 90: 232_448}  # bytes of shared memory a block may have
PTXAS = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "ptxas"


def ptx_of(kernel, types, constants, arch, warps):
    if not hasattr(kernel, "arg_names") or type(kernel).__name__ != "JITFunction":
        pytest.skip("Triton was imported for the interpreter")
    names = kernel.arg_names
    source = ASTSource(
        kernel,
        {name: types.get(name, "constexpr") for name in names},
        {(names.index(name),): value for name, value in constants.items()},
        {(names.index(n),): [["tt.divisibility", 16]] for n in types if types[n][0] == "*"},
    )
    return triton.compile(
        source, target=GPUTarget("cuda", arch, 32), options={"num_warps": warps}
    )


def spills(compiled, folder):
    ptx = compiled.asm["ptx"]
    (folder / "kernel.ptx").write_text(ptx)
    target = re.search(r"\.target (sm_\w+)", ptx).group(1)
    said = subprocess.run(
        [PTXAS, "-v", f"--gpu-name={target}", "kernel.ptx", "-o", "kernel.o"],
        cwd=folder, capture_output=True, text=True, check=True,
    ).stderr  # fmt: skip
    found = re.findall(r"(\d+) bytes spill", said)
    assert found, said
    return sum(map(int, found))


@pytest.mark.parametrize("arch", [80, 90])
@pytest.mark.parametrize("dtype,dim,extras", [
    ("fp16", 64, True), ("bf16", 128, True), ("fp32", 128, True), ("fp16", 128, False),
])  # fmt: skip
def test_no_spills_and_wide_loads(dtype, dim, extras, arch, tmp_path):
    data = {name: f"*{dtype}" for name in ("queries", "keys", "values")}
    sums = {name: "*fp32" for name in ("output", "lse", "dropped", "missing", "phi")}
    rest = {"top": "*i64", "visible": "*u8", "rows": "i32", "length": "i32"}
    types = data | sums | rest | {"scaling": "fp32", "softcap": "fp32"}
    shape = {"GROUP": 3, "DIM": dim, "TOP": 64, "ROWS": 16}
    one = {"KEYS": 64, "MASKED": extras, "CAPPED": extras}
    one["PRECISION"] = "ieee" if dtype == "fp32" else "tf32x3"
    two = {"EDGES": (0, 4, 64), "BUDGETS": 2}
    for kernel, more, warps in (
        (row_statistics._one_pass, one, 8), (row_statistics._gather, two, 4),
    ):  # fmt: skip
        names = kernel.arg_names
        taken = {name: kind for name, kind in types.items() if name in names}
        compiled = ptx_of(kernel, taken, shape | more, arch, warps)
        assert spills(compiled, tmp_path) == 0
        assert compiled.metadata.shared <= CEILING[arch]
        ptx = compiled.asm["ptx"]
        assert "ld.global.v4.b32" in ptx or "cp.async.cg.shared.global" in ptx
        assert not re.search(r"ld\.global\S*\.b16", ptx)
