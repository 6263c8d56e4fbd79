# SPDX-License-Identifier: GPL-2.0-or-later
"""What tools/lab/vm starts a machine from."""

import os
import traceback

from .archive import archive
from .cache import NotMade
from .host import LAB, Failed, prepare, say
from .images import additions, has_9p, image
from .kernels import kdir, packages
from .programs import qemu, virtiofsd
from .roots import arm64_root, root


def machine(kernel):
    """Return the directories of QEMU, of the disk, of what is added to it, and of virtiofsd if the kernel needs it."""
    if not any(LAB.glob(f"image-{kernel}.*")):
        prepare()
        archive.need_lists()
        # What waits for the network is made at the same time.
        make_at_once(qemu, root if kernel.arch == "amd64" else arm64_root, lambda: packages(kernel), lambda: kdir(kernel))
        make_at_once(lambda: image(kernel), lambda: additions(kernel))
    return qemu(), image(kernel), additions(kernel), *([] if has_9p(kernel) else [virtiofsd()])


def make_at_once(*functions):
    """Call each function in a process of its own: no command that one starts inherits the locks of another."""
    children = [start(function) for function in functions]
    try:
        statuses = [os.waitpid(child, 0)[1] for child in children]
    except KeyboardInterrupt:
        for child in children:
            os.waitpid(child, 0)
        raise
    if any(statuses):
        raise NotMade("parts of the machine could not be made, see above")


def start(function):
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        function()
        status = 0
    except Failed as error:
        say(error)
    except KeyboardInterrupt:
        pass
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(status)
