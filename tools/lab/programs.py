# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of Debian: QEMU, perf, bpftrace, and those that are profiled."""

from .archive import archive, cache
from .cache import remove
from .host import Failed, run, say, say_version
from .kernels import packages
from .roots import say_version_inside
from .unpack import TRIPLETS, drop, script, strap, unpack_member, unpack_tools

# What the demo profiles, and what of these packages is put into /usr/local.
PROGRAMS = "gawk git jq sqlite3".split()
KEPT = [*(f"bin/{name}" for name in PROGRAMS), "lib/git-core", "share/git-core"]
# Of the C library, the disk has its own.
C_LIBRARY = tuple(f"{name}.so" for name in "libc libm libpthread libdl librt libresolv libutil".split())


# ---- QEMU ----------------------------------------------------------------------------------------------------

def qemu():
    """Return the directory of QEMU. Every host uses Debian 13's QEMU, so that it behaves the same everywhere."""
    return cache.made("qemu", f"2 {archive.known_version('qemu-system-x86')}", make_qemu)


def make_qemu(folder):
    say("unpacking QEMU")
    unpacked = folder / "unpacked"
    unpacked.mkdir()
    strap(unpacked, "trixie", ["qemu-system-x86", "qemu-system-arm"], "--variant=extract")
    drop(unpacked, "etc", "var", "dev")
    script(folder / "qemu", """\
#!/bin/sh
# QEMU of Debian 13, with the libraries beside it
usr=${0%/*}/unpacked/usr
lib=$usr/lib/x86_64-linux-gnu
export QEMU_MODULE_DIR="$lib/qemu"
exec "$lib/ld-linux-x86-64.so.2" --library-path "$lib" "$usr/bin/${0##*/}" \\
	-L "$usr/share/qemu" -L "$usr/share/seabios" "$@"
""")
    for name in ("qemu-system-x86_64", "qemu-system-aarch64"):
        (folder / name).symlink_to("qemu")
    say_version(folder / "qemu-system-x86_64")


def qemu_user():
    """Return the directory of qemu-aarch64, one of the package's many programs. It is linked statically."""
    return cache.made("qemu-user", f"1 {archive.known_version('qemu-user')}", make_qemu_user)


def make_qemu_user(folder):
    archive.download(folder, "qemu-user")
    unpack_member(folder, "./usr/bin/qemu-aarch64", "dd", f"of={folder}/qemu-aarch64", "bs=1M", "status=none")
    (folder / "qemu-aarch64").chmod(0o755)
    say_version(folder / "qemu-aarch64")


def virtiofsd():
    """Return the directory of virtiofsd, which shares a directory with kernels that have no 9p."""
    return cache.made("virtiofsd", f"1 {archive.known_version('virtiofsd')}", make_virtiofsd)


def make_virtiofsd(folder):
    say("unpacking virtiofsd")
    unpack_tools(folder, "trixie", ["virtiofsd"])
    script(folder / "virtiofsd", """\
#!/bin/sh
# virtiofsd of Debian 13, with the libraries beside it
dir=${0%/*}
exec "$dir/lib/ld-linux-x86-64.so.2" --library-path "$dir/lib" "$dir/unpacked/usr/libexec/virtiofsd" "$@"
""")
    say_version(folder / "virtiofsd")


# ---- programs for the disk -----------------------------------------------------------------------------------

def bpftrace():
    """Return the directory of bpftrace. It is not in the root, because LLVM would enlarge every disk of tools/lab/vm by a
    third."""
    return cache.made("bpftrace", f"2 {archive.known_version('bpftrace')}", make_bpftrace)


def make_bpftrace(folder):
    say("unpacking bpftrace")
    unpack_tools(folder, "trixie", ["bpftrace"])
    inside = folder / "bpftrace"
    inside.mkdir()
    (folder / "unpacked/usr/bin/bpftrace").rename(inside / "bpftrace")
    (folder / "lib").rename(inside / "lib")
    run("tar", "-C", folder, "-cf", folder / "bpftrace.tar", "bpftrace")
    drop(folder, "unpacked", "bpftrace")


def btrfs():
    """Return the directory with the image of an empty btrfs, as a tar file, for machines of both architectures.
    Its programs are not in the root, because one test uses them once."""
    return cache.made("btrfs", f"2 {archive.known_version('btrfs-progs')}", make_btrfs)


def make_btrfs(folder):
    say("making a btrfs")
    unpack_tools(folder, "trixie", ["btrfs-progs"])
    with open(folder / "btrfs.image", "wb") as image:
        image.truncate(128 << 20)
    run(folder / "lib/ld-linux-x86-64.so.2", "--library-path", folder / "lib", next(folder.glob("unpacked/**/mkfs.btrfs")),
        "--quiet", folder / "btrfs.image")
    run("tar", "-C", folder, "-Scf", folder / "btrfs.tar", "btrfs.image")
    drop(folder, "unpacked", "lib", "btrfs.image")


def programs(arch):
    """Return the directory of programs that are not in the root. What it has is for /usr/local, with libraries, and
    without those of the C library."""
    versions = "".join(f"{package}={archive.known_version(f'{package}:{arch}')} " for package in PROGRAMS)
    return cache.made(f"programs-{arch}", f"1 {versions}", lambda folder: make_programs(folder, arch))


def make_programs(folder, arch):
    say(f"unpacking {' '.join(PROGRAMS)} for {arch}")
    unpacked, lib = folder / "unpacked", folder / "lib" / TRIPLETS[arch]
    for place in (unpacked, folder / "bin", lib, folder / "share"):
        place.mkdir(parents=True)
    strap(unpacked, "trixie", PROGRAMS, "--variant=extract", arches=arch)
    libraries = [path for path in (unpacked / "usr/lib" / TRIPLETS[arch]).glob("*.so*")
                 if not path.name.startswith(("libclang", "ld-linux", "libnss_", *C_LIBRARY))]
    run("cp", "-a", "-t", lib, *libraries)
    for place in KEPT:
        if (unpacked / "usr" / place).exists():
            (unpacked / "usr" / place).rename(folder / place)
    remove(unpacked)


# ---- perf of several releases --------------------------------------------------------------------------------

def perf(debian):
    """Return the directory with the perf of that Debian. The root has the libraries of Debian 13's and of
    backports'."""
    suites, kernels = {"12": "bookworm", "sid": "sid"}, {"13": "6.12", "backports": "newest"}
    if debian in kernels:
        return packages(archive.kernel(kernels[debian])) / "usr/bin"
    if debian not in suites:
        raise Failed(f"no perf of '{debian}': choose 12, 13, backports or sid")
    return cache.made(f"perf-{debian}", f"1 {archive.stamp()}", lambda folder: make_perf(folder, suites[debian]))


def make_perf(folder, suite):
    """Unlike unpack_tools(), keep the libraries where the package puts them. perl's have equal names there."""
    say(f"unpacking the perf of {suite}")
    unpacked, libraries = folder / "unpacked", "lib/x86_64-linux-gnu"
    unpacked.mkdir()
    strap(unpacked, suite, ["linux-perf"], "--variant=extract")
    drop(unpacked, "etc", "var", "dev", "usr/share")
    script(folder / "perf", f"""\
#!/bin/sh
# perf of {suite}, with the libraries beside it
dir=${{0%/*}}/unpacked
# Packages of bookworm use /lib and /usr/lib, later ones only /usr/lib.
for loader in "$dir"/lib/*/ld-linux-x86-64.so.2 "$dir"/usr/lib/*/ld-linux-x86-64.so.2; do
	[ ! -e "$loader" ] || break
done
exec "$loader" --library-path "$dir/{libraries}:$dir/usr/{libraries}" "$dir/usr/bin/perf" "$@"
""")
    say_version_inside(folder / "perf")
