# SPDX-License-Identifier: GPL-2.0-or-later
"""Each Debian that has packages of ours: a root where they are built, and a fresh machine where they are installed."""

import shlex

from .archive import archive, cache
from .host import TREE, Failed, say
from .roots import name_host
from .unpack import drop, strap, unpack_debs

SUITES = {"12": "bookworm", "13": "trixie", "testing": "testing"}
APT = "env DEBIAN_FRONTEND=noninteractive apt-get -qq -y"
CONTROL = TREE / "debian/control"
# Packages that the tests need. debian/control lists those that `make deb` needs.
BUILD = "git lintian".split()
# One of the roots has also the check of licences, the keys of a machine's firmware, what reads manuals and completes words,
# and what builds the packages for arm64.
BUILD_13 = "crossbuild-essential-arm64 mandoc python3-virt-firmware reuse zsh".split()
MACHINE = "systemd-sysv udev dbus eatmydata kmod procps login linux-image-amd64".split()
# What apt fetches for later, with what these recommend: the machine has no network.
FETCHED = ("dkms linux-headers-amd64 linux-perf libelf-dev libcapstone-dev",
           "dkms linux-image-cloud-amd64 linux-headers-cloud-amd64")
FIRMWARE = "ovmf shim-signed grub-efi-amd64-signed".split()


def suite_of(debian):
    if debian not in SUITES:
        raise Failed(f"no Debian '{debian}': choose one of {' '.join(SUITES)}")
    return SUITES[debian]


def package_root(debian):
    """Return the root in which that Debian's packages are built. It is made ready as README.md says."""
    suite = suite_of(debian)
    packages, arches = (BUILD + BUILD_13, ("amd64", "arm64")) if debian == "13" else (BUILD, ("amd64",))
    return cache.made(f"package-root-{debian}", f"2 {suite} {','.join(packages)} {CONTROL.read_text()} {archive.stamp()}",
                      lambda folder: make_package_root(folder, suite, packages, arches))


def make_package_root(folder, suite, packages, arches):
    project = '"$1"/tmp/project'
    make_suite(folder, suite, packages,
               f"--customize-hook=install -D -m 644 {shlex.quote(str(CONTROL))} {project}/debian/control",
               *(f'--customize-hook=chroot "$1" sh -c "cd /tmp/project && {APT} -a {arch} build-dep ." >/dev/null'
                 for arch in arches),
               f"--customize-hook=rm -r {project}", arches=",".join(arches))


def make_suite(folder, suite, packages, *options, arches="amd64"):
    say(f"making a root of Debian {suite}")
    folder.chmod(0o755)
    strap(folder, suite, packages, "--variant=minbase", *options, arches=arches)
    name_host(folder)


def fresh_machine(debian):
    """Return the directory of a machine, in root/, that has that Debian's kernel and systemd, and nothing of ours."""
    suite = suite_of(debian)
    return cache.made(f"fresh-machine-{debian}", f"1 {suite} {MACHINE} {FETCHED} {archive.stamp()}",
                      lambda folder: make_machine(folder, suite))


def make_machine(folder, suite):
    """Apt's lists and the packages that it fetches stay in the machine's own directories."""
    fetch = f"{APT} -o APT::Install-Recommends=true install --download-only"
    root = folder / "root"
    root.mkdir()
    make_suite(root, suite, MACHINE, "--skip=cleanup/apt",
               *(f'--customize-hook=chroot "$1" {fetch} {packages} >&2' for packages in FETCHED))


def firmware():
    """Return the directory of OVMF with the keys of Secure Boot, and of Debian's signed shim and GRUB."""
    versions = [archive.known_version(package) for package in FIRMWARE]
    return cache.made("firmware", f"3 {versions}", make_firmware)


def make_firmware(folder):
    archive.download(folder, *FIRMWARE)
    unpacked = folder / "unpacked"
    unpack_debs(folder, unpacked)
    for name in ("share/OVMF/OVMF_CODE_4M.secboot.fd", "share/OVMF/OVMF_VARS_4M.ms.fd", "lib/shim/shimx64.efi.signed",
                 "lib/grub/x86_64-efi-signed/grubx64.efi.signed"):
        path = unpacked / "usr" / name
        path.rename(folder / path.name)
    drop(folder, "unpacked")
