# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests sframectl convert on real files: compare compares each table with .eh_frame as libdw interprets it.

The few files of --short are also compared with the output of readelf, and with them the comparison is tested: after a
change of one bit of a row it has to fail. PLTs that lld makes are converted, and the command is tested.
"""

import hashlib
import json
import os
import re
import resource
import signal
import struct
import subprocess
import tempfile
from itertools import islice
from pathlib import Path

import rows
import table

ARCHES = {62: "amd64", 183: "arm64"}
# Of the code that .eh_frame describes, at least so many percent are covered; a table has at most so much of the size of
# .eh_frame and its header. On arm64 the goal is 99.98, and libmvec is the rest: SVE's frames need the length of vectors.
LIMITS = {"amd64": (99.96, 0.80), "arm64": (99.975, 0.55)}
# The few files that are always converted are the ones with the most holes.
LIMITS_OF_FEW = {"amd64": (99.95, 0.82), "arm64": (99.45, 0.55)}
MANY = 1000  # files
# These files have nothing to convert.
EXPECTED = {
    "has no .eh_frame: nothing describes its stack frames",
    "its .eh_frame describes no function",
    "debug information only; convert the program itself",
    "loads a segment at no address of a program",    # vmlinux
}
# The comparison is tested on tables of fewer bytes.
SMALL = 24000
# The first functions are .init, PLTs, and what the compiler adds to each file. Where .eh_frame does not describe them, their rows
# are not compared.
PLT_FDES = 12


def arch_of(path):
    """Return the architecture of a program or shared library, else None."""
    try:
        with open(path, "rb") as file:
            head = file.read(20)
    except OSError:
        return None
    if head[:6] != b"\x7fELF\2\1" or head[16:18] not in (b"\2\0", b"\3\0"):
        return None
    return ARCHES.get(struct.unpack_from("<H", head, 18)[0])


def read_terminal(shown):
    """Return what was written to a terminal, in whatever pieces it comes."""
    text = b""
    with open(shown, "rb", buffering=0) as file:
        try:
            while part := file.read(4096):
                text += part
        # The end of a terminal is an error.
        except OSError:
            pass
    return text


def find_files(dirs):
    """Yield architecture and path. Files of one name and size are one file."""
    seen = set()
    for top in dirs:
        for folder, subfolders, names in os.walk(top):
            subfolders.sort()
            for name in sorted(names):
                path = os.path.join(folder, name)
                if os.path.islink(path) or not os.path.isfile(path):
                    continue
                arch = arch_of(path)
                key = (arch, name, os.path.getsize(path))
                if arch and key not in seen:
                    seen.add(key)
                    yield arch, path


CALLS = "int f(void); int h(void); int (*p)(void) = h; int g(void) { return f() + h() + 1; }"

# lld writes no call frame information for PLTs. For each: the rows that follow from the instructions in its parts, as
# size, block size, and (offset, CFA, RA).
SLOT = ((0, "sp+8", "(c-8)"),)
HEADER_ROWS = ((0, "sp+16", "(c-8)"), (6, "sp+24", "(c-8)"))
UNSAVED = ((0, "sp+0", "u"),)
PLTS = (
    ("x86_64", "", ((16, 0, HEADER_ROWS), (32, 16, ((0, "sp+8", "(c-8)"), (11, "sp+16", "(c-8)"))))),
    ("x86_64", "-Wl,-z,force-ibt",
     ((16, 0, HEADER_ROWS), (32, 16, ((0, "sp+8", "(c-8)"), (9, "sp+16", "(c-8)"))), (32, 0, SLOT))),
    ("x86_64", "-Wl,-z,retpolineplt", ()),      # unknown code gets no rows
    ("aarch64", "", ((32, 0, ((0, "sp+0", "u"), (4, "sp+16", "(c-8)"))), (32, 0, UNSAVED))),
    ("aarch64", "-Wl,-z,force-bti", ((32, 0, ((0, "sp+0", "u"), (8, "sp+16", "(c-8)"))), (48, 0, UNSAVED))),
    ("aarch64", "-Wl,-z,pac-plt", ((32, 0, ((0, "sp+0", "u"), (4, "sp+16", "(c-8)"))), (48, 0, UNSAVED))),
)


# The kernel's __arch_chacha20_blocks_nostack(): its first and its last instructions, with others between them. Each
# with its size and its only row.
CHACHA_X86 = "movaps g(%rip), %xmm5; movups (%rsi), %xmm6; movups 0x10(%rsi), %xmm7; movq (%rdx), %xmm8; movq $1, %rax"
CHACHA_ARM = "movz x8, #0x3320, lsl #48; movk x8, #0x646e, lsl #32; movk x8, #0x6170, lsl #16; movk x8, #0x7865"
CHACHAS = (
    ("x86_64", f"{CHACHA_X86}; .fill 99, 1, 0x90; pxor %xmm7, %xmm7; pxor %xmm0, %xmm0; ret",
     ((134, 0, ((0, "sp+8", "(c-8)"),)),)),
    # It uses the stack, and is analysed as any other function: a push after 26 bytes, and its pop before the return.
    ("x86_64", f"{CHACHA_X86}; push %rbx; .fill 99, 1, 0x90; pop %rbx; ret",
     ((128, 0, ((0, "sp+8", "(c-8)"), (27, "sp+16", "(c-8)"), (127, "sp+8", "(c-8)"))),)),
    ("aarch64", f"{CHACHA_ARM}; nop; ret", ((24, 0, UNSAVED),)),
    ("aarch64", f"bti c; {CHACHA_ARM}; nop; ret", ((28, 0, UNSAVED),)),
    # It uses the stack, too.
    ("aarch64", "movz x8, #0x3320, lsl #48; sub sp, sp, #16; add sp, sp, #16; ret",
     ((16, 0, ((0, "sp+0", "u"), (8, "sp+16", "u"), (12, "sp+0", "u"))),)),
)


def forbid_writes():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def limit_work():
    """What costs more time, or more memory for files, is ended."""
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 30, 2 << 30))


class Tests:
    """choice: files and directories, the least number of files, and, with --short, readelf and clang's directory"""

    def __init__(self, choice, tap, sframectl, program, tmp):
        self.tap, self.tmp, self.sframectl, self.program = tap, tmp, sframectl, program
        self.readelf, self.clang, self.least = choice["readelf"], choice["clang"], choice["least"]
        self.sums = {}

    def check(self, name, is_good, found=""):
        return self.tap.case(name, [] if is_good else [found or "no"])

    def compare(self, *tables, path):
        """Compare tables of a file. Return the status, and what was printed: a line for each one, and more."""
        words = [word for made in tables for word in ("-t", made, path)]
        ran = subprocess.run([self.program, *words], text=True, capture_output=True, check=False)
        return ran.returncode, ran.stdout + ran.stderr

    def convert(self, path):
        """Return what sframectl reports of the file, or None if it has nothing to convert."""
        ran = subprocess.run([self.sframectl, "convert", "--json", "-o", self.tmp, path],
                             text=True, capture_output=True, check=False)
        said = json.loads(ran.stdout)["files"][0] if ran.returncode in (0, 1) else {"error": f"status {ran.returncode}"}
        error = said.get("error")
        # The files that are chosen by name have something to convert.
        self.check(f"{path}: {'nothing to convert' if error in EXPECTED else 'converted'}",
                   not error or error in EXPECTED and not self.readelf, f"{error}: {ran.stderr}")
        return None if error else said

    def test_file(self, arch, path):
        said = self.convert(path)
        if not said:
            return
        made = said["output"]
        status, text = self.compare(made, path=path)
        if self.check(f"{path}: as .eh_frame says", status == 0, f"status {status}: {text}"):
            words = text.splitlines()[-1].rsplit(": ", 1)[1].split()
            self.add(arch, said, dict(zip(words[2::2], map(int, words[3::2]))))
        if self.readelf:
            self.check_readelf(made, path)
            if said["table_size"] < SMALL:
                self.test_comparison(made, path)
        os.unlink(made)

    def check_readelf(self, made, path):
        try:
            _, theirs, differences = rows.compare(self.sframectl, self.readelf, made)
        except ValueError as error:
            theirs, differences = [], [str(error)]
        self.check(f"{path}: rows of readelf", any(func[3] for func in theirs) and not differences, "\n".join(differences[:10]))

    def test_comparison(self, made, path):
        """Change each bit of some rows. Only bit 0 of the info word of FLEX rows has no meaning."""
        elf = Path(made).read_bytes()
        # Functions may share their rows.
        places = list({row.start: row for *_, found in islice(table.functions(elf), PLT_FDES, PLT_FDES + 40) for row in found}.values())
        bad = []
        for row in places[:: max(1, len(places) // 5)]:
            for bit in range(8 * row.start, 8 * row.end):
                changed = bytearray(elf)
                changed[bit // 8] ^= 1 << bit % 8
                bad.append(Path(f"{made}.{bit}"))
                bad[-1].write_bytes(changed)
        status, text = self.compare(*bad, path=path)
        outcomes = [line for line in text.splitlines() if line.startswith(f"{path}: ")]
        missed = sum(bool(re.search(r" differences 0 .* unjustified 0 ", line)) for line in outcomes)
        for file in bad:
            file.unlink()
        self.check(f"{path}: {len(bad)} changes of a row are found", bad and status in (1, 2) and
                   len(outcomes) == len(bad) and missed <= len(places) // 50,
                   f"{missed} were not found; status {status}, {len(outcomes)} results")

    def link(self, machine, text, *options):
        """Return a library of this source."""
        source, file = Path(self.tmp) / "calls.c", Path(self.tmp) / "calls.so"
        source.write_text(text)
        subprocess.run([f"{self.clang}/clang", "-Qunused-arguments", f"--target={machine}-linux-gnu",
                        f"--ld-path={self.clang}/ld.lld", "-O1", "-fPIC", "-shared", "-nostdlib",
                        source, "-o", file, *options], check=True, stderr=subprocess.DEVNULL)
        return file

    def rows_of(self, file):
        """Return the functions of the table, and its name."""
        made = self.convert(file)["output"]
        dump = subprocess.run([self.sframectl, "dump", "--json", made], capture_output=True, check=True).stdout
        return json.loads(dump)["blobs"][0]["fdes"], made

    def test_recognised(self, what, file, expected):
        """Code without call frame information has these rows."""
        fdes, made = self.rows_of(file)
        # The only function with call frame information comes first.
        found = tuple((fde["size"], fde["rep_size"] if fde["pcmask"] else 0,
                       tuple((row["off"], row["cfa"], row["ra"]) for row in fde["rows"])) for fde in fdes[1:])
        self.check(f"{what}: {len(expected)} functions", found == expected, f"{found}")
        return made

    def test_plts(self):
        for machine, option, expected in PLTS:
            file, what = self.link(machine, CALLS, *option.split()), f"PLT of {machine} {option}"
            status, text = self.compare(self.test_recognised(what, file, expected), path=file)
            self.check(f"{what}: as .eh_frame says", status == 0, text)
            self.expect(f"{what}, in words", self.run("-v", "-o", self.tmp, file), 0,
                        "recognised: of these, PLTs that .eh_frame does not describe, by their code" if expected else "")

    def test_chachas(self):
        for machine, code, expected in CHACHAS:
            text = '__attribute__((visibility("hidden"))) int g(void) { return 1; }'
            text += f'asm(".section .text.after, \\"ax\\"; .balign 16; {code}; .text");'
            self.test_recognised(f"{machine}: {code}", self.link(machine, text), expected)

    def test_debug_frame(self):
        """.debug_frame is used where there is no .eh_frame, and gives the same table."""
        for machine in "x86_64", "aarch64":
            tables = []
            for sections in ".eh_frame", ".debug_frame":
                file = self.link(machine, f'__asm__(".cfi_sections {sections}");{CALLS}', "-Wl,--no-eh-frame-hdr")
                # The other section moves the code.
                tables.append([(fde["size"], fde["rows"]) for fde in self.rows_of(file)[0]])
            self.check(f".debug_frame of {machine}", tables[0] and tables[0] == tables[1], f"{tables}")

    def run(self, *words, place="-o", **options):
        """Run sframectl convert into a directory. Return status, standard output, standard error, and the names of the files written."""
        with tempfile.TemporaryDirectory(dir=self.tmp) as out:
            ran = subprocess.run([self.sframectl, "convert", place, out, *words], text=True,
                                 capture_output=True, check=False, **options)
            return ran.returncode, ran.stdout, ran.stderr, sorted(os.listdir(out))

    def expect(self, what, ran, status, *says, written=()):
        good = ran[0] == status and all(text in ran[1] + ran[2] for text in says) and ran[3] == list(written)
        self.check(what, good, f"{ran}")

    def test_hostile(self, path):
        """No prefix of a file, and no odd file, leaves anything but a whole table file behind."""
        elf = Path(path).read_bytes()
        file = Path(self.tmp) / "broken"
        kinds = {
            "not an ELF file": b"#!/bin/sh\n",
            "not made for x86_64 or arm64": elf[:18] + b"\xf3\0" + elf[20:],
            "neither a program nor a shared library": elf[:16] + b"\1\0" + elf[18:],
            "ends inside the ELF header": elf[:60],
        }
        for text, data in kinds.items():
            file.write_bytes(data)
            self.expect(text, self.run(file), 1, text)
            said = json.loads(self.run("--json", file)[1])["files"][0]
            self.check(f"{text}, as JSON", text in said["error"] and "output" not in said, f"{said}")
        for part in range(40):
            file.write_bytes(elf[:part * len(elf) // 40])
            status, _, err, written = self.run(file)
            # The last bytes are section headers: without them, segments lead to .eh_frame.
            good = status == 1 and err and not written or \
                part > 35 and status == 0 and not err and written == ["broken.sframe"]
            self.check(f"{part} of 40 parts", good, f"{status} {err} {written}")
        file.unlink()

    def test_many_plts(self, path):
        """A file of nothing but PLTs, each of 16 MiB, costs no more time than a few of them."""
        elf = bytearray(Path(path).read_bytes())
        names = b"\0.plt\0.shstrtab\0"
        code, size, nr = (len(elf) + 4095) // 4096 * 4096, 16 << 20, 60000

        def header(name, kind, flags, off, size):
            return struct.pack("<IIQQQQIIQQ", names.find(name), kind, flags, off, off, size, 0, 0, 16, 0)

        struct.pack_into("<Q", elf, 0x28, code + size)
        struct.pack_into("<HHH", elf, 0x3a, 64, nr, nr - 1)
        headers = bytes(64) + (nr - 2) * header(b".plt", 1, 6, code, size)
        at = code + size + 64 * nr
        file = Path(self.tmp) / "plts"
        with open(file, "wb") as out:
            out.write(elf)
            out.seek(code + size)
            out.write(headers + header(b".shstrtab", 3, 0, at, len(names)) + names)
        self.expect("many PLTs", self.run(file, preexec_fn=limit_work), 0, "plts", written=["plts.sframe"])
        file.unlink()

    def test_by_content(self, path):
        key = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        self.expect("by content", self.run(path, place="--store"), 0, path, written=[key + ".sframe"])
        file = Path(self.tmp) / "sparse"
        file.write_bytes(Path(path).read_bytes())
        os.truncate(file, 1 << 40)
        self.expect("1 TiB by content", self.run(file, place="--store", preexec_fn=limit_work), 1,
                    "larger than 1 GiB: it is not converted by content")
        self.expect("1 TiB", self.run(file), 0, "sparse", written=["sparse.sframe"])
        file.unlink()

    def test_stripped(self, path):
        """Without section headers, PT_GNU_EH_FRAME and PT_NOTE lead to the same data."""
        folder = Path(self.tmp) / "stripped"
        folder.mkdir()
        copy = folder / Path(path).name
        elf = bytearray(Path(path).read_bytes())
        elf[0x28:0x30] = bytes(8)
        elf[0x3c:0x40] = bytes(4)
        copy.write_bytes(elf)
        tables = []
        for file in path, copy:
            said = self.convert(file)
            tables.append(Path(said["output"]).read_bytes() if said else None)
        self.check(f"{path}: without section headers", tables[0] and tables[0] == tables[1], "it has another table")

    def test_command(self, path):
        name = Path(path).name + ".sframe"
        self.expect("one file", self.run(path), 0, path, written=[name])
        self.expect("vDSO", self.run("[vdso]"), 0, "[vdso]", written=["[vdso].sframe"])
        self.expect("two files of a name", self.run(path, path), 1, "a file of the same name", written=[name])
        self.expect("a bad file and a good one", self.run("/none", path), 1, "/none: No such file", written=[name])
        self.expect("a directory", self.run("/usr"), 1, "/usr: not a regular file")
        self.expect("no file", self.run(), 2, "convert needs a FILE")
        self.expect("a bad option", self.run("-x", path), 2, "-x: no such option")
        self.expect("no value", self.run(path, "-o"), 2, "-o: takes a value")
        self.expect("no directory", self.run("-o", "/none", path), 1, "cannot write: No such file or directory")
        self.expect("disk full", self.run(path, preexec_fn=forbid_writes), 1, "cannot write: File too large")
        odd = Path(self.tmp) / "a\x1b[2Jb"
        odd.write_bytes(Path(path).read_bytes())
        status, out, err, _ = self.run(odd)
        self.check("a name with an escape", status == 0 and "\x1b" not in out + err, f"{status} {out!r} {err!r}")
        shown, terminal = os.openpty()
        with tempfile.TemporaryDirectory(dir=self.tmp) as folder:
            subprocess.run([self.sframectl, "convert", "-o", folder, path, odd], stderr=terminal,
                           stdout=subprocess.DEVNULL, check=True)
        os.close(terminal)
        text = read_terminal(shown)
        self.check("progress", b"\r2 of 2 files\r\n" in text, f"{text}")

    def add(self, arch, said, compared):
        sums = self.sums.setdefault(arch, {})
        numbers = {key: value for key, value in said.items() if isinstance(value, int)}
        for key, value in {"files": 1, **numbers, **compared}.items():
            sums[key] = sums.get(key, 0) + value

    def report(self):
        print("#        files functions      rows    addresses  differences        code  covered  size")
        for arch in ARCHES.values():
            sums = self.sums.get(arch, {"files": 0})
            if not self.check(f"{arch}: {self.least} files at least", sums["files"] >= self.least, f"{sums['files']}"):
                continue
            size = sums["table_size"] / (sums["eh_frame_size"] + sums["eh_frame_hdr_size"])
            covered = 100 * sum(sums[f"{kind}_bytes"] for kind in ("default", "flex", "plt")) / sums["described_bytes"]
            print(f"# {arch:5} {sums['files']:6} {sums['functions']:9} {sums['rows']:9} {sums['addresses']:12} "
                  f"{sums['differences']:12} {sums['described_bytes']:11} {covered:7.3f}% {size:5.3f}")
            least, most = (LIMITS if sums["files"] >= MANY else LIMITS_OF_FEW)[arch]
            self.check(f"{arch}: {least} % of the code are covered", covered >= least, f"{covered:.3f} %")
            self.check(f"{arch}: the tables have {most} of the size of .eh_frame at most", size <= most, f"{size:.3f}")


def run(choice, tap, sframectl, program):
    files = [place for place in choice["places"] if os.path.isfile(place)]
    dirs = [place for place in choice["places"] if os.path.isdir(place)]
    with tempfile.TemporaryDirectory() as tmp:
        tests = Tests(choice, tap, sframectl, program, tmp)
        tests.check("all places are there", len(files) + len(dirs) == len(choice["places"]), f"{choice['places']}")
        for path in files:
            tests.test_file(arch_of(path), path)
        if choice["clang"]:
            tests.test_plts()
            tests.test_chachas()
            tests.test_debug_frame()
            tests.test_command(files[0])
            tests.test_hostile(files[0])
            tests.test_many_plts(files[0])
            tests.test_by_content(files[0])
            tests.test_stripped(files[0])
        for arch, path in find_files(dirs):
            tests.test_file(arch, path)
        tests.report()
