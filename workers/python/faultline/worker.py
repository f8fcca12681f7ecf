"""The conversation: one JSON object per line on stdin and stdout (docs/FORMATS.md)."""

import gc
import io
import json
import os
import sys

from faultline import methods
from faultline.job import Job, Unavailable, Wrong
from faultline.session import Session, has_lock
from faultline.team import Failure
from faultline.usage import Collections

PROTOCOL = 1


def main(numpy):
    # Whatever a library prints must not look like a reply.
    replies = os.dup(1)
    os.dup2(2, 1)
    worker = Worker(numpy)
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        reply = worker.answer(line)
        if reply is None:
            break
        said = json.dumps(reply, separators=(",", ":")).encode() + b"\n"
        while said:
            said = said[os.write(replies, said) :]
    worker.end()
    return 0


class Worker:
    def __init__(self, numpy):
        self._numpy = numpy
        self._session = None
        self._collections = Collections()
        # The last one heard of, for replies to lines that name none.
        self._pass = 0

    def answer(self, line):
        """Nothing after `bye`."""
        try:
            request = json.loads(line)
            if type(request) is dict and "bye" in request:
                return None
            return self._answer(request)
        except Unavailable as refusal:
            return {"unavailable": {"pass": self._pass, "reason": str(refusal)}}
        except Failure as failure:
            if isinstance(failure.error, Unavailable):
                return {"unavailable": {"pass": self._pass, "reason": str(failure.error)}}
            return self._failed(failure.during, failure.error)
        except Exception as error:
            return self._failed("prepare", error)

    def _failed(self, during, error):
        message = str(error) if isinstance(error, (Wrong, OSError)) else f"{type(error).__name__}: {error}"
        errno = error.errno if isinstance(error, OSError) else None
        # An error and the frames that it went through refer to each other, and a mapping in one of them would stay.
        error.__traceback__ = None
        gc.collect()
        return {"failed": {"pass": self._pass, "during": during, "errno": errno, "message": message}}

    def _answer(self, request):
        if type(request) is not dict or len(request) != 1:
            raise Wrong(f"not a request: {str(request)[:120]}")
        ((kind, said),) = request.items()
        if kind == "hello":
            return {"hello": self._hello()}
        if type(said) is not dict or kind not in ("prepare", "go"):
            raise Wrong(f"not a request: {str(request)[:120]}")
        number = said.get("pass")
        if type(number) is not int or not 0 <= number < 1 << 64:
            raise Wrong(f"not a request: pass {number!r} is no number")
        self._pass = number
        if kind == "prepare":
            self.end()
            self._session = Session(Job(said), self._collections)
            return {"prepared": {"pass": number, "pid": os.getpid()}}
        if self._session is None:
            raise Wrong("`go` came, but nothing is prepared")
        return {"done": {**self._session.go(said.get("warm", 0)), "pass": number}}

    def _hello(self):
        version = sys.version.split()[0]
        about = {
            "vm": f"{sys.implementation.name} {' '.join(sys.version.split())}",
            "home": sys.executable,
            "flags": " ".join(["-I", "-B", *(f"-X {name}={value}" for name, value in sys._xoptions.items())]),
            "processors": str(os.cpu_count()),
            "numpy": self._numpy or "none",
            "gil": "on" if has_lock() else "off",
            "buffer_bytes": str(io.DEFAULT_BUFFER_SIZE),
        }
        return {"protocol": PROTOCOL, "runtime": f"python {version}", "methods": methods.NAMES, "about": about}

    def end(self):
        session, self._session = self._session, None
        if session is not None:
            session.end()
