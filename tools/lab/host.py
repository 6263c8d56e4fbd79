# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine that the laboratory runs on: messages, commands, missing programs, and the archive that its apt uses."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
LAB = TREE / "build/lab"


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


def need_root():
    if os.geteuid() != 0:
        raise Failed("needs root, for chroot and mounts: run it again as root, for instance with sudo")


def need_program(program, package):
    """Install the package on this machine if the program, a name or a path, is missing."""
    if shutil.which(program) or os.path.exists(program):
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Failed(f"{program} is missing: install the package {package} (apt install {package})")
    say(f"installing {package} on this machine")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    # Another run may hold apt's lock: wait for it.
    install = ("apt-get", "-o", "DPkg::Lock::Timeout=300", "install", "-qq", "-y", "--no-install-recommends", package)
    try:
        try:
            run(*install, env=env)
        except subprocess.CalledProcessError:
            run("apt-get", "update", "-qq", env=env)
            run(*install, env=env)
    except subprocess.CalledProcessError as error:
        raise Failed(f"could not install {package}: install it by hand (apt install {package}) "
                     "and run this again") from error


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
    if not uri and os.geteuid() == 0:
        say("updating this machine's package lists")
        subprocess.run(["apt-get", "update", "-qq"], stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False)
        uri = known_archive()
    if not uri:
        raise Failed("apt knows no Debian archive: set SFU_MIRROR to the URI of one")
    return uri.rstrip("/")
