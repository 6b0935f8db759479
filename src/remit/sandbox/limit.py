"""The limits of one process: what is asked for, and setting them on the process itself.

Knows the kernel's calls, and no handler. Invariant: limits are set before the first line of anybody else's code runs, and a
process cannot raise its own.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
from dataclasses import dataclass

__all__ = ["Limits", "can_forbid_processes"]

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38
_SECCOMP_MODE_FILTER = 2
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_EPERM, _ENOSYS = 1, 38
_CLONE_THREAD, _X32_BIT = 0x00010000, 0x40000000
_NUMBER, _ARCHITECTURE, _FIRST = 0, 4, 16
"""Offsets in what a filter sees: the call's number, the machine's kind, the first argument."""

_MACHINES = {
    "x86_64": (0xC000003E, {"fork": 57, "vfork": 58, "clone": 56, "clone3": 435}),
    "aarch64": (0xC00000B7, {"clone": 220, "clone3": 435}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one process may use.

    Args:
        forbids_processes: the kernel refuses to start another one; threads may be started.
        processes: how many its user may have in its namespace; 0 sets no number.
        parent: the process with which it ends.
    """

    cpu_s: int
    memory_bytes: int
    file_bytes: int
    files: int
    forbids_processes: bool = True
    processes: int = 0
    parent: int | None = None

    def set(self) -> None:
        """Put this process under the limits, for good.

        Raises:
            OSError: the kernel does not take one of them; nothing must be run then.
        """
        import resource

        _end_with_parent(self.parent)
        for kind, soft, hard in (
            (resource.RLIMIT_CORE, 0, 0),
            (resource.RLIMIT_CPU, self.cpu_s, self.cpu_s + 1),
            (resource.RLIMIT_FSIZE, self.file_bytes, self.file_bytes),
            (resource.RLIMIT_NOFILE, self.files, self.files),
            (resource.RLIMIT_AS, self.memory_bytes, self.memory_bytes),
        ):
            resource.setrlimit(kind, _within(soft, hard, resource.getrlimit(kind)[1]))
        if self.processes:
            was = resource.getrlimit(resource.RLIMIT_NPROC)[1]
            resource.setrlimit(resource.RLIMIT_NPROC, _within(self.processes, self.processes, was))
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
        if self.forbids_processes:
            _forbid_processes()


def can_forbid_processes() -> bool:
    """Whether the filter that forbids new processes is known for this kind of machine."""
    return platform.machine() in _MACHINES


def _within(soft: int, hard: int, most: int) -> tuple[int, int]:
    """Never above what this process was given itself; -1 is no bound."""
    return (soft, hard) if most < 0 else (min(soft, most), min(hard, most))


def _end_with_parent(parent: int | None) -> None:
    """Be killed when whoever started this is gone, also where that was before now."""
    if parent is None:
        return
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


class _Line(ctypes.Structure):
    _fields_ = (("code", ctypes.c_ushort), ("yes", ctypes.c_ubyte), ("no", ctypes.c_ubyte), ("k", ctypes.c_uint32))


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.POINTER(_Line)))


def _forbid_processes() -> None:
    """Threads may be started, processes not: EPERM; `clone3` is not there, so that C libraries take `clone`."""
    machine, numbers = _MACHINES[platform.machine()]
    refuse, absent, allow = (_RETURN, 0, 0, _REFUSE | _EPERM), (_RETURN, 0, 0, _REFUSE | _ENOSYS), (_RETURN, 0, 0, _ALLOW)
    program = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, machine), refuse, (_LOAD, 0, 0, _NUMBER)]
    if "fork" in numbers:
        program += [(_ANY_BIT, 0, 1, _X32_BIT), refuse]
    for name in ("fork", "vfork"):
        if name in numbers:
            program += [(_EQUAL, 0, 1, numbers[name]), refuse]
    program += [(_EQUAL, 0, 1, numbers["clone3"]), absent, (_EQUAL, 1, 0, numbers["clone"]), allow]
    program += [(_LOAD, 0, 0, _FIRST), (_ANY_BIT, 0, 1, _CLONE_THREAD), allow, refuse]
    lines = (_Line * len(program))(*(_Line(*line) for line in program))
    made = _Filter(len(program), lines)
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(made))


def _prctl(option: int, value: int, more: int = 0) -> None:
    call = ctypes.CDLL(None, use_errno=True).prctl
    call.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)
    if call(option, value, more, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl {option}: {os.strerror(number)}")
