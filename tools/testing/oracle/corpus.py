# SPDX-License-Identifier: GPL-2.0-or-later
"""The corpus of tools/testing/oracle/run: packages of Debian 13, and how a program or library of each is compiled.

The flags differ from package to package to get different prologues, PLTs and gaps. CET makes a .plt.sec, ibtplt
another form of .plt, and stack clash protection makes CFAs in uncommon registers.
"""

from typing import NamedTuple


class Package(NamedTuple):
    file: str  # what is linked; a library if its name ends with .so
    sources: str  # patterns, in the package's directory; @ is the directory that is prepared for the package
    flags: str
    libs: str = ""
    amd64: str = ""  # flags for one architecture
    arm64: str = ""
    without: str = ""  # patterns: sources that are left out


CET = "-fcf-protection=full"
PAC = "-mbranch-protection=standard"
PAC_B = "-mbranch-protection=pac-ret+b-key"

XZ = """STDBOOL_H STDINT_H INTTYPES_H ENCODERS DECODERS LZIP_DECODER CHECK_CRC32 CHECK_CRC64 CHECK_SHA256 MF_HC3 MF_HC4
    MF_BT2 MF_BT3 MF_BT4 ENCODER_LZMA1 ENCODER_LZMA2 ENCODER_DELTA ENCODER_X86 ENCODER_ARM64 DECODER_LZMA1 DECODER_LZMA2
    DECODER_DELTA DECODER_X86 DECODER_ARM64""".split()
XZ_PARTS = "check common delta lz lzma rangecoder simple".split()

# The packages that take longest come first.
PACKAGES = {
    "sqlite3": Package("sqlite3", "@/sqlite3.c @/shell.c", "-O2 -I@ -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_RTREE",
                       libs="-lm", arm64=PAC),
    "libzstd": Package("libzstd.so", "lib/common/*.c lib/compress/*.c lib/decompress/*.[cS] lib/dictBuilder/*.c",
                       "-O2 -DZSTD_MULTITHREAD -DXXH_NAMESPACE=ZSTD_"),
    "yaml-cpp": Package("libyaml-cpp.so", "src/*.cpp src/contrib/*.cpp", "-O2 -Iinclude",
                        amd64=f"{CET} -Wl,-z,ibtplt", arm64=PAC_B),
    "xz-utils": Package("liblzma.so", "src/liblzma/*/*.c src/common/tuklib_cpucores.c src/common/tuklib_physmem.c",
                        " ".join(["-O2 -Isrc/common -Isrc/liblzma/api", *(f"-Isrc/liblzma/{part}" for part in XZ_PARTS),
                                  *(f"-DHAVE_{part}" for part in XZ),
                                  "-DMYTHREAD_POSIX -DTUKLIB_SYMBOL_PREFIX=lzma_ -DTUKLIB_PHYSMEM_SYSCONF",
                                  "-DTUKLIB_CPUCORES_SYSCONF -DASSUME_RAM=128 -DSIZEOF_SIZE_T=8",
                                  "-DTUKLIB_FAST_UNALIGNED_ACCESS"]),
                        amd64=f"{CET} -fstack-clash-protection",
                        without="src/liblzma/api/* *_tablegen.c *_small.c *_gen.c"),
    "libpng1.6": Package("libpng.so", "png*.c arm/*.c intel/*.c", "-O3 -I@", amd64="-mavx2"),
    "fmtlib": Package("libfmt.so", "src/format.cc src/os.cc", "-O3 -Iinclude"),
    "lua5.4": Package("lua", "src/*.c", "-O2 -I@ -DLUA_USE_LINUX", libs="-lm -ldl -Wl,-E", without="src/luac.c"),
    "zlib": Package("libz.so", "*.c", "-O2 -DHAVE_UNISTD_H -DHAVE_HIDDEN", amd64=f"{CET} -Wl,-z,ibtplt", arm64=PAC),
    "lz4": Package("lz4", "lib/*.c programs/*.c", "-O2 -Ilib -DXXH_NAMESPACE=LZ4_ -fstack-clash-protection"),
    "xxhash": Package("xxhsum", "xxhash.c cli/*.c", "-O3 -fno-plt", amd64="-mavx2"),
    "libyaml": Package("libyaml.so", "src/*.c",
                       "-Os -Iinclude -DYAML_VERSION_MAJOR=0 -DYAML_VERSION_MINOR=2 -DYAML_VERSION_PATCH=5 "
                       '-DYAML_VERSION_STRING="0.2.5"', arm64=PAC),
    "bzip2": Package("bzip2", "blocksort.c bzip2.c bzlib.c compress.c crctable.c decompress.c huffman.c randtable.c",
                     "-O2 -D_FILE_OFFSET_BITS=64", arm64=PAC_B),
    "tinyxml2": Package("xmltest", "tinyxml2.cpp xmltest.cpp", "-O2", amd64=CET, arm64=PAC),
    "cjson": Package("libcjson.so", "cJSON.c cJSON_Utils.c", "-O2 -fno-omit-frame-pointer", libs="-lm"),
}
FIXED = ("zlib", "lz4", "tinyxml2")

PRODUCERS = {"v1": "V1", "v2": "V2", "v3": "V3", "clang": "V2-PCREL"}  # and the version that each writes
ARCHES = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}


def prepare(name, source, folder, run):
    """Fill the folder with the files that the package's compilation needs. source: the packages' directories."""
    if name == "libpng1.6":
        run("cp", f"{source[name]}/scripts/pnglibconf.h.prebuilt", f"{folder}/pnglibconf.h")
        run("cp", f"{source['zlib']}/zconf.h", f"{source['zlib']}/zlib.h", folder)
    elif name == "lua5.4":
        (folder / "lua5.4-deb-multiarch.h").write_text('#define DEB_HOST_MULTIARCH "any"\n')
    elif name == "sqlite3":
        run(f"{source[name]}/configure", "--disable-tcl", "--quiet", cwd=folder)
        run("make", "-s", "sqlite3.c", "shell.c", cwd=folder)
