# SPDX-License-Identifier: GPL-2.0-or-later
"""The only list of kernels, and their names. The names of their packages follow from the series."""

import re
from typing import NamedTuple

from .host import Failed


class Series(NamedTuple):
    """A line of the list. Remove the line when the series has left the archive."""

    name: str
    suite: str
    is_in_root: bool = False  # its headers are installed in the root, where lint/kernel and package/front-door build the module


SERIES = (
    Series("6.1", "bookworm"),
    Series("6.12", "trixie", is_in_root=True),
    Series("7.2", "trixie-backports", is_in_root=True),
    # The newest of all, on the day when the package lists were fetched.
    Series("newest", "trixie-backports"),
    # That of Debian unstable, with package lists of its own.
    Series("unstable", "sid"),
)
NAMES = tuple(series.name for series in SERIES)
ARCHES = ("amd64", "arm64")
FLAVOURS = ("", "cloud", "rt")  # of Debian's kernels; the usual one has no name
DEBUG_FLAVOURS = ("", "rt", "kcsan")  # of those that are built here


class Kernel(NamedTuple):
    """The name of a kernel: arm64-debug-6.12-rt, for instance."""

    arch: str  # by Debian's name
    is_debug: bool
    series: str
    flavour: str

    def __str__(self):
        return (("arm64-" if self.arch == "arm64" else "") + ("debug-" if self.is_debug else "")
                + self.series + (f"-{self.flavour}" if self.flavour else ""))

    @classmethod
    def named(cls, name):
        """Return the kernel of that name. Whether the archive has its series is another question."""
        rest = name.removeprefix("arm64-")
        series, _, flavour = rest.removeprefix("debug-").partition("-")
        kernel = cls("amd64" if rest == name else "arm64", rest.startswith("debug-"), series, flavour)
        flavours = DEBUG_FLAVOURS if kernel.is_debug else FLAVOURS
        if not (series in NAMES or re.fullmatch(r"\d+\.\d+", series)) or flavour not in flavours or str(kernel) != name:
            raise no_kernel(name)
        return kernel

    def plain(self):
        """Return the stock kernel of the same series, without a flavour."""
        return self._replace(is_debug=False, flavour="")


def no_kernel(name):
    return Failed(f"no kernel '{name}': choose one of {' '.join(NAMES)}, or one of these with the prefix arm64- or the "
                  "suffix -cloud or -rt")
