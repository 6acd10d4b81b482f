"""The program behind the module: where it is, and how it is asked.

The query engine runs in a process of its own: what it answers comes back as a file in memory, whose
pages are the columns of the table.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import warnings
from pathlib import Path

from ._errors import Error, NotMeasurableError, ProgramNotFoundError, TruenoWarning

#: Environment variable that names the program.
VARIABLE = "TRUENO_ANALYZE"
NOT_MEASURABLE = 3
_LEADS = ("warning: ", "note: ")


def find():
    """Path of the program: as the environment says, else the one installed with this module, else on the PATH."""
    named = os.environ.get(VARIABLE)
    if named:
        if not os.path.isfile(named):
            raise ProgramNotFoundError(f"{VARIABLE}={named}: there is no such file")
        return named
    name = "trueno-analyze" + (sysconfig.get_config_var("EXE") or "")
    folders = [sysconfig.get_path("scripts"), str(Path(sys.executable).parent)]
    scheme = sysconfig.get_preferred_scheme("user")
    folders.append(sysconfig.get_path("scripts", scheme=scheme))
    # Beside packages that `pip install --target` or `--prefix` put elsewhere.
    package = Path(__file__).resolve().parent
    folders += [str(above / "bin") for above in list(package.parents)[:4]]
    for folder in folders:
        file = os.path.join(folder, name)
        if os.path.isfile(file) and os.access(file, os.X_OK):
            return file
    found = shutil.which(name)
    if found:
        return found
    raise ProgramNotFoundError(
        "there is no program trueno-analyze (hint: install the wheel `trueno-analyze`, "
        f"or name the program in {VARIABLE})"
    )


def version():
    """Version of the program, and what it reads and loads."""
    return ask(["--version"]).decode().strip()


def ask(arguments, *, into=None, fine=(0,)):
    """Runs the program; its standard output, or nothing where that went `into` a file."""
    command = [find(), *map(os.fspath, arguments)]
    environment = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if into is None else into,
        stderr=subprocess.PIPE,
        env=environment,
        check=False,
    )
    said = done.stderr.decode(errors="replace")
    if done.returncode not in fine:
        raise _error(done.returncode, said)
    for line in said.splitlines():
        # Notes are talk; a warning is to be seen.
        if line.startswith(_LEADS[0]):
            warnings.warn(line.removeprefix(_LEADS[0]), TruenoWarning, stacklevel=4)
    return done.stdout if into is None else b""


def memory_file():
    """A file that nobody else sees, gone when it is closed."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("trueno", os.MFD_CLOEXEC), "r+b")
    return tempfile.TemporaryFile()


def _error(code, said):
    lines = [line for line in said.splitlines() if not line.startswith(_LEADS)]
    text = "\n".join(lines).strip().removeprefix("error: ")
    if code < 0:
        text = f"trueno-analyze was ended by signal {-code}" + (f": {text}" if text else "")
    kind = NotMeasurableError if code == NOT_MEASURABLE else Error
    return kind(text or f"trueno-analyze ended with exit code {code}")
