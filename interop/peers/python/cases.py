"""The cases. Their names are the same in every language."""

import math
import random
import time

import values
from interop import Future, Interop, Second, constants
from interop.ttypes import Containers, NotFound, Refused, Wide
from thrift.Thrift import TApplicationException


class Skip(Exception):
    """The case does not exist here, for the reason given."""


def same(got, want):
    if isinstance(want, float) and isinstance(got, float):
        if math.isnan(want):
            return math.isnan(got)
        return got == want and math.copysign(1, got) == math.copysign(1, want)
    return type(got) is type(want) and got == want


def check(got, want):
    if isinstance(want, list) and isinstance(got, list) and len(got) == len(want):
        for one, other in zip(got, want):
            check(one, other)
    elif not same(got, want):
        raise AssertionError("got %.120r, want %.120r" % (got, want))


def echo(method, *sent):
    def case(connector):
        client = connector.client(Interop)
        for value in sent:
            check(getattr(client, "echo_" + method)(value), value)
    return case


def known(method, want):
    def case(connector):
        check(getattr(connector.client(Interop), "known_" + method)(), want)
    return case


def ping(connector):
    check(connector.client(Interop).ping(), None)


def whoami(connector):
    return connector.client(Interop).whoami()


def evolve(connector):
    got = connector.client(Future).echo_evolving(values.NEWER)
    check((got.first, got.last, got.truth, got.many), (1, "end", None, None))


def join(connector):
    check(connector.client(Interop).join(1, "two", 3, "four"), "1,two,3,four")


def exception_none(connector):
    check(connector.client(Interop).may_fail("none"), constants.ANSWER)


def thrown(expected, call, *args):
    try:
        call(*args)
    except expected as error:
        return error
    raise AssertionError("nothing was thrown")


def exception_not_found(connector):
    client = connector.client(Interop)
    check(thrown(NotFound, client.may_fail, "not_found"), NotFound(subject="it", searched=3))
    check(client.echo_i32(1), 1)


def exception_refused(connector):
    error = thrown(Refused, connector.client(Interop).may_fail, "refused")
    check(error, Refused(reason="no", helper=values.ORIGIN))


def exception_undeclared(connector):
    error = thrown(TApplicationException, connector.client(Interop).may_fail, "internal")
    return "type %d: %s" % (error.type, error.message)


def after_undeclared(connector):
    client = connector.client(Interop)
    thrown(TApplicationException, client.may_fail, "internal")
    check(client.echo_i32(1), 1)


def exception_void(connector):
    client = connector.client(Interop)
    client.may_fail_void(False)
    check(thrown(NotFound, client.may_fail_void, True), NotFound(subject="nothing", searched=0))


def unknown_method(connector):
    client = connector.client(Future)
    error = thrown(TApplicationException, client.not_yet, 1)
    check(error.type, TApplicationException.UNKNOWN_METHOD)
    return error.message


def after_unknown_method(connector):
    client = connector.client(Future)
    thrown(TApplicationException, client.not_yet, 1)
    check(client.echo_evolving(values.NEWER).last, "end")


def oneway(connector):
    client = connector.client(Interop)
    token = random.getrandbits(62)
    check(client.was_notified(token), False)
    client.notify(token)
    for _ in range(100):
        if client.was_notified(token):
            return
        time.sleep(0.02)
    raise AssertionError("the token never arrived")


def second_service(connector):
    if not connector.multiplexed:
        raise Skip("needs --multiplexed")
    first, second = connector.clients((Interop, "Interop"), (Second, "Second"))
    check(second.greet("you"), "hello, you")
    check(second.echo_i32(1), 1001)
    check(first.echo_i32(1), 1)


def unknown_service(connector):
    if not connector.multiplexed:
        raise Skip("needs --multiplexed")
    try:
        connector.client(Second, "Nowhere").greet("you")
    except Exception as error:
        return "%s: %s" % (type(error).__name__, error)
    raise AssertionError("an unknown service answered")


def slow(connector):
    check(connector.client(Interop).slow(50), 50)


def big_binary(connector):
    client = connector.client(Interop)
    for size in (65535, 65536, 100000):
        check(client.echo_binary(values.pattern(size)), values.pattern(size))
    check(client.make_bytes(300000), values.pattern(300000))


def big_list(connector):
    value = Containers(truths=[], numbers=list(range(20000)), reals=[], words=set(), bigs=set(),
                       counts={}, names={}, origins={}, blobs=[], opposites={})
    check(connector.client(Interop).echo_containers(value), value)


def many_calls(connector):
    client = connector.client(Interop)
    for number in range(500):
        check(client.echo_i32(number), number)


def pipelined(connector):
    if connector.http:
        raise Skip("one HTTP exchange carries one call")
    client = connector.client(Interop)
    for number in range(50):
        client.send_echo_i32(number)
    for number in range(50):
        check(client.recv_echo_i32(), number)


def connections(connector):
    clients = [connector.client(Interop) for _ in range(8)]
    for turn in range(3):
        for number, client in enumerate(clients):
            check(client.echo_i32(number + turn), number + turn)


CASES = {
    "ping": ping,
    "whoami": whoami,
    "echo_bool": echo("bool", *values.BOOLS),
    "echo_byte": echo("byte", *values.BYTES),
    "echo_i16": echo("i16", *values.I16S),
    "echo_i32": echo("i32", *values.I32S),
    "echo_i64": echo("i64", *values.I64S),
    "echo_double": echo("double", *values.DOUBLES),
    "echo_special_double": echo("double", *values.SPECIAL_DOUBLES),
    "echo_string": echo("string", *values.STRINGS),
    "echo_special_string": echo("string", *values.SPECIAL_STRINGS),
    "echo_binary": echo("binary", *values.BINARIES),
    "echo_enum": echo("enum", *values.COLOURS),
    "echo_typedef": echo("typedef", *values.I64S),
    "echo_empty": echo("empty", constants.WIDE_FULL.f10),
    "echo_everything": echo("everything", *values.EVERYTHINGS),
    "echo_presence": echo("presence", values.PRESENCE_LEAST, values.PRESENCE_MOST),
    "echo_containers": echo("containers", *values.CONTAINERS),
    "echo_nested": echo("nested", constants.NESTED_FULL),
    "echo_keyed": echo("keyed", values.KEYED),
    "echo_tree": echo("tree", values.chain(1), values.chain(25)),
    "echo_choice": echo("choice", *values.CHOICES),
    "echo_wide": echo("wide", Wide(), constants.WIDE_FULL),
    "echo_included": echo("included", values.ORIGIN),
    "echo_bools": echo("bools", [], [place % 3 == 0 for place in range(200)]),
    "echo_list": echo("list", [], values.EVERYTHINGS * 50),
    "echo_map": echo("map", {}, constants.NESTED_FULL.book),
    "evolve": evolve,
    "known_bools": known("bools", values.BOOLS),
    "known_bytes": known("bytes", values.BYTES),
    "known_i16s": known("i16s", values.I16S),
    "known_i32s": known("i32s", values.I32S),
    "known_i64s": known("i64s", values.I64S),
    "known_doubles": known("doubles", values.DOUBLES),
    "known_special_doubles": known("special_doubles", values.SPECIAL_DOUBLES),
    "known_strings": known("strings", values.STRINGS),
    "known_special_strings": known("special_strings", values.SPECIAL_STRINGS),
    "known_binaries": known("binaries", values.BINARIES),
    "known_everythings": known("everythings", values.EVERYTHINGS),
    "known_containers": known("containers", values.CONTAINERS),
    "known_nested": known("nested", constants.NESTED_FULL),
    "known_wide": known("wide", constants.WIDE_FULL),
    "known_choices": known("choices", values.CHOICES),
    "known_presence": known("presence", values.PRESENCE_LEAST),
    "join": join,
    "exception_none": exception_none,
    "exception_not_found": exception_not_found,
    "exception_refused": exception_refused,
    "exception_undeclared": exception_undeclared,
    "after_undeclared": after_undeclared,
    "exception_void": exception_void,
    "unknown_method": unknown_method,
    "after_unknown_method": after_unknown_method,
    "oneway": oneway,
    "second_service": second_service,
    "unknown_service": unknown_service,
    "slow": slow,
    "big_binary": big_binary,
    "big_list": big_list,
    "big_string": echo("string", "0123456789abcdef" * (10 * 1024 * 64)),
    "many_calls": many_calls,
    "pipelined": pipelined,
    "connections": connections,
}
