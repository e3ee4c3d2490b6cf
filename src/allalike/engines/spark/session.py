"""The Spark session, which is the user's, the active one or a new one, and clear errors for Spark's failures."""

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
    " (macOS), and set JAVA_HOME if it is not on the PATH."
)
_STOPPED_MESSAGE = "The Spark session was stopped. Start a new one, and run it again."
_HADOOP_VARIABLES = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
_REPEATED_LOGS = ("while sending command", "while shutting down connection")  # Py4J logs these errors and raises them
# Java mostly moves bytes here; optimising its code takes more time than it saves.
_QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_own_contexts: list[SparkContext] = []


def find_context(session: Any, master: str | None) -> SparkContext:
    """Return the context of a session, the active context, or a new one with this master."""
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
            f"Spark runs already with master {str(active.master)!r}, and cannot also run with {master!r}. Leave out the"
            " master, or stop the session first: Spark().start().stop()."
        )
    return active


def find_session(session: Any, master: str | None) -> SparkSession:
    """Return the given session, one of the active context, or one of a new context with this master."""
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
    """Return the path of the Java executable for Spark, or raise an error with the installation command."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home, "bin"))) if home else shutil.which("java")
    if java is None:
        where = f"there is none in JAVA_HOME, {home}" if home else "there is none on the PATH"
        raise UnsupportedError(f"Spark needs Java {_MIN_JAVA} or newer, and {where}. {_INSTALL_JAVA}")
    command = [java, "-version"]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stderr  # nosec B603 # Java, no shell
    version = re.search(r'version "(?:1\.)?(\d+)', text)
    if version is not None and int(version[1]) < _MIN_JAVA:
        raise UnsupportedError(
            f"Spark needs Java {_MIN_JAVA} or newer, and {java} is Java {version[1]}. {_INSTALL_JAVA}"
        )
    return java


@contextmanager
def clear_errors(context: SparkContext | None = None) -> Iterator[None]:
    """Convert Spark's failures to one-sentence errors; given a context, recognise a stopped session."""
    from py4j.protocol import Py4JError, Py4JNetworkError
    from pyspark.errors import PySparkException
    from pyspark.logger import PySparkLogger

    logger = PySparkLogger.getLogger("DataFrameQueryContextLogger")  # logs errors that are also raised
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
                f"The executors of Spark do not have {lacking[1]}. Install it on them, or send it with spark-submit: a"
                " zip of a package with `--py-files`, or a packed environment with `--archives`."
            ) from error
        file = re.search(r"while reading file (\S+)\.\s", str(error))
        causes = re.findall(r"Caused by: (?:\w+\.)+\w+(?:Exception|Error): (.+)", str(error))
        if file and causes:
            raise InputError(f"Spark cannot read {file[1]}: {causes[-1]} Correct the file.") from error
        raise EngineError(f"Spark failed. {find_reason(str(error))}") from error
    finally:
        logger.disabled = was_silent


def _is_stopped(context: SparkContext) -> bool:
    return context._jsc is None


@contextmanager
def _interruptible() -> Iterator[None]:
    """Cancel Spark's jobs on an interrupt or exit, even if it causes another error.

    After an interrupt, Py4J can continue. After an exit, it would wait for the reply to the current call. An exit by
    SIGTERM is therefore raised as an interrupt.
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
    """Return the interrupt or exit that caused an error, unless it was handled before."""
    behind: BaseException | None = error
    while behind is not None and behind is not outside and isinstance(behind, Exception):
        behind = behind.__context__
    return None if behind is outside else behind


def _cancel_jobs() -> None:
    """Cancel all jobs, from another thread, because the connection of this thread is waiting for a reply."""
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
    r"""Return the error of a Python worker in Spark's output, or else Java's first error.

    >>> find_reason('An error occurred.\n: org.apache.hadoop.fs.SomeException: No FileSystem for scheme "s3"\n\tat x')
    'SomeException: No FileSystem for scheme "s3"'
    """
    worker = re.search(r"Traceback \(most recent call last\):\n(?:\s.*\n)*(\S.*)", text)
    java = re.search(r"\b(?:\w+\.)+(\w+(?:Exception|Error): .*)", text)
    found = worker or java
    return found[1] if found else text.strip()[-300:]


def check_pyspark() -> None:
    """Raise an error if PySpark is missing or too old."""
    try:
        import pyspark
    except ImportError as error:
        raise UnsupportedError(f"The Spark engine needs PySpark, which is not installed. {_INSTALL_PYSPARK}") from error
    if int(pyspark.__version__.split(".")[0]) < _MIN_PYSPARK:
        raise UnsupportedError(
            f"The Spark engine needs PySpark {_MIN_PYSPARK}, not {pyspark.__version__}. {_INSTALL_PYSPARK}"
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
        f"The Spark engine cannot use {type(session).__module__}.{type(session).__name__}. Use a SparkSession, not one"
        " of Spark Connect, which has no access to the executors."
    )


def _start(master: str | None) -> SparkContext:
    """Start Spark; its output is written to a file, and shown if it does not start.

    The default master is set by spark-submit, PYSPARK_SUBMIT_ARGS or spark-defaults.conf, or else local[*].
    """
    resulting = master or "local[*]"
    _check_master(resulting)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output, without_warnings():
        from pyspark import SparkConf, SparkContext
        from pyspark.java_gateway import launch_gateway

        asked = None
        if _is_local(resulting):
            os.environ.setdefault("SPARK_DRIVER_MEMORY", f"{max(1024, free_memory() // 4 >> 20)}m")
            os.environ.setdefault("SPARK_SUBMIT_OPTS", _QUICK_JAVA)
        else:  # spark-submit must know the cluster
            asked = SparkConf(loadDefaults=False).setMaster(resulting)
        try:
            # One JVM serves all contexts, one at a time.
            with _uninterrupted():
                gateway = SparkContext._gateway or launch_gateway(asked, {"stderr": output})  # type: ignore[no-untyped-call]
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
            output.seek(0)
            why = find_reason(output.read().strip() or str(error))
            raise EngineError(f"Spark does not start with master {resulting!r}. {why}") from error
        context.setLogLevel("ERROR")
    _own_contexts.append(context)
    atexit.register(_stop)
    return context


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Defer a signal while a JVM starts, because the JVM would keep running; do not defer a second signal."""
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
    """Keep the handler of Ctrl-C: PySpark's would cancel jobs on a connection that waits for another reply."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread() and before is not None:
            signal.signal(signal.SIGINT, before)


def _is_news(record: logging.LogRecord) -> bool:
    """Return False for log records of Py4J about calls that Ctrl-C interrupted."""
    return not any(text in str(record.msg) for text in _REPEATED_LOGS)


def _is_local(master: str) -> bool:
    return master.startswith("local")


def _settings(master: str) -> dict[str, str]:
    if not _is_local(master):
        return {"spark.ui.enabled": "false"}
    return {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        # On a network socket, Spark and its workers wait 40 ms for each other several times per job.
        "spark.python.unix.domain.socket.enabled": str(hasattr(socket, "AF_UNIX")).lower(),
        "spark.python.daemon.module": "allalike.engines.spark.daemon",
        # Workers can import the same modules as this process, such as a module with the user's distance.
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path),
    }


def _check_master(master: str) -> None:
    """Raise an error for an unknown cluster, or an unreachable one, for which Spark would wait a minute."""
    if master == "yarn" and not any(map(os.environ.get, _HADOOP_VARIABLES)):
        raise EngineError(f"The address of YARN is not known. Set {' or '.join(_HADOOP_VARIABLES)}.")
    addresses = re.findall(r"([\w.-]+):(\d+)", master) if master.startswith("spark://") else []
    for host, port in addresses:
        with suppress(OSError), socket.create_connection((host, int(port)), timeout=5):
            return
    if addresses:
        raise EngineError(f"No Spark master responds at {master}. Start one, or correct the address.")


def _stop() -> None:
    while _own_contexts:
        with suppress(Exception):
            _own_contexts.pop().stop()
