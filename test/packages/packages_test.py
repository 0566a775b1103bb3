# SPDX-License-Identifier: Apache-2.0
"""Checks the contents of the Debian packages, and that they work in a minimal system.

    packages_test.py contents FOLDER
    packages_test.py clean_root FOLDER --program train.c

FOLDER holds the packages. clean_root installs them in a new root of this distribution, which
debootstrap makes beside FOLDER from apt's sources. It compiles and runs a program in that root, and
removes the packages. It exits with 77, which ctest counts as skipped, without the permissions, or
if no package can be fetched.
"""

import argparse
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

SKIPPED = 77
COMPILER = ("g++", "pkg-config", "openmpi-bin")

IN_THE_ROOT = """
set -eux
cd /packages
cc train.c -o of_c $(pkg-config --cflags --libs horovodpp-c)
g++ train.cc -o of_cpp $(horovodpp-config --cflags --libs)
for program in ./of_c ./of_cpp; do horovodrun --no-mpi -np 2 $program; done
horovodrun --mpi -np 2 ./of_c
dpkg --purge $(dpkg-query -W -f '${Package}\\n' | grep horovodpp.*-openmpi)
horovodrun --no-mpi -np 2 ./of_cpp
dpkg --purge $(dpkg-query -W -f '${Package}\\n' | grep horovod)
test -z "$(find /usr -name '*horovod*')"
"""
PROGRAM = """
#include <horovodpp/horovodpp.h>
int main() {
  hvd::throw_if_error(hvd::init());
  const hvd::Tensor sum = hvd::allreduce(hvd::ones({4}), {.op = hvd::ReduceOp::kSum});
  return sum.sum().item<float>() == 4.0f * hvd::size() ? 0 : 1;
}
"""


def output(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True,
                          **options).stdout


def packages(folder):
    """{name: path}"""
    return {output("dpkg-deb", "-f", path, "Package").strip(): path
            for path in sorted(folder.glob("*.deb"))}


def one(names, pattern):
    found = [name for name in names if re.fullmatch(pattern, name)]
    assert len(found) == 1, f"{pattern} of {sorted(names)}"
    return found[0]


def check_contents(folder):
    found = packages(folder)
    library = one(found, r"libhorovodpp\d+\.\d+")
    mpi = one(found, library.replace(".", r"\.") + r"-(openmpi|mpich)\d*")
    files, depends = {}, {}
    for name, path in found.items():
        listed = output("dpkg-deb", "-c", path).splitlines()
        files[name] = [line.split()[5] for line in listed if not line.startswith("d")]
        depends[name] = output("dpkg-deb", "-f", path, "Depends")
        strays = [file for file in files[name] if not file.startswith("./usr/")]
        assert not strays, f"{name} has {strays[:5]}"
        assert f"./usr/share/doc/{name}/copyright" in files[name], files[name]

    def has(name, pattern):
        return any(re.search(pattern, file) for file in files[name])

    ucx = [name for name in found if name == f"{library}-ucx"]  # If UCX is installed.
    assert sorted(found) == sorted([library, mpi, *ucx, "libhorovodpp-dev", "horovodrun"]), found
    assert has(library, r"/libhorovodpp\.so\.\d") and has(library, r"/libhorovodpp_tensors\.so\.\d")
    assert not has(library, r"\.h$|/libhorovodpp\.so$")
    assert has(mpi, r"/libhorovodpp_mpi_\w+\.so$")
    assert not any(has(name, "_mpi_") for name in found if name != mpi), files
    assert has("horovodrun", "^./usr/bin/horovodrun$")
    assert has("horovodrun", "^./usr/share/man/man1/horovodrun.1$")
    for pattern in (r"/include/horovodpp/horovodpp\.h$", r"/include/horovodpp/c/horovodpp\.h$",
                    r"/libhorovodpp\.so$", r"/horovodpp\.pc$", r"/horovodppConfig\.cmake$",
                    "/bin/horovodpp-config$"):
        assert has("libhorovodpp-dev", pattern), f"no {pattern} in {files['libhorovodpp-dev']}"
    version = output("dpkg-deb", "-f", found[library], "Version").strip()
    for name in ucx:
        assert has(name, r"/libhorovodpp_ucx\.so$") and "libucx" in depends[name], depends[name]
    for name in (mpi, *ucx, "libhorovodpp-dev"):
        assert f"{library} (= {version})" in depends[name], depends[name]
    assert "libabsl" in depends[library] and "libc6" in depends["horovodrun"], depends
    assert re.search("openmpi|mpich", depends[mpi]), depends[mpi]
    assert not any(re.search("openmpi|mpich", depends[name]) for name in found if name != mpi)
    assert "horovodpp" not in depends["horovodrun"], depends["horovodrun"]
    print(f"{len(found)} packages, {sum(map(len, files.values()))} files")


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(SKIPPED)


def sources():
    """[(site, suite, component)] of this distribution's packages, beginning with the release."""
    codename = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    lines = output("apt-get", "indextargets", "--format", "$(SITE) $(RELEASE) $(COMPONENT)",
                   "Created-By: Packages").splitlines()
    found = [tuple(line.split()) for line in dict.fromkeys(lines)]
    return codename, [each for each in found if len(each) == 3 and
                      re.fullmatch(rf"{codename}(-updates|-security)?", each[1])]


def check_may():
    if os.geteuid() != 0:
        skip("only root can make a root")
    if not shutil.which("debootstrap"):
        skip("there is no debootstrap: scripts/install_dependencies.sh test")
    if subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode:
        skip("this container may not mount anything")


def make_root(root):
    codename, found = sources()
    plain = [each for each in found if each[1] == codename]
    if not plain:
        skip(f"apt has no packages of {codename or 'this system'}")
    result = subprocess.run(["debootstrap", "--variant=minbase", codename, root, plain[0][0]],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode:
        failed = [line for line in result.stdout.splitlines() if line.startswith("E:")]
        skip(f"debootstrap could make no root: {' '.join(failed) or result.stdout[-300:]}")
    (root / "etc/apt/sources.list").write_text(
        "".join(f"deb {site} {suite} {component}\n" for site, suite, component in found))
    proxies = [line for line in output("apt-config", "dump").splitlines()
               if re.match(r"Acquire::\S*proxy", line, re.IGNORECASE)]
    (root / "etc/apt/apt.conf.d/90test").write_text(
        "\n".join(['APT::Install-Recommends "false";', *proxies, ""]))
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")


def in_root(root, script):
    """Runs a script there, with a /proc and /dev that go with it."""
    mounts = f"mount -t proc proc {root}/proc && mount --rbind /dev {root}/dev"
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive",
                   "HOME": "/root", "LC_ALL": "C", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    return subprocess.run(["unshare", "-m", "sh", "-c", f'{mounts} && exec chroot {root} sh -c "$0"',
                           script], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)


def check_clean_root(folder, program):
    check_may()
    root = folder.parent / "clean_root"
    shutil.rmtree(root, ignore_errors=True)
    try:
        make_root(root)
        there = root / "packages"
        there.mkdir()
        for path in packages(folder).values():
            shutil.copy(path, there)
        shutil.copy(program, there / "train.c")
        (there / "train.cc").write_text(PROGRAM)
        fetched = in_root(root, "apt-get update -q && apt-get install -qqy --download-only "
                                f"{' '.join(COMPILER)} /packages/*.deb")
        if fetched.returncode and re.search("Failed to fetch|Could not resolve", fetched.stdout):
            skip(f"apt could fetch no packages: {fetched.stdout[-300:]}")
        installed = in_root(root, f"apt-get install -qqy {' '.join(COMPILER)} /packages/*.deb")
        assert installed.returncode == 0, fetched.stdout + installed.stdout
        used = in_root(root, IN_THE_ROOT)
        print(used.stdout)
        assert used.returncode == 0, "see above"
    finally:
        shutil.rmtree(root, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("contents", "clean_root"))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--program", type=pathlib.Path)
    args = parser.parse_args()
    if args.what == "contents":
        check_contents(args.folder)
    else:
        check_clean_root(args.folder.resolve(), args.program)


if __name__ == "__main__":
    main()
