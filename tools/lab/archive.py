# SPDX-License-Identifier: GPL-2.0-or-later
"""The Debian archive: package lists, versions and downloads.

The laboratory has an apt of its own, for Debian 13 with backports: the lists are in apt/. Another suite has lists of its own,
such as those in apt-sid/, which are fetched when the first part needs them: its libraries must not get into a root of
Debian 13. The file versions beside the lists records the kernels that were found. They stay the same until tools/lab/lab
update fetches newer lists.
"""

import fcntl
import os
import re
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from .cache import Cache, remove
from .fetch import fetch
from .host import LAB, Failed, mirror, prepare, run, say
from .series import ARCHES, FLAVOURS, NAMES, SERIES, Kernel, no_kernel

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
OLD_AFTER = 300  # seconds; packages may come and go while a long run makes its parts
ROOT_SUITES = ("trixie", "trixie-backports")  # of the root and its tools; kernels may have others

# A mirror may be a frozen snapshot whose Release files count as expired.
APT_CONF = """\
Dir::State "{place}";
Dir::State::Lists "{place}/lists";
Dir::State::status "{place}/status";
Dir::Cache "{place}/cache";
Dir::Etc::SourceList "{place}/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Parts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
APT::Architecture "amd64";
APT::Architectures {{ "amd64"; "arm64"; }};
APT::Sandbox::User "root";
Acquire::Check-Valid-Until "false";
Acquire::Check-Date "false";
Acquire::Languages "none";
"""


def source_line(suite, kind="deb"):
    return f"{kind} [signed-by={KEYRING}] {mirror()} {suite} main"


class Record(NamedTuple):
    """A line of apt/versions. The kernels of all flavours and architectures are built from one source."""

    series: str
    release: str  # that of amd64, without a flavour
    version: str  # of the packages
    perf: str  # the version of linux-perf

    def release_of(self, arch, flavour=""):
        return self.release.removesuffix("amd64") + (f"{flavour}-{arch}" if flavour else arch)

    def source(self):
        """Return the name of the source's package. Another series may have taken the place of one that has left."""
        return f"linux-source-{'.'.join(self.release.split('.')[:2])}"

    def is_of_root(self):
        """True if the headers are installed in the root. Those of Debian 12 cannot be."""
        return "+deb13-" in self.release and any(self.series == series.name for series in SERIES if series.is_in_root)

    def __str__(self):
        perf = "" if self.perf == self.version else f" {self.perf}"
        return f"{self.series} {self.release} {self.version}{perf}"


def version_key(version):
    """Order versions as dpkg does: numbers by value, letters before other characters, and ~ before the end."""
    key = []
    for letters, digits in re.findall(r"(\D*)(\d*)", version):
        key.append([-1 if c == "~" else ord(c) + (0 if c.isalpha() else 256) for c in letters] + [0])
        key.append([int(digits or 0)])
    return key


class Archive:
    """The suites whose packages one apt knows. `main`: that of Debian 13, which other suites take perf from."""

    def __init__(self, place, suites=ROOT_SUITES, main=None):
        self.place = place / (f"apt-{suites[0]}" if main else "apt")
        self.suites, self.main = suites, main or self
        self.versions = self.place / "versions"
        self.cache = Cache(place)

    # ---- apt ----

    @contextmanager
    def _apt(self, lock_kind=fcntl.LOCK_SH):
        """Return the environment of an apt with the private configuration, and hold a lock: each apt reads a cache, which
        only an update writes."""
        lock = os.open(self.place, os.O_RDONLY)
        try:
            fcntl.flock(lock, lock_kind)
            yield {**os.environ, "APT_CONFIG": str(self.place / "apt.conf")}
        finally:
            os.close(lock)

    def _ask(self, *command):
        """Return what apt-cache prints: nothing if it knows no such package."""
        with self._apt() as env:
            return subprocess.run(["apt-cache", *command], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True, check=False, close_fds=False).stdout

    def _do(self, *command, cwd=None):
        """Run apt-get. Return whether it succeeded."""
        with self._apt() as env:
            return fetch("apt-get", *command, "-qq", cwd=cwd, env=env)

    def _update(self):
        """Fetch the lists of the sources. Return whether that succeeded, if need be at the second time."""
        with self._apt(fcntl.LOCK_EX) as env:
            if not fetch("apt-get", "update", "-qq", env=env):
                say("fetching package lists again")
                if not fetch("apt-get", "update", "-qq", env=env):
                    return False
            run("apt-cache", "gencaches", "-qq", env=env)
            return True

    # ---- the lists ----

    def need_lists(self):
        """Fetch the package lists, on the first use only."""
        if self.versions.exists():
            return
        prepare()
        with self.cache.lock(self.place.name):
            if not self.versions.exists():
                self._fetch_lists()

    def update(self):
        """Fetch the lists again. Those of other suites are fetched on their next use."""
        prepare()
        with self.cache.lock(self.place.name):
            self._fetch_lists()
        for place in self.cache.place.glob("apt-*"):
            remove(place)

    def are_old(self):
        """True if newer lists may know newer packages. Packages leave the archive when newer ones arrive."""
        return self.versions.exists() and time.time() - self.versions.stat().st_mtime > OLD_AFTER

    def stamp(self):
        """Return a text that changes with the lists, for parts of suites that they do not have."""
        self.need_lists()
        return self.versions.read_text().rstrip("\n")

    def records(self):
        """Return the kernels of these suites, without the newest."""
        for line in self.stamp().splitlines():
            series, release, version, *perf = line.split()
            yield Record(series, release, version, *(perf or [version]))

    def newest(self):
        """Return the newest kernel of the archive. It has a record of its own even if it is one of the others."""
        self.need_lists()
        release = self.newest_release()
        return self._record(".".join(release.split(".")[:2]), release)

    def kernel(self, name):
        """Return the kernel of that name. "newest" becomes the number of the series."""
        kernel = Kernel.named(name)
        if kernel.series in NAMES and kernel.series != "newest":
            return kernel
        newest = self.newest()
        if kernel.series not in ("newest", newest.series):
            raise no_kernel(name)
        return kernel._replace(series=newest.series)

    def record(self, kernel):
        """Return the record of the kernel's series."""
        for record in self.of(kernel.series).records():
            if record.series == kernel.series:
                return record
        newest = self.newest()
        if newest.series == kernel.series:
            return newest
        raise Failed(f"the archive has no kernel {kernel} for Debian 13 any more: choose another, or set SFU_MIRROR "
                     "and run tools/lab/lab update")

    def of(self, series):
        """Return the archive with the packages of that series."""
        return self.suite(next((known.suite for known in SERIES if known.name == series), self.suites[0]))

    def suite(self, name):
        """Return the archive with the packages of that suite."""
        if name in self.suites:
            return self
        other = Archive(self.cache.place, (name,), self)
        other.need_lists()
        return other

    def kernels(self):
        """Return the names of all kernels that the archive has, with their releases."""
        series = {record.series: record for name in NAMES for record in self.of(name).records()}
        newest = self.newest()
        for record in {**series, newest.series: newest}.values():
            known = set(self.of(record.series)._ask("pkgnames", "linux-image-").split())
            for arch in ARCHES:
                for flavour in FLAVOURS:
                    release = record.release_of(arch, flavour)
                    if f"linux-image-{release}" in known:
                        yield f"{Kernel(arch, False, record.series, flavour)} {release}"

    def _fetch_lists(self):
        say(f"fetching the package lists of {' and '.join(self.suites)}")
        self.configure([source_line(suite) for suite in self.suites])
        if not self._update():
            raise Failed(f"the package lists of {mirror()} cannot be fetched, see above: is the network there? "
                         "SFU_MIRROR=URI names another archive")
        series = [series.name for series in SERIES if series.suite in self.suites and series.name in NAMES]
        kernels = [self._find(name) for name in series if name != "newest"]
        if self.main is self and not any(kernels):
            raise Failed(f"the archive {mirror()} has no kernel for Debian 13: set SFU_MIRROR to a full Debian archive")
        new = self.place / "versions.new"
        new.write_text("".join(f"{kernel}\n" for kernel in kernels if kernel))
        new.rename(self.versions)

    def configure(self, sources):
        """Write the configuration of the private apt. The host's proxies are used here, too."""
        for folder in ("lists/partial", "cache/archives/partial"):
            (self.place / folder).mkdir(parents=True, exist_ok=True)
        (self.place / "status").write_text("")
        dump = subprocess.run(["apt-config", "dump"], stdout=subprocess.PIPE, text=True, check=False).stdout
        proxies = re.findall(r"^Acquire::(?:https?::)?[^ ]*Proxy.*\n", dump, re.MULTILINE | re.IGNORECASE)
        (self.place / "apt.conf").write_text(APT_CONF.format(place=self.place) + "".join(proxies))
        (self.place / "sources.list").write_text("".join(f"{source}\n" for source in sources))

    def _find(self, series):
        """Return the record of that series, for apt/versions."""
        release = self.newest_release("" if series == "unstable" else f"{series}.")
        # When backports moves on to the next series, this one leaves the archive. Nothing takes the place of another suite's.
        if not release and self.main is self:
            release = self.newest_release()
            say(f"the archive has no kernel {series} any more: taking {release} in its place")
        if not release:
            return None
        record = self._record(series, release)
        if record.perf != record.version:
            say(f"the archive has no linux-perf {record.version}: taking {record.perf} for kernel {series}")
        return record

    def _record(self, series, release):
        if self.main is not self:
            self.main.need_lists()
        version, perfs = self.version_of(f"linux-image-{release}"), self.main.versions_of("linux-perf")
        # The archive keeps a superseded kernel longer than its perf. A newer perf works with that kernel as well. The
        # perf of Debian 12, or of unstable, does not run in a root of Debian 13.
        perf = version if "+deb13-" in release and version in perfs else max(perfs, key=version_key, default=version)
        return Record(series, release, version, perf)

    # ---- packages ----

    def newest_release(self, prefix=""):
        """Return the newest release of Debian's kernels, among those that begin with the prefix. Debian 12 writes
        6.1.0-1-amd64, Debian 13 6.12.1+deb13-amd64, unstable 7.2.13+deb14-amd64."""
        names = self._ask("pkgnames", f"linux-image-{prefix}").split()
        releases = [name.removeprefix("linux-image-") for name in names]
        releases = [release for release in releases if re.fullmatch(r"[0-9.]+(-[0-9]+|\+deb[0-9]+)-amd64", release)]
        return max(releases, key=version_key, default="")

    def versions_of(self, package):
        """Return the package's versions, the newest first."""
        return re.findall(r"^Version: (.*)", self._ask("show", package), re.MULTILINE)

    def version_of(self, package):
        """Return the package's newest version, or nothing."""
        return next(iter(self.versions_of(package)), "")

    def known_version(self, package):
        """Return the package's newest version. The lists are fetched on the first use."""
        self.need_lists()
        version = self.version_of(package)
        if not version:
            raise Failed(f"Debian 13 has no package {package}: set SFU_MIRROR to a full Debian archive, "
                         "and run tools/lab/lab update")
        return version

    def depends_of(self, package, version):
        """Return the names of its dependencies; of alternatives, the first."""
        names = []
        for line in re.findall(r"^Depends: (.*)", self._ask("show", f"{package}={version}"), re.MULTILINE):
            names += [re.sub(r"\|.*|\(.*|:any| ", "", name) for name in line.split(",")]
        return names

    # ---- downloads ----

    def download(self, folder, *packages):
        """Fetch packages into the folder. Each is NAME, NAME:ARCH, or one of these with =VERSION or /SUITE. apt compares the
        files with the checksums of its lists."""
        say(f"fetching {' '.join(packages)}")
        if not self._do("download", *packages, cwd=folder):
            for package in packages:
                self._download_again(folder, package)

    def _download_again(self, folder, package):
        """Fetch a package from the start, or an older version if any will do: an archive may list a version that it
        lost."""
        name, _, version = package.partition("=")
        older = [] if version else [f"{name}={other}" for other in self.versions_of(name)[1:]]
        for candidate in (package, *older):
            # apt would go on at the end of a broken file, and leaves one with a wrong checksum as *.FAILED.
            for file in folder.glob(f"{re.split('[:/]', name)[0]}_*"):
                file.unlink()
            say(f"fetching {candidate} again")
            if self._do("download", candidate, cwd=folder):
                return
        raise Failed(f"the archive does not give {package}, see above: is the network there? "
                     "If it is, run tools/lab/lab update, which fetches newer package lists")

    def download_source(self, folder, package):
        """Fetch the files of the newest version of a source package that the archive has."""
        with tempfile.TemporaryDirectory(dir=folder.parent) as lists:
            sources = Archive(Path(lists))
            sources.configure([source_line("trixie", "deb-src")])
            if not sources._update():
                raise Failed(f"the source lists of {mirror()} cannot be fetched, see above: is the network there?")
            versions = re.findall(r"^Version: (.*)", sources._ask("showsrc", "--only-source", package), re.MULTILINE)
            for version in sorted(versions, key=version_key, reverse=True):
                say(f"fetching the source of {package} {version}")
                for _ in range(2):
                    if sources._do("source", "--download-only", f"{package}={version}", cwd=folder):
                        return
                    for file in folder.iterdir():
                        file.unlink()
        raise Failed(f"the archive has no source package '{package}', or none of its files: run tools/lab/lab update, "
                     "which fetches newer package lists")

    def newest_clang(self):
        """Return the newest version N of the packages clang-N. The package named clang is older."""
        names = self._ask("pkgnames", "clang-").split()
        numbers = [int(name[6:]) for name in names if re.fullmatch("clang-[0-9]+", name)]
        if not numbers:
            raise Failed("the suite has no package clang-N: set SFU_MIRROR to a full Debian archive")
        return max(numbers)


archive = Archive(LAB)
cache = archive.cache
