# SPDX-License-Identifier: Apache-2.0
"""Jobs of one MPI, where the modules for several lie side by side."""

import argparse
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import unittest

# By the flavors that modules are named after.
KIN = {"openmpi4": "Open MPI", "openmpi5": "Open MPI", "mpich": "MPICH"}
# Prefixes of the variables that a launcher sets for its ranks. Here they are another job's.
OF_RANKS = ("OMPI_COMM_", "PMIX_", "PMI_", "HYDI_", "HOROVOD")

options = None


def environment(**more):
    """The environment of a user with this MPI first on the PATH and more ranks than cores."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OF_RANKS)}
    return {**kept, "PATH": f"{options.work}:{os.environ['PATH']}",
            "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **more}


def run(*command, **more):
    """The exit code, the sorted lines of the output, and the errors."""
    job = subprocess.run([str(word) for word in command], env=environment(**more),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    return job.returncode, sorted(job.stdout.splitlines()), job.stderr


def launchers():
    """The launchers beside the compiler wrapper, by the names that users know.

    Debian's names have suffixes: mpicxx.mpich, mpiexec.mpich."""
    wrapper = pathlib.Path(options.wrapper)
    for name in ("mpiexec", "mpirun"):
        beside = wrapper.parent / (name + wrapper.suffix)
        if not beside.exists():
            beside = wrapper.parent / name
        # Some find their files beside themselves, so a link is not enough.
        script = options.work / name
        script.write_text(f'#!/bin/sh\nexec {beside} "$@"\n')
        script.chmod(0o755)


class Flavor(unittest.TestCase):
    def ranks(self, size):
        return [f"{rank} of {size} by {options.flavor}" for rank in range(size)]

    def test_is_chosen_by_its_launcher(self):
        for size in (2, 3):
            code, lines, errors = run("mpiexec", "-n", size, options.which_module)
            self.assertEqual((code, lines), (0, self.ranks(size)), errors)

    def test_is_chosen_under_horovodrun(self):
        code, lines, errors = run(options.horovodrun, "--mpi", "-np", 4, options.which_module)
        self.assertEqual((code, lines), (0, self.ranks(4)), errors)

    def test_passes_the_conformance_program(self):
        for size in (2, 3):
            code, _, errors = run(options.horovodrun, "--mpi", "-np", size, options.conformance)
            self.assertEqual((code, errors), (0, ""))

    def test_survivors_learn_the_dead_rank(self):
        code, lines, errors = run(
            options.horovodrun, "--mpi", "-np", 2, "sh", "-c",
            'test "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 && kill -9 $$; '
            f"exec {options.which_module}")
        self.assertEqual((code, lines), (137, []), errors)
        self.assertRegex(errors, r"rank 1 on .*\(pid \d+\) was killed by signal 9")

    def test_is_that_of_a_program_that_has_loaded_its_mpi(self):
        program = options.work / "mpi_is_mine"
        wrapper = pathlib.Path(options.wrapper)
        shown = subprocess.run([wrapper, "-show"], check=True, stdout=subprocess.PIPE, text=True)
        # No launcher, and nothing in the environment, says which MPI this is.
        folder = pathlib.Path(options.library).parent
        subprocess.run(["cc", "-DMPI_IS_MINE", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX",
                        f"-I{options.include}", options.source, "-o", program,
                        *shlex.split(shown.stdout)[1:], f"-L{folder}", "-lhorovodpp",
                        f"-Wl,-rpath,{folder}"], check=True)
        code, lines, errors = run(program)
        self.assertEqual((code, lines), (0, self.ranks(1)), errors)

    def test_is_the_one_named_by_the_user(self):
        module = options.work / "libhorovodpp_mpi_named.so"
        shutil.copy(self.modules()[options.flavor], module)
        code, lines, errors = run("mpiexec", "-n", 2, options.which_module,
                                  HOROVODPP_MPI_MODULE=module)
        self.assertEqual((code, lines), (0, ["0 of 2 by named", "1 of 2 by named"]), errors)

    def test_is_asked_for_if_undetermined(self):
        modules = self.modules()
        if len(modules) == 1:
            self.skipTest("there is one module")
        # As srun does.
        code, lines, errors = run(options.which_module, PMI_SIZE="2")
        self.assertEqual((code, lines), (3, []))
        self.assertIn("nothing tells which MPI", errors)
        for module in modules.values():
            self.assertIn(str(module), errors)

    def test_is_that_of_no_other_launcher(self):
        for other, module in self.modules().items():
            # Open MPI takes the launcher of another one for its own.
            if KIN[other] == KIN[options.flavor]:
                continue
            with self.subTest(other=other):
                code, lines, errors = run("mpiexec", "-n", 2, options.which_module,
                                          HOROVODPP_MPI_MODULE=module)
                # No rank believes to be alone.
                self.assertEqual((code == 0, lines), (False, []), errors)
                if KIN[other] == "Open MPI":  # MPICH sees for itself, and says so.
                    self.assertIn("the launcher promised 2 ranks but MPI (Open MPI", errors)

    def modules(self):
        folder = pathlib.Path(options.library).parent
        found = {flavor: folder / f"libhorovodpp_mpi_{flavor}.so" for flavor in KIN}
        return {flavor: file for flavor, file in found.items() if file.exists()}


def main():
    parser = argparse.ArgumentParser()
    for option in ("flavor", "wrapper", "library", "horovodrun", "which-module", "conformance",
                   "include"):
        parser.add_argument("--" + option, required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    global options
    options = parser.parse_args()
    options.source = pathlib.Path(__file__).with_name("which_module.c")
    shutil.rmtree(options.work, ignore_errors=True)
    options.work.mkdir(parents=True)
    launchers()
    unittest.main(argv=sys.argv[:1])


if __name__ == "__main__":
    main()
