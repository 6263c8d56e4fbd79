# SPDX-License-Identifier: GPL-2.0-or-later
"""Each Debian that has packages of ours: a root where they are built, and a fresh machine where they are installed."""

from .archive import archive, cache
from .host import Failed, say
from .roots import name_host
from .unpack import drop, strap, unpack_debs

SUITES = {"12": "bookworm", "13": "trixie", "testing": "testing"}
BUILD = "build-essential debhelper dh-dkms git libelf-dev lintian python3-minimal".split()
# The check of licences, the keys of a machine's firmware, and what reads manuals and completes words: in one of the roots.
BUILD_13 = "mandoc python3-virt-firmware reuse zsh".split()
MACHINE = "systemd-sysv udev dbus eatmydata kmod procps login linux-image-amd64".split()
# What apt fetches for later, with what these recommend: the machine has no network.
FETCHED = ("dkms linux-headers-amd64 linux-perf libelf-dev",
           "dkms linux-image-cloud-amd64 linux-headers-cloud-amd64")
FIRMWARE = "ovmf shim-signed grub-efi-amd64-signed".split()


def suite_of(debian):
    if debian not in SUITES:
        raise Failed(f"no Debian '{debian}': choose one of {' '.join(SUITES)}")
    return SUITES[debian]


def package_root(debian):
    """Return the root in which that Debian's packages are built."""
    suite = suite_of(debian)
    packages = [*BUILD, *(BUILD_13 if debian == "13" else [])]
    return cache.made(f"package-root-{debian}", f"1 {suite} {','.join(packages)} {archive.stamp()}",
                      lambda folder: make_suite(folder, suite, packages))


def make_suite(folder, suite, packages, *options):
    say(f"making a root of Debian {suite}")
    folder.chmod(0o755)
    strap(folder, suite, packages, "--variant=minbase", *options)
    name_host(folder)


def fresh_machine(debian):
    """Return the directory of a machine, in root/, that has that Debian's kernel and systemd, and nothing of ours."""
    suite = suite_of(debian)
    return cache.made(f"fresh-machine-{debian}", f"1 {suite} {MACHINE} {FETCHED} {archive.stamp()}",
                      lambda folder: make_machine(folder, suite))


def make_machine(folder, suite):
    """Apt's lists and the packages that it fetches stay in the machine's own directories."""
    fetch = ("env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o APT::Install-Recommends=true install "
             "--download-only")
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
