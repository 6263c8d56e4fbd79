# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine that the laboratory runs on: messages, commands, missing programs, and the archive that its apt uses."""

import functools
import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
HERE = TREE / "tools/lab"
LAB = TREE / "build/lab"
NAMESPACE = "SFU_LAB_NAMESPACE"  # in the environment of what runs in a user's namespace, or in a root


class Failed(Exception):
    """The laboratory cannot do it; the text tells the user why, and what to do."""


def say(text):
    print(f"lab: {text}", file=sys.stderr, flush=True)


def run(*command, cwd=None, stdin=None, env=None):
    """Run a command whose output is progress: it goes to stderr. stdin is a text. A status other than 0 is an error.
    The command inherits the locks of cache.py: if this process is killed, the next run waits until the command ends."""
    source = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
    subprocess.run([str(word) for word in command], cwd=cwd, env=env, stdout=sys.stderr, stderr=sys.stderr, check=True,
                   text=True, close_fds=False, **source)


def output(*command, cwd=None):
    """Return what a command prints."""
    return subprocess.run([str(word) for word in command], cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          check=True, text=True).stdout


def say_version(*command):
    """Run a program that was just made, and say its version."""
    say(output(*command, "--version").splitlines()[0])


def is_in_namespace():
    """True if enter_namespace() has started this process: root here is a user of the host."""
    return NAMESPACE in os.environ


@functools.cache
def prepare():
    """Make this process able to make parts, which takes programs of the host, and root for chroot and mounts. A user
    becomes root in a namespace: the process starts again there."""
    if not is_in_namespace():
        need_packages()
    if os.geteuid() != 0:
        enter_namespace()


def need_packages(*packages):
    """Let tools/lab/lab install them if they are missing and the user agrees; without packages, those of the laboratory
    itself."""
    if subprocess.run([HERE / "lab", "need", *packages], stdout=sys.stderr, check=False).returncode:
        raise Failed("the host is not ready, see above")


def enter_namespace():
    """Run this command again as the root of a user namespace, where the user's subordinate ids are those of the others."""
    words = ["unshare", "--user", "--map-root-user", "--map-auto"]
    tried = subprocess.run([*words, "chroot", "/", "true"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                           check=False)
    if tried.returncode:
        raise Failed("needs root, or a namespace where you are root:\n  " + "\n  ".join(
            [tried.stderr.strip(), *namespace_remedies()]) + "\nOr run it again as root, for instance with sudo")
    os.execvpe(words[0], [*words, sys.executable, "-B", *sys.argv], {**os.environ, NAMESPACE: "1"})


def namespace_remedies():
    """Return what is to be changed on this machine, by root, before a user can have a namespace."""
    user, remedies = pwd.getpwuid(os.geteuid()).pw_name, []
    if not shutil.which("newuidmap"):
        remedies.append("apt install uidmap")
    for kind in ("uid", "gid"):
        try:
            lines = Path(f"/etc/sub{kind}").read_text(encoding="utf-8").splitlines()
        except OSError:
            lines = []
        if not any(line.split(":")[0] in (user, str(os.geteuid())) for line in lines):
            remedies.append(f"usermod --add-sub{kind}s 100000-165535 {user}    # other numbers if others have these")
    for name, wrong, right in (("kernel/unprivileged_userns_clone", 0, 1), ("user/max_user_namespaces", 0, 10000),
                               ("kernel/apparmor_restrict_unprivileged_userns", 1, 0)):
        setting = Path("/proc/sys", name)
        if setting.exists() and int(setting.read_text()) == wrong:
            remedies.append(f"sysctl {name.replace('/', '.')}={right}")
    return remedies


def known_archive():
    """Return the URI of the first Debian archive in the package lists of this machine's apt, or nothing."""
    for line in output("apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages",
                       "ORIGIN: Debian").splitlines():
        label, _, uri = line.partition(" ")
        if label == "Debian":
            return uri
    return ""


def mirror():
    """Return the URI of the Debian archive that this machine's apt uses. If apt has no package lists yet, fetch
    them."""
    uri = os.environ.get("SFU_MIRROR", "")
    if not uri:
        if not shutil.which("apt-get"):
            raise Failed("this machine has no apt: use Debian 12 or 13")
        uri = known_archive()
    if not uri and os.geteuid() == 0 and not is_in_namespace():
        say("updating this machine's package lists")
        subprocess.run(["apt-get", "update", "-qq"], stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False)
        uri = known_archive()
    if not uri:
        raise Failed("apt knows no Debian archive: set SFU_MIRROR to the URI of one")
    return uri.rstrip("/")
