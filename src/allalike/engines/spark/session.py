"""Find or start Spark: the user's session, the active one, or one of our own, made quietly and with clear errors."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike.errors import EngineError, UnsupportedError
from allalike.machine import free_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

__all__ = ["check_pyspark", "clear_errors", "find_context", "find_java", "find_session", "without_warnings"]

_PYSPARK, _JAVA = 4, 17  # the oldest that will do
_INSTALL = 'Install it with `pip install "allalike[spark]"`.'
_INSTALL_JAVA = (
    "Install it, for example with `apt install openjdk-17-jre-headless` (Debian, Ubuntu) or `brew install openjdk@17`"
    " (macOS); JAVA_HOME names it if it is not on the PATH."
)
_own: list[SparkContext] = []


def find_context(session: Any, master: str) -> SparkContext:
    """Return the context of a session, or else the active one, or else a new one with this master.

    An active context that was made here gives way to one with another master.
    """
    check_pyspark()
    from pyspark import SparkContext

    if session is not None:
        return _context_of(session)
    active = SparkContext._active_spark_context
    if active is not None and (active.master == master or active not in _own):
        return active
    find_java()
    _check_reachable(master)
    _stop()
    return _start(master)


def find_session(session: Any, master: str) -> SparkSession:
    """Return a session, or else one of the active context, or of a new one with this master."""
    context = find_context(session, master)
    with without_warnings():
        from pyspark.sql import SparkSession

        if isinstance(session, SparkSession):
            return session
        return SparkSession.getActiveSession() or SparkSession(context)


@contextmanager
def without_warnings() -> Iterator[None]:
    """Let PySpark not warn on pandas 3, none of which is used here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def find_java() -> str:
    """Return the path of the Java that Spark will run on.

    >>> import shutil
    >>> shutil.which("java") is None or find_java().endswith("java")
    True
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home, "bin"))) if home else shutil.which("java")
    if java is None:
        where = f"JAVA_HOME is {home}, where there is none" if home else "there is none on the PATH"
        raise UnsupportedError(f"Spark needs Java {_JAVA} or newer, and {where}. {_INSTALL_JAVA}")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(?:1\.)?(\d+)', said)
    if version is not None and int(version[1]) < _JAVA:
        raise UnsupportedError(f"Spark needs Java {_JAVA} or newer, and {java} is Java {version[1]}. {_INSTALL_JAVA}")
    return java


@contextmanager
def clear_errors() -> Iterator[None]:
    """Say in a sentence why Spark gave up."""
    from py4j.protocol import Py4JError, Py4JNetworkError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, Py4JNetworkError, PySparkException) as error:
        lacking = re.search(r"ModuleNotFoundError: No module named '([\w.]+)'", str(error))
        if lacking:
            raise UnsupportedError(
                f"The executors of Spark do not have {lacking[1]}. Install it on them, or send it along: a zip of a"
                " package with `--py-files`, a packed environment with `--archives`."
            ) from error
        raise EngineError(f"Spark gave up. {_reason(str(error))}") from error


def _reason(text: str) -> str:
    """Find the error of a Python worker in what Spark says, or else the first one of Java."""
    worker = re.search(r"Traceback \(most recent call last\):\n(?:\s.*\n)*(\S.*)", text)
    java = re.search(r"\b(?:\w+\.)+(\w+(?:Exception|Error): .*)", text)
    found = worker or java
    return found[1] if found else text.strip()[-300:]


def check_pyspark() -> None:
    """Refuse to go on without PySpark, or with an old one."""
    try:
        import pyspark
    except ImportError as error:
        raise UnsupportedError(f"The Spark engine needs PySpark, which is not installed. {_INSTALL}") from error
    if int(pyspark.__version__.split(".")[0]) < _PYSPARK:
        raise UnsupportedError(f"The Spark engine needs PySpark 4, and this is {pyspark.__version__}. {_INSTALL}")


def _context_of(session: Any) -> SparkContext:
    from pyspark import SparkContext
    from pyspark.errors import PySparkException

    with suppress(AttributeError, PySparkException):  # a session of Spark Connect has a client and no context
        if isinstance(session.sparkContext, SparkContext):
            context: SparkContext = session.sparkContext
            return context
    raise UnsupportedError(
        f"The Spark engine cannot use {type(session).__module__}.{type(session).__name__}. Give it a SparkSession, and"
        " not one of Spark Connect, which does not reach the executors."
    )


def _start(master: str) -> SparkContext:
    """Start Spark. What it says goes to a file, and is shown where it does not start."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with tempfile.TemporaryFile("w+") as said, without_warnings():
        from pyspark import SparkConf, SparkContext
        from pyspark.java_gateway import launch_gateway

        conf = SparkConf(loadDefaults=False).setMaster(master).setAppName("allalike")
        conf.setAll(list(_settings(master).items()))
        try:
            # One JVM serves all contexts, one after the other.
            gateway = SparkContext._gateway or launch_gateway(conf, {"stderr": said})  # type: ignore[no-untyped-call]
            context = SparkContext(gateway=gateway, conf=conf)
        except Exception as error:
            said.seek(0)
            raise EngineError(f"Spark does not start with master {master!r}. {_reason(said.read())}") from error
        context.setLogLevel("ERROR")
    _own.append(context)
    atexit.register(_stop)
    return context


def _settings(master: str) -> dict[str, str]:
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    if not master.startswith("local"):
        return settings
    return settings | {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": f"{max(1024, free_memory() // 4 >> 20)}m",
        # Workers find what this process finds, such as the module in which the user wrote a distance.
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path),
    }


def _check_reachable(master: str) -> None:
    """Refuse a master of a standalone cluster that is not there, for which Spark would wait a minute."""
    places = re.findall(r"([\w.-]+):(\d+)", master) if master.startswith("spark://") else []
    for host, port in places:
        with suppress(OSError), socket.create_connection((host, int(port)), timeout=5):
            return
    if places:
        raise EngineError(f"No Spark master answers at {master}. Start one, or correct the address.")


def _stop() -> None:
    while _own:
        with suppress(Exception):
            _own.pop().stop()
