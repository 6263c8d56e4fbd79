# SPDX-License-Identifier: GPL-2.0-or-later
"""What tools/lab/vm boots: a kernel, an initrd, a disk, and the files that are added to the disk.

The disk has the root, the kernel's modules and perf. The initrd loads the drivers for the disk and the lines to the
host, and starts /usr/sbin/vm-init on the disk.
"""

import os
import shutil

from .archive import cache
from .cache import remove
from .host import HERE, LAB, output, run, say
from .kernels import packages, release
from .module import module, tools
from .roots import arm64_root, root, run_inside, runtimes_root

# The drivers that the initrd loads, in this order, with their dependencies. Some are built into the kernel.
DRIVERS = ("virtio_pci", "virtio_blk", "ext4", "virtio_console", "virtio_rng")
SHARE = ("9pnet_virtio", "9p")
FREE = 4096  # MiB on the disk for the guest; the file is sparse


def has_9p(kernel):
    """True if the kernel can share a directory with the host by 9p. Debian's cloud kernels have virtiofs only."""
    return kernel.flavour != "cloud"


def image(kernel):
    """Return the directory with vmlinuz, initrd and disk."""
    parts = packages(kernel)
    if kernel.is_debug:
        stock = image(kernel.plain())
        return cache.made(f"image-{kernel}", f"1 {parts.name} {stock.name}",
                          lambda folder: make_debug_image(folder, parts, stock))
    drivers = (*DRIVERS, *SHARE) if has_9p(kernel) else DRIVERS
    base = root() if kernel.arch == "amd64" else arm64_root()
    scripts = [(HERE / name).read_text() for name in ("initrd-init", "make-image.sh")]
    return cache.made(f"image-{kernel}", f"2 {parts.name} {base.name} {' '.join(drivers)} {FREE} {''.join(scripts)}",
                      lambda folder: make_image(folder, parts, base, release(kernel), drivers))


def make_image(folder, parts, base, name, drivers):
    say(f"making the disk of {name}")
    stage, initrd = folder / "stage", folder / "initrd.d"
    run("cp", "-al", base, stage)
    run("cp", "-al", f"{parts}/usr/.", f"{stage}/usr/")
    shutil.copy(parts / "vmlinuz", folder / "vmlinuz")
    used = int(output("du", "-sm", stage).split()[0])
    with open(folder / "disk", "wb") as disk:
        disk.truncate((used * 5 // 4 + FREE) << 20)
    (initrd / "modules").mkdir(parents=True)
    (initrd / "bin").mkdir()
    shutil.copy(base / "bin/busybox", initrd / "bin")
    shutil.copy(HERE / "initrd-init", initrd / "init")
    run_inside(root, "sh", HERE / "make-image.sh", folder, parts, name, *drivers)
    remove(stage)
    remove(initrd)


def make_debug_image(folder, parts, stock):
    """Use the stock kernel's disk and initrd. All drivers are built into the debug kernel, and it refuses the stock
    kernel's modules in the initrd."""
    for file in (parts / "vmlinuz", stock / "disk", stock / "initrd"):
        os.link(file, folder / file.name)


def runtimes_disk():
    """Return the directory with a disk of runtimes_root(), for tools/lab/vm --disk. It does not depend on the kernel."""
    return cache.made("runtimes-disk", f"1 {runtimes_root().name}", make_runtimes_disk)


def make_runtimes_disk(folder):
    say("making the disk of the runtimes")
    used = int(output("du", "-sm", runtimes_root()).split()[0])
    with open(folder / "disk", "wb") as disk:
        disk.truncate((used * 5 // 4 + 512) << 20)
    run_inside(root, "mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-E", "lazy_itable_init=1,nodiscard", "-m", "0",
               "-d", runtimes_root(), folder / "disk")


def additions(kernel):
    """Return the directory with the files that change more often than the disk: the module, perf, sframectl. They are
    copied onto the disk at every boot."""
    parts, name, built, programs = packages(kernel), release(kernel), module(kernel), tools(kernel)
    return cache.made(f"additions-{kernel}", f"2 {parts.name} {built.relative_to(LAB)} {programs.relative_to(LAB)}",
                      lambda folder: make_additions(folder, parts, name, built, programs))


def make_additions(folder, parts, name, built, programs):
    run("install", "-D", "-m", "755", "-t", folder / "usr/local/bin",
        *(programs / f"build/host/{name}" for name in ("perf", "perf-sframe", "sframectl")))
    # depmod needs all modules. Only the indices and our own module are kept of the result.
    everything, modules = folder / "all", f"usr/lib/modules/{name}"
    (everything / "usr/lib/modules").mkdir(parents=True)
    run("cp", "-al", parts / modules, everything / "usr/lib/modules/")
    (everything / "lib").symlink_to("usr/lib")
    for place in (everything, folder):
        run("install", "-D", "-m", "644", "-t", place / modules / "updates", built)
    run_inside(root, "depmod", "-b", everything, name)
    for index in (everything / modules).glob("modules.*"):
        shutil.copy(index, folder / modules)
    remove(everything)
