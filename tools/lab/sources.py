# SPDX-License-Identifier: GPL-2.0-or-later
"""Sources: of kernels, of Debian's packages, and the kernel's checkpatch."""

from .archive import archive, cache
from .host import TREE, Failed, run, say
from .roots import kernel_root, root, run_inside
from .series import NAMES
from .unpack import unpack_member

CHECKPATCH = ("checkpatch.pl", "spelling.txt", "const_structs.checkpatch")
# Two thirds of the kernel's source. No kernel of the laboratory is built from it. The Kconfig files stay: they include
# each other.
OTHER_ARCHES = """alpha arc arm csky hexagon loongarch m68k microblaze mips nios2 openrisc parisc powerpc riscv s390 sh
    sparc um xtensa""".split()
OTHER_DRIVERS = "gpu/drm infiniband media net/ethernet net/wireless scsi staging".split()
OMITTED = ["Documentation/*/*", "arch/*/boot/dts/*.dts", "arch/*/boot/dts/*.dtsi", "sound/*.[ch]",
           "tools/perf/*", "tools/testing/selftests/*",
           *(f"arch/{arch}/*.[chS]" for arch in OTHER_ARCHES),
           *(f"drivers/{name}/*.[ch]" for name in OTHER_DRIVERS)]


def linux(kernel):
    """Return the directory with the source of that kernel's series, without OMITTED. If the archive no longer has the
    version of the kernel's packages, it is another version of the series."""
    record, packages_of = archive.record(kernel), archive.of(kernel.series)
    package, version = record.source(), record.version
    if not packages_of.version_of(f"{package}={version}"):
        version = packages_of.version_of(package)
    if not version:
        raise Failed(f"the archive has no {package} any more: choose another kernel of {' '.join(NAMES)}")
    return cache.made(f"linux-{kernel.series}", f"2 {package} {version}",
                      lambda folder: make_linux(folder, packages_of, package, version))


def make_linux(folder, packages_of, package, version):
    packages_of.download(folder, f"{package}={version}")
    say(f"unpacking {package}")
    unpack_member(folder, f"./usr/src/{package}.tar.xz", "tar", "-C", folder, "-xJ", "--strip-components=1",
                  *(f"--exclude={package}/{pattern}" for pattern in OMITTED))


def kunit(kernel):
    """Return the directory for kunit/run: linux/ is the source of that series with the project in it. Builds are
    put beside it, and go with it."""
    tree = linux(kernel)
    return cache.made(f"kunit-{kernel.series}", f"1 {tree.name} {kernel_root().name} {TREE}",
                      lambda folder: make_kunit(folder, tree))


def make_kunit(folder, source):
    run("cp", "-al", source, folder / "linux")
    lib = folder / "linux/lib"
    # Each line is added to its file, after any menu. These files are copies, not hard links: the source stays as it is.
    for name, line in (("Kconfig", 'source "lib/sframe_unwind/Kconfig"'), ("Makefile", "obj-y += sframe_unwind/")):
        text = (lib / name).read_text()
        (lib / name).unlink()
        (lib / name).write_text(f"{text}{line}\n")
    (lib / "sframe_unwind").symlink_to(TREE)


def checkpatch():
    """Return the directory with checkpatch.pl. Debian ships it only in the package of the kernel's source."""
    version = archive.known_version("linux-source-6.12")
    return cache.made("checkpatch", f"1 {version}", lambda folder: make_checkpatch(folder, version))


def make_checkpatch(folder, version):
    name = "linux-source-6.12"
    archive.download(folder, f"{name}={version}")
    say("unpacking checkpatch")
    unpack_member(folder, f"./usr/src/{name}.tar.xz", "tar", "-C", folder, "-xJ", "--strip-components=2",
                  *(f"{name}/scripts/{file}" for file in CHECKPATCH))


def source(package):
    """Return the directory of Debian 13's unpacked source package."""
    return cache.made(f"source-{package}", f"1 {archive.stamp()}", lambda folder: make_source(folder, package)) / "source"


def make_source(folder, package):
    archive.download_source(folder, package)
    dsc, = folder.glob("*.dsc")
    run_inside(root, "dpkg-source", "--no-check", "-x", dsc, folder / "source")
