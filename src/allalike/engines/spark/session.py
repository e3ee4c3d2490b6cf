"""The session of Spark: the user's, the active one, or one of our own, made quietly and with clear errors."""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike._core.system.memory import free_memory
from allalike.errors import AllalikeError, EngineError, InputError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_MIN_PYSPARK, _MIN_JAVA = 4, 17
_INSTALL_PYSPARK = 'Install it with `pip install "allalike[spark]"`.'
_INSTALL_JAVA = (
    "Install it, for example with `apt install openjdk-17-jre-headless` (Debian, Ubuntu) or `brew install openjdk@17`"
    " (macOS); JAVA_HOME names it if it is not on the PATH."
)
_STOPPED_MESSAGE = "The Spark session was stopped. Start another one, and begin anew."
_HADOOP_VARIABLES = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
_REPEATED_LOGS = ("while sending command", "while shutting down connection")  # of what Py4J logs, and raises as well
# Java moves bytes here, and little else: to optimise that takes it more time than it saves.
_QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_own_contexts: list[SparkContext] = []


def find_context(session: Any, master: str | None) -> SparkContext:
    """Return the context of a session, or else the active one, or else a new one with this master."""
    check_pyspark()
    from pyspark import SparkContext

    if session is not None:
        return _context_of(session)
    active = SparkContext._active_spark_context
    if active is None:
        find_java()
        return _start(master)
    if master not in (None, active.master):
        raise UnsupportedError(
            f"Spark runs already with master {str(active.master)!r}, and cannot run with {master!r} beside it. Leave"
            " the master out, or stop the session first: Spark().start().stop()."
        )
    return active


def find_session(session: Any, master: str | None) -> SparkSession:
    """Return a session, or else one of the active context, or of a new one with this master."""
    context = find_context(session, master)
    with without_warnings():
        from pyspark.sql import SparkSession

        if isinstance(session, SparkSession):
            return session
        return SparkSession.getActiveSession() or SparkSession(context)


@contextmanager
def without_warnings() -> Iterator[None]:
    """Suppress PySpark's warning about pandas 3, which is not used here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def find_java() -> str:
    """Return the path of the Java that Spark will run on."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home, "bin"))) if home else shutil.which("java")
    if java is None:
        where = f"JAVA_HOME is {home}, where there is none" if home else "there is none on the PATH"
        raise UnsupportedError(f"Spark needs Java {_MIN_JAVA} or newer, and {where}. {_INSTALL_JAVA}")
    command = [java, "-version"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stderr  # nosec B603 # Java, no shell
    version = re.search(r'version "(?:1\.)?(\d+)', said)
    if version is not None and int(version[1]) < _MIN_JAVA:
        raise UnsupportedError(
            f"Spark needs Java {_MIN_JAVA} or newer, and {java} is Java {version[1]}. {_INSTALL_JAVA}"
        )
    return java


@contextmanager
def clear_errors(context: SparkContext | None = None) -> Iterator[None]:
    """Describe in a sentence why Spark failed; a context tells whether it was stopped."""
    from py4j.protocol import Py4JError, Py4JNetworkError
    from pyspark.errors import PySparkException
    from pyspark.logger import PySparkLogger

    logger = PySparkLogger.getLogger("DataFrameQueryContextLogger")  # which writes errors that are raised as well
    was_silent, logger.disabled = logger.disabled, True
    try:
        with _interruptible():
            yield
    except (AttributeError, AssertionError) as error:
        if context is not None and _is_stopped(context):
            raise EngineError(_STOPPED_MESSAGE) from error
        raise
    except (Py4JError, Py4JNetworkError, PySparkException) as error:
        if (context is not None and _is_stopped(context)) or "stopped SparkContext" in str(error):
            raise EngineError(_STOPPED_MESSAGE) from error
        lacking = re.search(r"ModuleNotFoundError: No module named '([\w.]+)'", str(error))
        if lacking:
            raise UnsupportedError(
                f"The executors of Spark do not have {lacking[1]}. Install it on them, or send it along: a zip of a"
                " package with `--py-files`, a packed environment with `--archives`."
            ) from error
        file = re.search(r"while reading file (\S+)\.\s", str(error))
        causes = re.findall(r"Caused by: (?:\w+\.)+\w+(?:Exception|Error): (.+)", str(error))
        if file and causes:
            raise InputError(f"Spark cannot read {file[1]}: {causes[-1]} Correct the file.") from error
        raise EngineError(f"Spark gave up. {find_reason(str(error))}") from error
    finally:
        logger.disabled = was_silent


def _is_stopped(context: SparkContext) -> bool:
    return context._jsc is None


@contextmanager
def _interruptible() -> Iterator[None]:
    """Cancel Spark's jobs on an interrupt or exit, also if another error follows from it.

    After an interrupt Py4J can go on. After an exit it would wait for the answer to what was under way, and so an exit
    that SIGTERM asks for comes to it as an interrupt.
    """
    exits: list[SystemExit] = []
    before, outside = signal.getsignal(signal.SIGTERM), sys.exc_info()[1]

    def interrupt(number: int, frame: FrameType | None) -> None:
        try:
            before(number, frame)  # type: ignore[operator, misc]
        except SystemExit as error:
            exits.append(error)
            raise KeyboardInterrupt from error

    ours = callable(before) and threading.current_thread() is threading.main_thread()
    if ours:
        signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except BaseException as error:
        ended = exits[0] if exits else _interrupt_behind(error, outside)
        if ended is None:
            raise
        _cancel_jobs()
        raise ended from None
    finally:
        if ours:
            signal.signal(signal.SIGTERM, before)


def _interrupt_behind(error: BaseException, outside: BaseException | None) -> BaseException | None:
    """Return the interrupt or exit during which an error came, unless that was handled before."""
    behind: BaseException | None = error
    while behind is not None and behind is not outside and isinstance(behind, Exception):
        behind = behind.__context__
    return None if behind is outside else behind


def _cancel_jobs() -> None:
    """Cancel what runs, from another thread: the connection of this one still waits for an answer."""
    from pyspark import SparkContext

    def cancel() -> None:
        with suppress(Exception):
            active = SparkContext._active_spark_context
            if active is not None:
                active.cancelAllJobs()

    thread = threading.Thread(target=cancel, daemon=True)
    thread.start()
    thread.join(5)


def find_reason(text: str) -> str:
    r"""Find the error of a Python worker in what Spark says, or else the first one of Java.

    >>> find_reason('An error occurred.\n: org.apache.hadoop.fs.SomeException: No FileSystem for scheme "s3"\n\tat x')
    'SomeException: No FileSystem for scheme "s3"'
    """
    worker = re.search(r"Traceback \(most recent call last\):\n(?:\s.*\n)*(\S.*)", text)
    java = re.search(r"\b(?:\w+\.)+(\w+(?:Exception|Error): .*)", text)
    found = worker or java
    return found[1] if found else text.strip()[-300:]


def check_pyspark() -> None:
    """Refuse to go on without PySpark, or with an old one."""
    try:
        import pyspark
    except ImportError as error:
        raise UnsupportedError(f"The Spark engine needs PySpark, which is not installed. {_INSTALL_PYSPARK}") from error
    if int(pyspark.__version__.split(".")[0]) < _MIN_PYSPARK:
        raise UnsupportedError(
            f"The Spark engine needs PySpark 4, and this is {pyspark.__version__}. {_INSTALL_PYSPARK}"
        )


def _context_of(session: Any) -> SparkContext:
    from pyspark import SparkContext
    from pyspark.errors import PySparkException

    with suppress(AttributeError, PySparkException):  # a session of Spark Connect has a client and no context
        if isinstance(session.sparkContext, SparkContext):
            context: SparkContext = session.sparkContext
            if _is_stopped(context):
                raise EngineError(_STOPPED_MESSAGE)
            return context
    raise UnsupportedError(
        f"The Spark engine cannot use {type(session).__module__}.{type(session).__name__}. Give it a SparkSession, and"
        " not one of Spark Connect, which does not reach the executors."
    )


def _start(master: str | None) -> SparkContext:
    """Start Spark. What it says goes to a file, and is shown where it does not start.

    Unless a master is given it is that of spark-submit, PYSPARK_SUBMIT_ARGS or spark-defaults.conf, or else local[*].
    """
    resulting = master or "local[*]"
    _check_master(resulting)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said, without_warnings():
        from pyspark import SparkConf, SparkContext
        from pyspark.java_gateway import launch_gateway

        asked = None
        if _is_local(resulting):
            os.environ.setdefault("SPARK_DRIVER_MEMORY", f"{max(1024, free_memory() // 4 >> 20)}m")
            os.environ.setdefault("SPARK_SUBMIT_OPTS", _QUICK_JAVA)
        else:  # of a cluster spark-submit must know
            asked = SparkConf(loadDefaults=False).setMaster(resulting)
        try:
            # One JVM serves all contexts, one after the other.
            with _uninterrupted():
                gateway = SparkContext._gateway or launch_gateway(asked, {"stderr": said})  # type: ignore[no-untyped-call]
            conf = SparkConf(_jvm=gateway.jvm)
            resulting = master or str(conf.get("spark.master", resulting))
            _check_master(resulting)
            conf.setMaster(resulting).setAppName("allalike").set("spark.ui.showConsoleProgress", "false")
            for name, value in _settings(resulting).items():
                conf.setIfMissing(name, value)
            if _is_local(resulting):
                os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            for name in ("", "py4j.clientserver"):
                logging.getLogger(name).addFilter(_is_news)
            with _same_interrupt():
                context = SparkContext(gateway=gateway, conf=conf)
        except AllalikeError:
            raise
        except Exception as error:
            said.seek(0)
            why = find_reason(said.read().strip() or str(error))
            raise EngineError(f"Spark does not start with master {resulting!r}. {why}") from error
        context.setLogLevel("ERROR")
    _own_contexts.append(context)
    atexit.register(_stop)
    return context


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold a signal back until a JVM has started, which would else be left behind; a second one is not held back."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    handlers = {number: signal.getsignal(number) or signal.SIG_DFL for number in (signal.SIGINT, signal.SIGTERM)}
    before = {number: handler for number, handler in handlers.items() if handler is not signal.SIG_IGN}

    def hold(number: int, _: object) -> None:
        held.append(number)
        signal.signal(number, before[signal.Signals(number)])

    for number in before:
        signal.signal(number, hold)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if held:
            signal.raise_signal(held[0])


@contextmanager
def _same_interrupt() -> Iterator[None]:
    """Keep what Ctrl-C does: PySpark would ask to cancel jobs on a connection that waits for another answer."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread() and before is not None:
            signal.signal(signal.SIGINT, before)


def _is_news(record: logging.LogRecord) -> bool:
    """Keep quiet about calls that Ctrl-C ended, which Py4J tells with a traceback."""
    return not any(told in str(record.msg) for told in _REPEATED_LOGS)


def _is_local(master: str) -> bool:
    return master.startswith("local")


def _settings(master: str) -> dict[str, str]:
    if not _is_local(master):
        return {"spark.ui.enabled": "false"}
    return {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        # Spark and its workers wait 40 ms for each other on a network's socket, several times a job.
        "spark.python.unix.domain.socket.enabled": str(hasattr(socket, "AF_UNIX")).lower(),
        "spark.python.daemon.module": "allalike.engines.spark.daemon",
        # Workers find what this process finds, such as the module in which the user wrote a distance.
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path),
    }


def _check_master(master: str) -> None:
    """Refuse a cluster that is not there, for which Spark would wait a minute, or of which nothing is known."""
    if master == "yarn" and not any(map(os.environ.get, _HADOOP_VARIABLES)):
        raise EngineError(f"Spark does not know where YARN is. Set {' or '.join(_HADOOP_VARIABLES)}.")
    addresses = re.findall(r"([\w.-]+):(\d+)", master) if master.startswith("spark://") else []
    for host, port in addresses:
        with suppress(OSError), socket.create_connection((host, int(port)), timeout=5):
            return
    if addresses:
        raise EngineError(f"No Spark master answers at {master}. Start one, or correct the address.")


def _stop() -> None:
    while _own_contexts:
        with suppress(Exception):
            _own_contexts.pop().stop()
