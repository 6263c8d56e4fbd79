# SPDX-License-Identifier: GPL-2.0-or-later
"""What tools/lab/vm starts a machine from."""

from .images import additions, has_9p, image
from .programs import qemu, virtiofsd


def machine(kernel):
    """Return the directories of QEMU, of the disk, of what is added to it, and of virtiofsd if the kernel needs it."""
    return qemu(), image(kernel), additions(kernel), *([] if has_9p(kernel) else [virtiofsd()])
