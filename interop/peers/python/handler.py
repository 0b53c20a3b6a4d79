"""What the server answers."""

import time

import values
from interop import constants
from interop.ttypes import NotFound, Refused


class Handler:
    def __init__(self):
        self._notified = set()

    def __getattr__(self, name):
        if name.startswith("echo_"):
            return lambda value: value
        raise AttributeError(name)

    def ping(self):
        pass

    def whoami(self):
        return "python"

    def known_bools(self):
        return values.BOOLS

    def known_bytes(self):
        return values.BYTES

    def known_i16s(self):
        return values.I16S

    def known_i32s(self):
        return values.I32S

    def known_i64s(self):
        return values.I64S

    def known_doubles(self):
        return values.DOUBLES

    def known_special_doubles(self):
        return values.SPECIAL_DOUBLES

    def known_strings(self):
        return values.STRINGS

    def known_special_strings(self):
        return values.SPECIAL_STRINGS

    def known_binaries(self):
        return values.BINARIES

    def known_everythings(self):
        return values.EVERYTHINGS

    def known_containers(self):
        return values.CONTAINERS

    def known_nested(self):
        return constants.NESTED_FULL

    def known_wide(self):
        return constants.WIDE_FULL

    def known_choices(self):
        return values.CHOICES

    def known_presence(self):
        return values.PRESENCE_LEAST

    def join(self, first, second, third, fourth):
        return "%d,%s,%d,%s" % (first, second, third, fourth)

    def may_fail(self, how):
        if how == "not_found":
            raise NotFound(subject="it", searched=3)
        if how == "refused":
            raise Refused(reason="no", helper=values.ORIGIN)
        if how == "internal":
            raise RuntimeError("undeclared failure")
        return constants.ANSWER

    def may_fail_void(self, fails):
        if fails:
            raise NotFound(subject="nothing", searched=0)

    def notify(self, token):
        self._notified.add(token)

    def was_notified(self, token):
        return token in self._notified

    def slow(self, milliseconds):
        time.sleep(milliseconds / 1000)
        return milliseconds

    def make_bytes(self, count):
        return values.pattern(count)


class SecondHandler:
    def greet(self, name):
        return "hello, " + name

    def echo_i32(self, value):
        return value + 1000
