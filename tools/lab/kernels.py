# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernels: Debian's packages, their headers and sources, and debug kernels that are built here."""

import os
import re

from .archive import archive, cache
from .cache import remove
from .host import TREE, Failed, run, say
from .roots import build_inside, kernel_root, root, run_inside
from .sources import linux
from .unpack import unpack_debs


def release(kernel):
    if kernel.is_debug:
        return (packages(kernel) / "build/include/config/kernel.release").read_text().strip()
    return archive.record(kernel).release_of(kernel.arch, kernel.flavour)


# ---- headers -------------------------------------------------------------------------------------------------

def kdir(kernel):
    """Return the directory of the kernel's headers. A path under build/ is the same inside and outside of the root."""
    if kernel.is_debug:
        return packages(kernel) / "build"
    record = archive.record(kernel)
    name = f"linux-headers-{record.release_of(kernel.arch, kernel.flavour)}"
    if kernel.arch == "amd64" and not kernel.flavour and record.is_of_root():
        return f"/usr/src/{name}"
    path = cache.made(f"headers-{kernel}", f"3 {name.removeprefix('linux-headers-')} {record.version}",
                      lambda folder: make_headers(folder, name, kernel.arch, record))
    return path / "usr/src" / name


def make_headers(folder, name, arch, record):
    """Unpack the headers, with kbuild's programs for amd64 beside them."""
    package, version, packages_of = f"{name}:{arch}", record.version, archive.of(record.series)
    # These are the common headers and kbuild.
    more = [f"{other}={version}" for other in packages_of.depends_of(package, version)
            if other.startswith(("linux-headers-", "linux-kbuild-"))]
    packages_of.download(folder, f"{package}={version}", *more)
    unpack_debs(folder, folder)
    # Without a vmlinux, the build skips the module's BTF, and needs no pahole.
    for vmlinux in folder.glob("usr/src/*/vmlinux"):
        vmlinux.unlink()
    merge_lib(folder)
    # These Makefiles name their own paths under /usr/src: make the paths relative.
    makefile = folder / "usr/src" / name / "Makefile"
    text = re.sub(rf"/usr/src/{re.escape(name)}$", "$(CURDIR)", makefile.read_text(), flags=re.MULTILINE)
    makefile.write_text(text.replace("/usr/src/", "$(CURDIR)/../"))


def merge_lib(folder):
    """Some packages have their files in /lib, others in /usr/lib: move all to /usr/lib."""
    if (folder / "lib").is_dir():
        run("cp", "-al", f"{folder}/lib/.", f"{folder}/usr/lib/")
        remove(folder / "lib")


# ---- Debian's packages ---------------------------------------------------------------------------------------

def packages(kernel):
    """Return the directory of the kernel's packages and the perf of its release, unpacked: vmlinuz, lib/modules,
    usr/bin/perf. perf is not installed in the root, because only one version of linux-perf fits there."""
    if kernel.is_debug:
        return debug_kernel(kernel)
    record = archive.record(kernel)
    name = release(kernel)
    # The key has perf's version only if it is another.
    return cache.made(f"kernel-{kernel}", f"3 {name} {record.version}{record.perf.removeprefix(record.version)}",
                      lambda folder: make_kernel(folder, name, kernel.arch, record))


def make_kernel(folder, name, arch, record):
    # In newer kernels linux-image-* is empty and depends on the other packages.
    wanted = [f"{package}-{name}:{arch}" for package in ("linux-image", "linux-binary", "linux-modules", "linux-base")]
    packages_of = archive.of(record.series)
    wanted = [f"{package}={record.version}" for package in wanted if packages_of.version_of(package)]
    packages_of.download(folder, *wanted)
    archive.download(folder, f"linux-perf:{arch}={record.perf}")
    unpack_debs(folder, folder)
    merge_lib(folder)
    (folder / "lib").symlink_to("usr/lib")
    image = [path for path in folder.rglob("vmlinuz*") if path.name in ("vmlinuz", f"vmlinuz-{name}")]
    image[0].rename(folder / "vmlinuz")
    remove(folder / "usr/share")
    say(f"indexing the modules of {name}")
    run_inside(root, "depmod", "-b", folder, name)


# ---- debug kernels -------------------------------------------------------------------------------------------

def debug_kernel(kernel):
    """As packages(), but the kernel is built here from that series' source; its build directory is kept."""
    plain, builder, config = kernel.plain(), kernel_root(), debug_config(kernel)
    source, stock = linux(plain), packages(plain)
    return cache.made(f"debug-{kernel._replace(is_debug=False)}",
                      f"2 {source.name} {stock.name} {builder.name} {config}",
                      lambda folder: make_debug_kernel(folder, kernel, source, stock, config))


def debug_config(kernel):
    """Return the options of that debug kernel. A later file overrides the options of an earlier one."""
    names = ["debug"] + ["debug-arm64"] * (kernel.arch == "arm64") + [f"debug-{kernel.flavour}"] * bool(kernel.flavour)
    options = {}
    for name in names:
        text = (TREE / f"tools/lab/configs/{name}.config").read_text()
        for line, option in re.findall(r"^((?:# )?(CONFIG_[A-Z0-9_]+).*)", text, re.MULTILINE):
            options[option] = line
    # Before 6.13, PREEMPT_RT is an alternative to PREEMPT. Later kernels want both.
    if (kernel.series, kernel.flavour) == ("6.12", "rt"):
        options.pop("CONFIG_PREEMPT", None)
    return "\n".join(options.values())


def make_debug_kernel(folder, kernel, source, stock, config):
    say(f"building the debug kernel of {kernel.plain()}, for a quarter of an hour")
    cross, image = [], "arch/x86/boot/bzImage"
    if kernel.arch == "arm64":
        cross, image = ["ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-"], "arch/arm64/boot/Image"
    build = folder / "build"
    build.mkdir()

    def make(*words):
        build_inside(kernel_root, folder / "make.log", "make", "-C", source, f"O={build}", *cross, *words, tail=50)

    (build / ".config").write_text(f"{config}\n")
    make("olddefconfig")
    # olddefconfig drops an option without a message if its dependencies are missing.
    got = set((build / ".config").read_text().splitlines())
    missing = [line for line in config.splitlines() if line.startswith("CONFIG") and line not in got]
    if missing:
        raise Failed(f"the source of {kernel.plain()} has no {' '.join(missing)}")
    make(f"-j{os.cpu_count()}", image.rpartition("/")[2], "modules")
    (build / image).rename(folder / "vmlinuz")
    # Take perf from the stock kernel, without its modules.
    run("cp", "-al", stock / "usr", folder / "usr")
    remove(folder / "usr/lib/modules")
    (folder / "lib").symlink_to("usr/lib")
    make(f"INSTALL_MOD_PATH={folder}", "modules_install")
    for link in folder.glob("lib/modules/*/build"):
        link.unlink()
    # A module's build needs none of the objects here. The Makefile uses its own directory, because the build is moved.
    run("find", build, "-name", "*.[oa]", "-delete")
    (build / "Makefile").write_text("".join(f"export {word}\n" for word in cross)
                                    + f"export KBUILD_OUTPUT := $(CURDIR)\ninclude {source}/Makefile\n")
