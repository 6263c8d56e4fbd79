# SPDX-License-Identifier: GPL-2.0-or-later
"""From packages to directories: whole roots by mmdebstrap, programs with their libraries, and single packages."""

import shlex

from .archive import KEYRING, archive, source_line
from .cache import remove
from .fetch import fetch
from .host import Failed, is_in_namespace, run, say

TRIPLETS = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}


def strap(folder, suite, packages, *options, arches="amd64", backports=False):
    """Fill the folder by mmdebstrap, with the settings that every use shares. Of Debian 13, it gets the package lists of the
    laboratory, unless the archive no longer has what they name."""
    suites = [suite, f"{suite}-backports"] if backports else [suite]
    sources = "".join(f"{source_line(name)}\n" for name in suites)
    # mmdebstrap gets a mount namespace: its mounts disappear with it, also after an error. The root of a user's namespace may
    # mount /proc only with a namespace of processes, and /sys never.
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", '"$@"; exit', "sh",
               "mmdebstrap", "--quiet", "--mode=root", f"--keyring={KEYRING}",
               *(["--skip=chroot/mount/sys"] if is_in_namespace() else []),
               f"--architectures={arches}", f"--include={','.join(packages)}",
               '--aptopt=Acquire::Check-Valid-Until "false"', '--aptopt=Acquire::Check-Date "false"',
               '--aptopt=Acquire::Languages "none"', *options]
    archive.need_lists()
    lists = f'cp -t "$1"/var/lib/apt/lists {shlex.quote(str(archive.place))}/lists/*_*'
    known = [f"--setup-hook={lists}", "--skip=update"] if suite in archive.suites else []
    if fetch(*command, *known, suite, folder, "-", stdin=sources):
        return
    # A download may have been broken.
    say("mmdebstrap failed, see above: trying once more")
    mode = folder.stat().st_mode
    remove(folder)
    folder.mkdir()
    folder.chmod(mode)
    if not fetch(*command, suite, folder, "-", stdin=sources):
        raise Failed(f"mmdebstrap cannot make a root of {suite}, see above: is the network there? "
                     "SFU_MIRROR=URI names another archive")


def unpack_debs(folder, into):
    """Unpack all packages that are in the folder, and remove them."""
    for deb in sorted(folder.glob("*.deb")):
        run("dpkg-deb", "-x", deb, into)
        deb.unlink()


def unpack_member(folder, member, *tar):
    """Pass one file of the only package in the folder to the command tar, and remove the package."""
    deb, = folder.glob("*.deb")
    run("bash", "-euo", "pipefail", "-c", 'dpkg-deb --fsys-tarfile "$1" | tar -xO "$2" | "${@:3}"', "bash",
        deb, member, *tar)
    deb.unlink()


def unpack_tools(folder, suite, packages):
    """Unpack packages with all that they need under folder/unpacked, and copy the libraries to folder/lib."""
    unpacked, lib = folder / "unpacked", folder / "lib"
    unpacked.mkdir()
    lib.mkdir()
    strap(unpacked, suite, packages, "--variant=extract")
    drop(unpacked, "etc", "var", "dev", "usr/share")
    libraries = [path for path in sorted(unpacked.rglob("*.so*")) if f"/{TRIPLETS['amd64']}/" in str(path)]
    run("cp", "-a", "-t", lib, *libraries)
    run("cp", "-aL", "-t", lib, next(unpacked.rglob("ld-linux-*.so.?")))


def drop(folder, *names):
    for name in names:
        remove(folder / name)


def script(path, text):
    """Write an executable script."""
    path.write_text(text)
    path.chmod(0o755)


def link_programs(root, programs):
    """Make the names in root/usr/bin that scripts of packages would have made. programs: name -> target."""
    for name, target in programs.items():
        link = root / "usr/bin" / name
        if not link.exists() and not link.is_symlink():
            link.symlink_to(target)
