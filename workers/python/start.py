"""Loads the worker's modules from a file in memory that the controller gives by its descriptor: `DESCRIPTOR:DEVICE:INODE
VERSION NUMPY`. Nothing is looked for in a folder, and nothing is kept in one."""

import sys

given, version, numpy = sys.argv[1:]
own = sys.version.split()[0]
if own != version:
    # In words that any version can read.
    sys.exit("an interpreter that says it is Python %s is Python %s; name another one with --python" % (version, own))

import json
import os
from importlib.machinery import ModuleSpec

descriptor, device, inode = map(int, given.split(":"))
about = os.fstat(descriptor)
# Under this number a process that was not given the file may have another one, which is not to be executed.
if (about.st_dev, about.st_ino) != (device, inode):
    sys.exit("descriptor %d is not the file with the sources of the worker" % descriptor)
with open(descriptor, "rb") as file:
    SOURCES = json.load(file)


class Given:
    """The modules that came with the descriptor. Each is compiled when it is first imported."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "faultline":
            return ModuleSpec(name, Given, is_package=True)
        return ModuleSpec(name, Given) if name in SOURCES else None

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        exec(compile(SOURCES.get(module.__name__, ""), module.__name__, "exec"), module.__dict__)


sys.meta_path.insert(0, Given)
from faultline import worker

sys.exit(worker.main(numpy))
