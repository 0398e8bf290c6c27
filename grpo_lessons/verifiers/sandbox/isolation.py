"""What is taken from a program before it runs: the machine's files, network and processes, and its privileges.

Linux namespaces, by hand, since `os.unshare` came with Python 3.12. Without root they live in a user
namespace of their own.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sysconfig
from pathlib import Path

NOBODY = 65534
WORK = "/work"  # the program's directory, inside the root that `enter_namespaces` builds
MEBIBYTE = 1 << 20

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 0x1000, 0x4000, 0x40000
SYS_MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE = 442, -100, 0x8000  # the same number on every architecture
SYS_CAPSET = {"x86_64": 126, "aarch64": 91}
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38

libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    texts = [text.encode() if text is not None else None for text in (source, target, kind)]
    _check(libc.mount(*texts, ctypes.c_ulong(flags), data.encode() if data else None), f"mount {target}")


def enter_namespaces() -> bool:
    """Own mounts, network, IPC and host name, and a root with next to nothing, for this process and its children.

    False where the system refuses: not a Linux, a container without the right, user namespaces switched off.
    """
    if not hasattr(libc, "unshare"):
        return False
    try:
        _unshare()
        _enter_small_root()
    except OSError:
        return False
    return True


def _unshare() -> None:
    """As root directly; without the right to do so, inside a user namespace in which this user is nobody."""
    user, group = os.geteuid(), os.getegid()
    flags = NEWNS | NEWNET | NEWIPC | NEWUTS
    if user != 0 or libc.unshare(flags) != 0:
        _check(libc.unshare(flags | NEWUSER), "unshare")
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{NOBODY} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{NOBODY} {group} 1")
    mount(None, "/", None, MS_REC | MS_PRIVATE)


def _enter_small_root() -> None:
    """A read-only root that holds Python's standard library, the system's shared libraries and /dev/null."""
    prefix, stdlib = Path(sysconfig.get_config_var("installed_base")), Path(sysconfig.get_path("stdlib"))
    shown = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", str(prefix / "lib"), str(stdlib), "/usr/share/zoneinfo"]
    hidden = [stdlib / "site-packages", stdlib / "dist-packages", Path("/usr/lib/python3/dist-packages")]
    root = next((place for place in ("/mnt", "/media", "/tmp") if _clear_of(place, shown)), None)
    if root is None:
        raise OSError("no directory to build a root on")
    mount("tmpfs", root, "tmpfs", MS_NOSUID, "size=1m,mode=755")
    for source in shown:
        target = Path(root + source)
        if os.path.islink(source):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(os.readlink(source))
        elif os.path.isdir(source) and not target.exists():
            target.mkdir(parents=True)
            mount(source, str(target), None, MS_BIND | MS_REC)
    for place in hidden:
        if os.path.isdir(root + str(place)):
            mount("tmpfs", root + str(place), "tmpfs", MS_NOSUID | MS_RDONLY, "size=4k")
    for place in (WORK, "/dev"):
        os.mkdir(root + place)
    Path(root + "/dev/null").touch()
    mount("/dev/null", root + "/dev/null", None, MS_BIND)
    attributes = (ctypes.c_uint64 * 4)(MS_RDONLY | MS_NOSUID, 0, 0, 0)
    _check(
        libc.syscall(SYS_MOUNT_SETATTR, AT_FDCWD, root.encode(), AT_RECURSIVE, attributes, ctypes.sizeof(attributes)),
        "read-only root",
    )
    os.chroot(root)
    os.chdir("/")


def _clear_of(place: str, sources: list[str]) -> bool:
    return os.path.isdir(place) and not any(os.path.realpath(source).startswith(place + "/") for source in sources)


def enter_program_namespaces() -> None:
    """For one program: an empty directory in memory, and processes that end with their first one."""
    _check(libc.unshare(NEWNS | NEWPID), "unshare")
    options = f"size=16m,nr_inodes=256,mode=700,uid={NOBODY},gid={NOBODY}"
    mount("tmpfs", WORK, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options)


def hide_memory() -> None:
    """No other process of the same user reads this one's memory or environment through /proc."""
    if hasattr(libc, "prctl"):
        libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def die_with_parent() -> None:
    """SIGKILL when the parent ends (Linux); a change of user takes this back."""
    if hasattr(libc, "prctl"):
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def limit(*, seconds: int, memory_mb: int) -> None:
    """Resource limits, soft and hard. What this system does not know is left out (see `verify_code`)."""
    wanted = {
        "RLIMIT_CPU": seconds,
        "RLIMIT_AS": memory_mb * MEBIBYTE,
        "RLIMIT_FSIZE": 4 * MEBIBYTE,
        "RLIMIT_NOFILE": 32,
        "RLIMIT_CORE": 0,
        "RLIMIT_NPROC": 0,  # neither processes nor threads
    }
    for name, value in wanted.items():
        if hasattr(resource, name):
            try:
                resource.setrlimit(getattr(resource, name), (value, value))
            except (ValueError, OSError):
                if name != "RLIMIT_AS" or os.uname().sysname == "Linux":  # macOS refuses this one
                    raise


def drop_privileges() -> None:
    """Root becomes nobody; every capability goes; nothing gives any back."""
    if os.geteuid() == 0:
        with contextlib.suppress(PermissionError):  # a root without capabilities can only stay what it is
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
    if os.uname().sysname != "Linux":
        return
    _check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    if number := SYS_CAPSET.get(os.uname().machine):
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # the interface's third version; this process
        _check(libc.syscall(number, header, (ctypes.c_uint32 * 6)()), "capset")
