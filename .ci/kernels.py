"""Compile the kernels of the package that PYTHONPATH finds first, and archive them in it.

python .ci/kernels.py LEVEL          compile for a level of processors (`packaged.LEVELS`)
python .ci/kernels.py LEVEL --trim   try that archive, drop private kernels that only others call
"""

import os
import subprocess
import sys
import tempfile
import zipfile


def compile_all(level: str) -> None:
    """Compile with an empty cache, write the archive of the level, and trim it.

    Raises
    ------
    SystemExit
        If this processor cannot run code of the level, or `meanfield compile` misses a kernel.
    """
    with tempfile.TemporaryDirectory() as cache:
        target = {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": cache}
        usual = dict(os.environ)
        # Numba reads the target when it is imported.
        os.environ |= target
        from llvmlite.binding import get_host_cpu_features

        from meanfield.commands.main import main
        from meanfield.engines import compiled, packaged

        features = get_host_cpu_features()
        missing = [name for name in packaged.LEVELS[level].split() if not features.get(name)]
        if missing:
            sys.exit(f"{level}: this processor lacks {' '.join(missing)}")
        if main(["compile", "--quiet"]) or compiled.not_compiled():
            sys.exit(f"{level}: not all kernels were compiled")
        packaged.write(packaged.FOLDER, level, packaged.contents(compiled.kernels))
        usual["NUMBA_CACHE_DIR"] = f"{cache}/empty"
        command = [sys.executable, __file__, level, "--trim"]
        sys.exit(subprocess.run(command, env=usual).returncode)


def trim(level: str) -> None:
    """Keep what `meanfield compile` loads from the archive, and public kernels.

    Raises
    ------
    SystemExit
        If that compiles a kernel.
    """
    from meanfield.commands.main import main
    from meanfield.engines import compiled, packaged

    packaged.LEVELS = {level: packaged.LEVELS[level]}
    if main(["compile", "--quiet"]) or compiled.compilations:
        sys.exit(f"{level}: compiled again: {' '.join(compiled.compilations)}")
    loaded = {
        packaged.entry(kernel.py_func, signature)
        for kernel in compiled.kernels
        for signature in kernel.overloads
    }
    with zipfile.ZipFile(packaged.FOLDER / f"{level}.zip") as archive:
        kept = {
            name: archive.read(name)
            for name in archive.namelist()
            if name in loaded or not name.partition("/")[0].rpartition(".")[2].startswith("_")
        }
    packaged.write(packaged.FOLDER, level, kept)


if __name__ == "__main__":
    (trim if "--trim" in sys.argv else compile_all)(sys.argv[1])
