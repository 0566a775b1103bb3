# SPDX-License-Identifier: Apache-2.0
"""What pip makes of the project, in a virtual environment of its own:

    python test/bindings/package_check.py FOLDER

builds, which takes minutes, installs, trains and uninstalls. FOLDER gets the environment.
"""
import os
import pathlib
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """
import numpy
import horovodpp
horovodpp.init()
total = horovodpp.allreduce(numpy.ones(3), op=horovodpp.Sum)
assert total.tolist() == [2, 2, 2], total
print("reduced on rank", horovodpp.rank(), flush=True)
"""


def files_of(folder):
    return {path.relative_to(folder) for path in folder.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts}


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    venv.create(folder, clear=True, with_pip=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PATH"] = f"{folder / 'bin'}{os.pathsep}{environment['PATH']}"

    def run(*command, **options):
        return subprocess.run(command, check=True, env=environment, cwd=folder, **options)

    run("pip", "install", "--quiet", "numpy")
    before = files_of(folder)
    run("pip", "install", "--quiet", str(ROOT))
    assert (folder / "bin" / "horovodrun").exists()
    run("python", "-c", "import horovodpp; horovodpp.init(); assert horovodpp.size() == 1")
    (folder / "program.py").write_text(PROGRAM)
    printed = run("horovodrun", "-np", "2", "python", "program.py", stdout=subprocess.PIPE,
                  text=True).stdout
    assert sorted(printed.splitlines()) == ["reduced on rank 0", "reduced on rank 1"], printed
    (folder / "program.py").unlink()
    run("pip", "uninstall", "--quiet", "--yes", "horovodpp")
    left = files_of(folder) - before
    assert not left, f"uninstalling leaves {sorted(map(str, left))}"
    print("it installs, runs, and leaves nothing")


if __name__ == "__main__":
    main()
