# SPDX-License-Identifier: GPL-2.0-or-later
"""What tools/lab/vm starts a machine from."""

from concurrent.futures import ThreadPoolExecutor

from .archive import archive
from .host import prepare
from .images import additions, has_9p, image
from .kernels import kdir, packages
from .programs import qemu, virtiofsd
from .roots import arm64_root, root


def machine(kernel):
    """Return the directories of QEMU, of the disk, of what is added to it, and of virtiofsd if the kernel needs it. What
    waits for the network is made at the same time."""
    prepare()
    archive.need_lists()
    programs = [qemu] if has_9p(kernel) else [qemu, virtiofsd]
    with ThreadPoolExecutor() as pool:
        programs = [pool.submit(make) for make in programs]
        first = [pool.submit(make) for make in ([root] if kernel.arch == "amd64" else [root, arm64_root])]
        first += [pool.submit(make, kernel) for make in (packages, kdir)]
        for job in first:
            job.result()
        disk = [pool.submit(make, kernel) for make in (image, additions)]
        made = [job.result() for job in programs[:1] + disk + programs[1:]]
    return tuple(made)
