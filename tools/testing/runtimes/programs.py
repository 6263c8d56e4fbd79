# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs whose stacks are judged: what runs, and how much of its stacks has to be complete."""

from typing import NamedTuple


class Program(NamedTuple):
    """
    command  for sh, in the folder that has work/ and what was built. It prints the line "ready" before it is sampled
    goal     so many percent of its stacks are to be complete one day; 0: as many as with the module off
    reached  so many are today: with fewer, the test fails
    build    for sh, in the root with the runtimes and in that folder
    symbol   how a symbol names a frame of the runtime's own list, which the program prints as lines "frame NAME"
    memory   or the file that has these frames, where they have no symbols
    inlines  the compiler may leave out frames of that list
    version  the package whose version the document shows
    advice   what a user can do as long as few of its stacks are complete
    skipped  samples before the first that counts: while a runtime compiles, its code has no table for some seconds
    """

    name: str
    command: str
    goal: float
    reached: float = 0
    build: str = ""
    symbol: str = ""
    memory: str = ""
    inlines: bool = False
    version: str = ""
    advice: str = ""
    skipped: int = 200


GO = "GO111MODULE=off GOFLAGS= GOTOOLCHAIN=local GOCACHE=/tmp/go"
GO_SYMBOL = r"(main\..+?)(?:\.abi0)?"
BARE = "-O2 -fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer"
JAVA = "java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit"
POSTGRES = "exec su postgres -c '/usr/lib/postgresql/17/bin/postgres --single -D pg"
INITDB = """[ -d pg ] || { install -d -o postgres pg &&
    su postgres -c "/usr/lib/postgresql/17/bin/initdb -D '$PWD/pg'" >/dev/null 2>&1; }"""

PROGRAMS = [
    Program("python", "python3 deep.py", 99.5, 99.5, version="python3"),
    Program("python-perf", "python3 -X perf deep.py", 99.5, 99.5, symbol=r"py::([^:]+):.*", version="python3"),
    Program("python-jit", "python3 -X perf_jit deep.py", 99.5, version="python3", advice="leave out ``-X perf_jit``"),
    Program("sbcl", "sbcl --script deep.lisp", 99, 99, memory=r"sbcl\.core$", version="sbcl"),
    Program("go", "./go", 99, 98, build=f"CGO_ENABLED=0 {GO} go build -o go deep.go", symbol=GO_SYMBOL,
            version="golang-go"),
    Program("cgo", "./cgo", 98, 98, build=f"CGO_ENABLED=1 {GO} go build -o cgo cgo.go", symbol=GO_SYMBOL,
            version="golang-go"),
    Program("ocaml", "./ocaml", 95, 95, build="ocamlopt -o ocaml deep.ml", symbol=r"caml(Deep\.\w+?)(?:_\d+)?", version="ocaml-nox"),
    Program("java", f"{JAVA} -cp . Deep", 97, 97, build="javac -d . Deep.java",
            symbol=r".*\bDeep[.:]+(\w+)\(.*", inlines=True, version="openjdk-21-jre-headless", skipped=6000),
    Program("java-fp", f"{JAVA} -XX:+PreserveFramePointer -cp . Deep", 99.9, 99,
            symbol=r".*\bDeep[.:]+(\w+)\(.*", inlines=True, version="openjdk-21-jre-headless"),
    Program("luajit", "luajit deep.lua", 90, 90, version="luajit", advice="``luajit -joff``"),
    Program("php-jit", "php -d opcache.enable_cli=1 -d opcache.jit=tracing -d opcache.jit_buffer_size=64M deep.php", 99,
            version="php8.4-cli", advice="``-d opcache.jit=off``"),
    Program("php", "php deep.php", 99, version="php8.4-cli"),
    Program("node", "node deep.js", 99, 99, version="nodejs"),
    Program("blas-d", "OPENBLAS_NUM_THREADS=1 python3 blas.py float64", 99, version="libopenblas0-pthread"),
    Program("blas-c", "OPENBLAS_NUM_THREADS=1 python3 blas.py complex64", 99, version="libopenblas0-pthread"),
    Program("musl-static", "./musl", 95, build="musl-gcc -O2 -static -o musl deep.c", version="musl-tools"),
    Program("zstd", "echo ready; while :; do zstd -qdc core.zst >/dev/null; done", 99, 75,
            build="zstd -q -1 -o core.zst /usr/lib/sbcl/sbcl.core", version="zstd"),
    Program("guile", "GUILE_AUTO_COMPILE=0 guile deep.scm", 80, 80, version="guile-3.0"),
    Program("qemu-user", "qemu-x86_64 ./static", 80, 80, build="gcc -O2 -static -o static deep.c", version="qemu-user"),
    Program("fpc", "./fpc", 95, 95, build="fpc -v0 -O2 -ofpc deep.pas >/dev/null", version="fp-compiler"),
    Program("c-bare", "./bare", 95, build=f"gcc {BARE} -o bare deep.c", version="gcc",
            advice="leave out ``-fno-asynchronous-unwind-tables``"),
    Program("upx", "./packed", 90, build="gcc -O2 -static -o packed deep.c && upx -q packed >/dev/null", version="upx-ucl",
            advice="unpack it with ``upx -d``"),
    Program("anonymous", "./anon", 90, build="gcc -O2 -o anon anon.c", version="gcc"),
    Program("postgres", f"echo ready; {POSTGRES} -c jit=off postgres' <deep.sql", 99, build=INITDB, version="postgresql-17", skipped=2000),
    Program("postgres-jit", f"echo ready; {POSTGRES} -c jit_above_cost=0 -c jit_debugging_support=on postgres' <deep.sql", 90, 90, build=INITDB,
            version="postgresql-17", skipped=4000),
    Program("ruby", "ruby deep.rb", 99, 99, version="ruby"),
    Program("perl", "perl deep.pl", 99, 99, version="perl"),
    Program("erlang", "erl -noshell +S 1 -s deep start", 0, build="erlc deep.erl", version="erlang-base", advice="``+JPperf true``"),
    Program("erlang-fp", "erl -noshell +S 1 +JPperf true -s deep start", 99, 98, build="erlc deep.erl", version="erlang-base"),
    Program("x265", "echo ready; exec x265 --pools 1 --frame-threads 1 --input noise.y4m -o /dev/null", 99, 75,
            build="python3 noise.py >noise.y4m", version="x265"),
]
