# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of sframectl with files that lie about their size, change, or have no data."""

import fcntl
import os
import re
import resource
import signal
import struct
import subprocess
from pathlib import Path

PIPE_SIZE = 4096
SHT_PROGBITS, SHT_STRTAB = 1, 3
PT_GNU_SFRAME = 0x6474e554
NAMES = b"\0.sframe\0.shstrtab\0"
SPARSE_SIZE = 1 << 40

# A file that costs more fails the test: its sparse parts have hundreds of gigabytes.
MAX_SECONDS = 20
MAX_MEMORY = 1 << 30


def sframe_header(num_fdes, fre_len):
    """A sound header of version 3 for amd64. Each FDE has 16 bytes."""
    return struct.pack("<HBBBbbBIIIII", 0xdee2, 3, 4, 3, 0, -8, 0, num_fdes, 1, fre_len,
                       0, 16 * num_fdes)


def section_header(name, kind, off, size, link=0, info=0, addr=None):
    return struct.pack("<IIQQQQIIQQ", NAMES.find(name), kind, 2, off if addr is None else addr, off, size, link,
                       info, 1, 0)


def sparse_elf(path, data, size, sections=3, addr=4096):
    """Writes an ELF file of 1 TiB whose .sframe has this size and address, and begins with data.
    More than 3 sections: section 0 has their number, as the ELF header has no room for it."""
    extended = sections > 3
    ident = b"\x7fELF\2\1\1" + bytes(9)
    ehdr = struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, 64, 0, 64, 56, 0, 64,
                       0 if extended else 3, 2)
    table = (section_header(b"\0", 0, 0, sections if extended else 0),
             section_header(b".sframe", SHT_PROGBITS, 4096, size, addr=addr),
             section_header(b".shstrtab", SHT_STRTAB, 256, len(NAMES)))
    with open(path, "wb") as file:
        file.write(ident + ehdr + b"".join(table))
        file.seek(256)
        file.write(NAMES)
        file.seek(4096)
        file.write(data)
        file.truncate(SPARSE_SIZE)


def costs(program, *args):
    """Runs a program. Returns what it cost too much, as strings."""
    limit = (MAX_SECONDS, MAX_SECONDS)
    with subprocess.Popen([program, *args], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, limit)
                          ) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    errors = []
    if process.returncode not in (0, 1):
        errors.append(f"status {process.returncode}")
    if used.ru_maxrss > MAX_MEMORY >> 10:
        errors.append(f"{used.ru_maxrss >> 10} MiB of memory")
    return errors


def sparse(cli, tmp):
    path = tmp / "sparse"
    huge = sframe_header((1 << 28) - 1, 1 << 30)
    sparse_elf(path, huge, 6 << 30)
    for command in ("check", "dump"):
        cli(f"{command} sparse", command, path, status=1, err="its .sframe is larger than 128 MiB: no program needs so much")
    cli.end("cost of 6 GiB of .sframe", costs(cli.program, "check", path))

    # The largest .sframe that is read: its FDEs have no rows.
    size = 128 << 20
    sparse_elf(path, sframe_header((size - 28) // 16, 0), size)
    cli.end("cost of the largest .sframe", costs(cli.program, "check", path))

    sparse_elf(path, huge, 4096, sections=(1 << 32) - 1)
    cli("check sparse section table", "check", path, status=1, err="has more headers than any program; it is damaged")
    sparse_elf(path, huge, 4096, sections=1 << 25)
    cli.end("cost of a sparse section table", costs(cli.program, "check", path))
    sparse_elf(path, sframe_header(0, 0), 28, sections=(1 << 18) + 1)
    cli("check large section table", "check", path, status=1, err="more headers than any program")
    sparse_elf(path, sframe_header(0, 0), 28, sections=1 << 18)
    cli.end("cost of the largest section table", costs(cli.program, "check", path))

    path.write_bytes(b"")
    os.truncate(path, SPARSE_SIZE)
    cli("check sparse without ELF", "check", path, status=1, err="too large for a bare section")
    path.unlink()


def shrinking(cli, tmp, blob):
    """The dump is complete, though the file becomes empty after the first byte of output:
    the pipe is full then, and dump waits."""
    path = tmp / "shrinking"
    path.write_bytes((blob + bytes(-len(blob) % 8)) * 4000)
    whole = subprocess.run([cli.program, "dump", path], capture_output=True, check=True).stdout
    output, into = os.pipe()
    # Before dump writes: a pipe does not become smaller than what is in it.
    fcntl.fcntl(into, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
    with (open(output, "rb") as pipe,
          subprocess.Popen([cli.program, "dump", path], stdout=into,
                           stderr=subprocess.STDOUT) as process):
        os.close(into)
        output = pipe.read(1)
        os.truncate(path, 0)
        output += pipe.read()
    errors = [f"status {process.returncode}"] if process.returncode else []
    if output != whole:
        errors.append(f"{len(output)} bytes, not {len(whole)}: {output[-200:]}")
    cli.end("dump of a file that shrinks", errors)

    # sysfs says 4096 for all of its files, and gives fewer bytes.
    cli("dump became shorter", "dump", "/sys/kernel/uevent_seqnum", status=1,
        err="uevent_seqnum: became shorter while it was read")


def with_size(elf, name, size):
    """Returns the ELF file with another size of this section."""
    elf = bytearray(elf)
    at, = struct.unpack_from("<Q", elf, 40)
    entry_size, nr, names = struct.unpack_from("<HHH", elf, 58)
    names_at, = struct.unpack_from("<Q", elf, at + names * entry_size + 24)
    for header in range(at, at + nr * entry_size, entry_size):
        name_at = names_at + struct.unpack_from("<I", elf, header)[0]
        if elf[name_at:].startswith(name.encode() + b"\0"):
            struct.pack_into("<Q", elf, header + 32, size)
            return elf
    raise ValueError(f"no section {name}")


def with_segment_size(elf, kind, size):
    """Returns the ELF file with another size of this segment."""
    elf = bytearray(elf)
    at, = struct.unpack_from("<Q", elf, 32)
    entry_size, nr = struct.unpack_from("<HH", elf, 54)
    for header in range(at, at + nr * entry_size, entry_size):
        if struct.unpack_from("<I", elf, header)[0] == kind:
            struct.pack_into("<Q", elf, header + 32, size)
            return elf
    raise ValueError(f"no segment of the type {kind:#x}")


def lying(cli, tmp, good):
    """Data that is not all there, or more than any program has."""
    path, elf, program = tmp / "lying", good.read_bytes(), Path(cli.program).read_bytes()
    for what, command, changed, error in (
            (".sframe", "check", with_size(elf, ".sframe", 1 << 30), "its .sframe runs past the end of the file"),
            ("PT_GNU_SFRAME", "check", with_segment_size(elf, PT_GNU_SFRAME, 1 << 30),
             "its PT_GNU_SFRAME runs past the end of the file"),
            (".eh_frame", "convert", with_size(program, ".eh_frame", 1 << 30),
             "its .eh_frame runs past the end of the file")):
        path.write_bytes(changed)
        cli(f"{what} past the end", command, path, status=1, err=f"{error}$")
    path.write_bytes(with_size(program, ".eh_frame", 129 << 20))
    os.truncate(path, SPARSE_SIZE)
    cli(".eh_frame is too large", "convert", path, status=1,
        err="its .eh_frame is larger than 128 MiB: no program has so much$")
    path.unlink()


def leased(cli, tmp, good):
    """Another process has a lease of the file, and does not give it up: it is not waited for."""
    path = tmp / "leased"
    path.write_bytes(good.read_bytes())
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)
    with open(path, "rb+") as file:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        cli("check a leased file", "check", path, status=1, err="leased: Resource temporarily unavailable$")
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    signal.signal(signal.SIGIO, before)


def debug_file(cli, tmp, good):
    """The debug file of a program has all headers of .sframe, but not its bytes."""
    path = tmp / "good.debug"
    subprocess.run(["objcopy", "--only-keep-debug", good, path], check=True)
    cli("check debug file", "check", path, err=None,
        out="^- .*\n *note: debug information only; its .sframe is in the program itself$")
    cli("dump debug file", "dump", path, status=1,
        err="debug information only; its .sframe is in the program itself")


def no_elf(cli, tmp):
    cli("dump missing", "dump", tmp / "missing", status=1, err="No such file")
    cli("dump directory", "dump", tmp, status=1, err="not a regular file")
    cli("check missing", "check", tmp / "missing", cli.good, status=1,
        err="missing: No such file", out="^3 .*" + re.escape(cli.good.name))
    os.mkfifo(tmp / "fifo")
    cli("dump fifo", "dump", tmp / "fifo", status=1, err="not a regular file")
    (tmp / "nothing").write_bytes(b"")
    cli("dump nothing in it", "dump", tmp / "nothing", status=1, err="short",
        out="0 bytes")
    (tmp / "text").write_text("Neither one nor the other, but some text.\n")
    cli("dump text", "dump", tmp / "text", status=1, err="no ELF file.*magic",
        out="bare")
    odd = tmp / 'odd "name"\n\\\udcff'
    odd.write_bytes(cli.good.read_bytes())
    cli("check odd name", "check", "--json", odd,
        as_json=lambda check: check["objects"][0]["file"].endswith(
            'odd "name"\n\\\ufffd'))


def damaged(cli, tmp):
    elf = bytearray(cli.good.read_bytes())
    path = tmp / "elf"
    shoff = slice(40, 48)

    cli("check good", "check", cli.good, out=r"^3 +AMD64 +sorted,pcrel +yes .* 0 own ")
    cli("check --json good", "check", "--json", cli.good,
        as_json=lambda check: check["objects"][0]["unwound_by"] == "own")
    path.write_bytes(elf[:60])
    cli("dump half a header", "dump", path, status=1, err="ELF header")
    cut = elf.copy()
    cut[shoff] = bytes(8)
    path.write_bytes(cut)
    cli("dump without sections", "dump", path, out="PT_GNU_SFRAME at")
    bare = cut.copy()
    bare[60:64] = bytes(4)      # the number of section headers, and that of the one with their names
    path.write_bytes(bare)
    cli("check without sections", "check", path, out=f"^3 .* 525/{0x365} .* own ")
    # The number of section headers alone does not say that there are some: the ELF header is none.
    path.write_bytes(cut)
    cli("check section headers at 0", "check", path, out=f"^3 .* 525/{0x365} .* own ")
    cut[cut.index(bytes.fromhex("54 e5 74 64 04"))] = 0x50
    path.write_bytes(cut)
    cli("dump without .sframe", "dump", path, status=1, err="no .sframe")
    cli("check without .sframe", "check", path, out="^- .* 0 none .*\n0 of 1 objects")
    for what, value in (("huge", b"\xff" * 8), ("beyond", len(elf).to_bytes(8, "little"))):
        cut = elf.copy()
        cut[shoff] = value
        path.write_bytes(cut)
        cli(f"dump {what} section table", "dump", path, out="PT_GNU_SFRAME at")
    path.write_bytes(elf[:4] + b"\x09" + elf[5:])
    cli("dump class 9", "dump", path, status=1, err="ELF class is neither 32 nor 64 bit$")
    path.write_bytes(elf[:6] + b"\x09" + elf[7:])
    cli("dump version 9", "dump", path, status=1, err="ELF version is not 1$")
    path.write_bytes(elf[:5] + b"\x09" + elf[6:])
    cli("dump byte order 9", "dump", path, status=1, err="ELF byte order is neither little nor big endian$")


def cut_off(cli, tmp):
    """No part of a file is taken for all of it, with section headers and without them."""
    elf, path = (cli.build / "test_sha256").read_bytes(), tmp / "cut"
    bare = elf[:40] + bytes(8) + elf[48:60] + bytes(4) + elf[64:]
    segments, = struct.unpack_from("<Q", elf, 32)
    nr, = struct.unpack_from("<H", elf, 56)
    loads = [struct.unpack_from("<IIQQQQ", elf, segments + 56 * i) for i in range(nr)]
    end = max(load[2] + load[5] for load in loads if load[0] == 1)
    sections, = struct.unpack_from("<Q", elf, 40)
    for what, data, whole in ("with section headers", elf, sections + 64 * struct.unpack_from("<H", elf, 60)[0]), ("without", bare, end):
        errors = []
        for size in [whole * part // 40 for part in range(1, 40)] + [whole - 1]:
            path.write_bytes(data[:size])
            ran = subprocess.run([cli.program, "check", path], capture_output=True, text=True, check=False)
            if ran.returncode != 1 or "cut: " not in ran.stderr:
                errors.append(f"{size} of {whole} bytes: status {ran.returncode}: {ran.stdout} {ran.stderr}")
        path.write_bytes(data[:whole])
        ran = subprocess.run([cli.program, "check", path], capture_output=True, text=True, check=False)
        if ran.returncode:
            errors.append(f"all {whole} bytes: {ran.stderr}")
        cli.end(f"check of parts of a file, {what}", errors)
    path.write_bytes(cli.good.read_bytes()[:-1])
    cli("check of a file that was cut off", "check", path, status=1,
        err="cut: is cut off: its headers name bytes past the end of the file$")


def empty(cli, tmp):
    """A linker that has discarded all functions leaves a section of no bytes. It describes nothing, and is sound."""
    path = tmp / "empty"
    subprocess.run(["objcopy", "--remove-section=.sframe", "--add-section=.sframe=/dev/null", cli.good, path], check=True)
    cli("check an empty .sframe", "check", path, out="^empty .* 0 [a-z]+ +/")
    cli("check --json an empty .sframe", "check", "--json", path,
        as_json=lambda check: check["objects"][0]["sframe"] and not check["objects"][0]["defects"])
    cli("dump an empty .sframe", "dump", path, out=" 0 bytes$", err="the section is empty: it describes no function$")


def vdso(cli):
    """As convert does, check and dump take the vDSO for a file. No kernel builds it with .sframe."""
    cli("check [vdso]", "check", "[vdso]", out=r"^- .* \[vdso\]$")
    cli("dump [vdso]", "dump", "[vdso]", status=1, err=r"\[vdso\]: no \.sframe$")


def tests(cli):
    cut_off(cli, cli.tmp)
    empty(cli, cli.tmp)
    vdso(cli)
    no_elf(cli, cli.tmp)
    damaged(cli, cli.tmp)
    shrinking(cli, cli.tmp, cli.blob)
    sparse(cli, cli.tmp)
    lying(cli, cli.tmp, cli.good)
    leased(cli, cli.tmp, cli.good)
    debug_file(cli, cli.tmp, cli.good)
