"""A seccomp filter: the system calls that a program may not make, whatever it does (Linux, x86-64 and ARM64).

A refused call fails with EPERM. The filter is a list of what is forbidden, not of what is allowed, so that a
new C library keeps working; numbers from the kernel's unistd tables.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys

# What a program is refused in every case. Pairs: x86-64, ARM64 (0: does not exist there).
ALWAYS = {
    "socket": (41, 198),
    "clone": (56, 220),
    "fork": (57, 0),
    "vfork": (58, 0),
    "clone3": (435, 435),
    "execve": (59, 221),
    "execveat": (322, 281),
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "prlimit64": (302, 261),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "fsopen": (430, 430),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "mount_setattr": (442, 442),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "open_by_handle_at": (304, 265),
}
# Refused as well where the file system could not be taken away: no file is opened, made, changed or removed.
FILES = {
    "open": (2, 0),
    "creat": (85, 0),
    "openat": (257, 56),
    "openat2": (437, 437),
    "mkdir": (83, 0),
    "mkdirat": (258, 34),
    "mknod": (133, 0),
    "mknodat": (259, 33),
    "link": (86, 0),
    "linkat": (265, 37),
    "symlink": (88, 0),
    "symlinkat": (266, 36),
    "rename": (82, 0),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "unlink": (87, 0),
    "unlinkat": (263, 35),
    "rmdir": (84, 0),
    "truncate": (76, 45),
    "chmod": (90, 0),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, 0),
    "lchown": (94, 0),
    "fchownat": (260, 54),
    "utime": (132, 0),
    "utimes": (235, 0),
    "futimesat": (261, 0),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "readlink": (89, 0),
    "readlinkat": (267, 78),
    "inotify_init1": (294, 26),
    "fanotify_init": (300, 262),
}
# machine -> (column of the tables, AUDIT_ARCH constant, first number of a second table: x32's calls)
MACHINES = {"x86_64": (0, 0xC000003E, 0x40000000), "aarch64": (1, 0xC00000B7, 0xFFFFFFFF)}

LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06  # the four instructions of the filter
KILL, REFUSE, ALLOW = 0x80000000, 0x00050000 | errno.EPERM, 0x7FFF0000
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, MODE_FILTER = 22, 38, 2


def build(machine: str, *, files: bool) -> bytes:
    """The filter's program. files: False refuses the file system too. KeyError for an unknown machine."""
    column, architecture, limit = MACHINES[machine]
    tables = ALWAYS if files else ALWAYS | FILES
    numbers = sorted({pair[column] for pair in tables.values() if pair[column]})
    instructions = [
        (LOAD, 0, 0, 4),  # the architecture of the call
        (EQUAL, 1, 0, architecture),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, 0),  # its number
        (AT_LEAST, len(numbers) + 1, 0, limit),
    ]
    # each test jumps over the remaining tests and the line that allows
    instructions += [(EQUAL, len(numbers) - i, 0, number) for i, number in enumerate(numbers)]
    instructions += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]
    return b"".join(struct.pack("HBBI", *instruction) for instruction in instructions)


def install(*, files: bool) -> None:
    """Put the filter on this process for good. OSError where the kernel refuses."""
    program = build(platform.machine(), files=files)

    class Filter(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]

    libc = ctypes.CDLL(None, use_errno=True)
    argument = Filter(len(program) // 8, program)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
        PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(argument), 0, 0
    ):
        raise OSError(ctypes.get_errno(), "the system call filter was refused")


def available() -> bool:
    """Whether `install` works here; tried in a child, since a filter stays."""
    if sys.platform != "linux" or platform.machine() not in MACHINES or struct.calcsize("P") != 8:
        return False
    child = os.fork()
    if child == 0:
        try:
            install(files=False)
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0
