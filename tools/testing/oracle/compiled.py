# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds the corpus of tools/testing/oracle/run by all producers, once for its inputs, and compares it."""

import glob
import inspect
import os
import re
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path

import corpus
import listings
import rows
from lab.cache import Cache, NotMade

SFRAME_OF_CLANG = ["-Wa,--gsframe", "-Wa,--allow-experimental-sframe"]


class Build:
    """A package for one architecture, built by all producers."""

    def __init__(self, choice, name, arch, prepared):
        self.name, self.arch, self.prepared = name, arch, prepared
        self.package = corpus.PACKAGES[name]
        self.source, self.toolchain = Path(choice["source"][name]), choice["toolchain"]
        self.is_cxx = re.search(r"\.(cc|cpp)\b", self.package.sources) is not None
        self.key = f"{prepared} {choice['root']} {self.package} {inspect.getsource(Build)}"

    def words(self):
        """Return the flags of the compiler."""
        flags = f"{self.package.flags} {getattr(self.package, self.arch)}".replace("@", str(self.prepared)).split()
        return flags + (["-fPIC", "-shared"] if self.package.file.endswith(".so") else [])

    def sources(self):
        """Return the sources, named from the package's directory."""
        names = []
        for pattern in self.package.sources.replace("@", str(self.prepared)).split():
            names += sorted(glob.glob(pattern, root_dir=self.source))
        return [name for name in names if not any(fnmatch(name, other) for other in self.package.without.split())]

    def gcc(self, run, *words):
        run(f"{corpus.ARCHES[self.arch]}-{'g++' if self.is_cxx else 'gcc'}", *words, cwd=self.source)

    def clang(self, run, *words):
        run(f"{self.toolchain['clang']}/{'clang++' if self.is_cxx else 'clang'}",
            f"--target={corpus.ARCHES[self.arch]}", "-Qunused-arguments", *words, cwd=self.source)

    def compile(self, folder, run):
        """Compile all sources to assembly."""
        for name in self.sources():
            mode = "-E" if name.endswith(".S") else "-S"
            self.gcc(run, *self.words(), mode, name, "-o", folder / f"{name.replace('/', '_')}.s")

    def assemble(self, producer, assembly, folder, run):
        """Assemble and link the assembly."""
        tools = self.toolchain[f"{producer}-{self.arch}"]
        for name in sorted(assembly.glob("*.s")):
            run(f"{tools}/as", "--gsframe", name, "-o", folder / f"{name.stem}.o", cwd=self.source)
        self.link(self.gcc, folder, run, f"-B{tools}/")

    def compile_with_clang(self, folder, run):
        """Compile all sources by clang, and link them by lld. C++ is compiled as one object: if several objects have
        the same function, lld keeps one of them, and then refuses to link the SFrame data of the others."""
        names = self.sources()
        if self.is_cxx:
            (folder / "all.cc").write_text("".join(f'#include "{self.source}/{name}"\n' for name in names))
            names = [str(folder / "all.cc")]
        for name in names:
            self.clang(run, *self.words(), *SFRAME_OF_CLANG, "-c", name, "-o", folder / f"{name.replace('/', '_')}.o")
        self.link(self.clang, folder, run, f"--ld-path={self.toolchain['clang']}/ld.lld")

    def link(self, compiler, folder, run, *words):
        objects = sorted(folder.glob("*.o"))
        compiler(run, *words, *self.words(), *objects, "-o", folder / self.package.file, *self.package.libs.split())
        for file in objects:
            file.unlink()


class Oracle:
    """choice: names of producers, arches and packages, the directories of each source and toolchain, the root's name"""

    def __init__(self, choice, tap, build, out, sframectl, compare):
        self.choice, self.tap, self.out = choice, tap, out
        self.sframectl, self.compare_program = sframectl, compare
        self.cache = Cache(build)
        self.files = []  # of each: version and architecture, functions, rows, addresses, differences, errata

    def made(self, name, key, make):
        """Return the directory that make(folder, run) fills. NotMade says where to read why it was not."""
        log = self.out / f"{name}.log"

        def run(*command, cwd):
            with open(log, "a", encoding="utf-8") as file:
                subprocess.run([str(word) for word in command], cwd=cwd, stdin=subprocess.DEVNULL, stdout=file,
                               stderr=subprocess.STDOUT, check=True)

        def begin(folder):
            log.write_text("")
            make(folder, run)

        try:
            return self.cache.made(name, key, begin)
        except NotMade as error:
            tail = log.read_text(errors="replace").splitlines()[-8:]
            raise NotMade("\n".join([f"{name}: {error}; see {log}", *tail])) from error

    def producers(self, arch):
        """Return the producers for that architecture. clang 23 cannot write SFrame for arm64."""
        if arch != "arm64" or "clang" not in self.choice["producers"]:
            return self.choice["producers"]
        ran = subprocess.run([f"{self.choice['toolchain']['clang']}/clang", f"--target={corpus.ARCHES[arch]}",
                              "-Qunused-arguments", *SFRAME_OF_CLANG, "-c", "-x", "c", "/dev/null", "-o", "/dev/null"],
                             text=True, stderr=subprocess.PIPE, check=False)
        refusal = " ".join(line for line in ran.stderr.splitlines() if "unsupported option" in line)
        if not refusal:
            return self.choice["producers"]
        self.tap.skip(f"files of clang for {arch}", f"clang writes no SFrame: {refusal}")
        return [producer for producer in self.choice["producers"] if producer != "clang"]

    def build(self, build, producer):
        """Return the package's file by that producer."""
        name = f"{build.name}-{build.arch}"
        if producer == "clang":
            path = self.made(f"{name}-clang", f"{build.key} {build.toolchain['clang']}", build.compile_with_clang)
        else:
            assembly = self.made(f"{name}-assembly", build.key, build.compile)
            path = self.made(f"{name}-{producer}",
                             f"{build.key} {assembly} {build.toolchain[f'{producer}-{build.arch}']}",
                             lambda folder, run: build.assemble(producer, assembly, folder, run))
        return path / build.package.file

    def check(self, build, producer):
        """Build a file, compare it with readelf and with .eh_frame. Return the name and the problem of each check."""
        name = f"{build.name}-{build.arch}-{producer}"
        try:
            file = self.build(build, producer)
        except NotMade as error:
            return [(f"{name}: built", str(error))]
        tools = build.toolchain.get(f"{producer}-{build.arch}") or build.toolchain[f"v3-{build.arch}"]
        version, functions, nr_rows, by_readelf = self.by_readelf(file, tools)
        if not by_readelf and version != corpus.PRODUCERS[producer]:
            by_readelf = f"it has {version}, not {corpus.PRODUCERS[producer]}"
        addresses, differences, errata, by_eh_frame = self.by_eh_frame(name, file)
        self.files.append((f"{corpus.PRODUCERS[producer]} {build.arch}", functions, nr_rows, addresses, differences,
                           errata))
        return [(f"{name}: {nr_rows} rows are those of readelf", by_readelf),
                (f"{name}: {addresses} addresses are as .eh_frame says, errata: {errata}", by_eh_frame)]

    def by_readelf(self, file, tools):
        """Return version, functions, rows and the problem."""
        try:
            version, theirs, differences = rows.compare(self.sframectl, f"{tools}/readelf", file)
        except ValueError as error:
            return "", 0, 0, str(error)
        nr_rows = sum(len(func[3]) for func in theirs)
        return version, len(theirs), nr_rows, "\n".join(differences) or ("" if nr_rows else "no row was compared")

    def by_eh_frame(self, name, file):
        """Return addresses, differences, errata and the problem."""
        log = self.out / f"{name}.eh_frame"
        with open(log, "w", encoding="utf-8") as text:
            status = subprocess.run([self.compare_program, file], stdin=subprocess.DEVNULL, stdout=text,
                                    stderr=subprocess.STDOUT, check=False).returncode
        found = re.search(r"(?m)^[^#\n].*: V\S* \S* .* addresses (\d+) differences (\d+) errata (\S+)",
                          log.read_text(errors="replace"))
        addresses, differences, errata = (int(found[1]), int(found[2]), found[3]) if found else (0, 0, "-")
        if status or not addresses:
            lines = log.read_text(errors="replace").splitlines()[-8:]
            return addresses, differences, errata, "\n".join([f"status {status}, see {log}", *lines])
        return addresses, differences, errata, ""

    def summary(self):
        """Print a line for each version and architecture, and one for all. Errata are added up by their ids."""
        print("#              files functions     rows addresses differences  errata")
        for kind in [*sorted({file[0] for file in self.files}), "all"]:
            files = [file for file in self.files if kind in (file[0], "all")]
            sums = [sum(file[i] for file in files) for i in range(1, 5)]
            errata = Counter()
            for file in files:
                errata.update({int(id): int(count) for id, count in re.findall(r"E(\d+)=(\d+)", file[5])})
            text = " ".join(f"E{id}={errata[id]}" for id in sorted(errata))
            print(f"# {kind:12} {len(files):5} {sums[0]:9} {sums[1]:8} {sums[2]:9} {sums[3]:11}  {text}")

    def check_stored(self, data):
        """The files of tools/testing/data have the rows of readelf. host/data knows these by a digest."""
        for name, known in listings.stored(data).items():
            # binutils 2.47.50 lists V2 as 2.44 does.
            tools = self.choice["toolchain"][f"{'v1' if name.startswith('v1-') else 'v3'}-{self.choice['arches'][0]}"]
            try:
                _, theirs, differences = rows.compare(self.sframectl, f"{tools}/readelf", data / name)
                if known != listings.summary(theirs):
                    differences.append(f"readelf: {listings.summary(theirs)}, not {known}")
            except ValueError as error:
                differences = [str(error)]
            self.tap.case(f"{name}: rows are those of readelf, and of the digest", differences)

    def check_package(self, build, producers):
        return [case for producer in producers for case in self.check(build, producer)]

    def run(self):
        choice, source = self.choice, self.choice["source"]
        self.check_stored(Path(__file__).resolve().parents[1] / "data")
        producers = {arch: self.producers(arch) for arch in choice["arches"]}
        jobs = []
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for name in choice["packages"]:
                prepared = self.made(name, f"{source[name]} {source['zlib']} {inspect.getsource(corpus.prepare)}",
                                     lambda folder, run, name=name: corpus.prepare(name, source, folder, run))
                jobs += [pool.submit(self.check_package, Build(choice, name, arch, prepared), producers[arch])
                         for arch in choice["arches"]]
            for job in jobs:
                for name, problem in job.result():
                    self.tap.case(name, problem)
        self.summary()
