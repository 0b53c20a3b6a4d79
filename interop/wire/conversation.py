"""Frames, and what they mean after all that came before, read as docs/spec/wire.md says."""

from typing import Any, Iterator

from compressed import decompress
from contract import FLAGS as METHOD_FLAGS
from contract import Method, find, fingerprint, parse_description, to_json
from encoding import DESCRIPTIONS, Broken, Reader, decode, need
from state import CALLS, CONNECTION, ERRORS, FRAMES, METHODS, OBJECTS, OPENING, STREAMS
from state import CODES, COMPATIBLE, DESCRIBE, EQUAL, EXECUTIONS, REFUSED, UNKNOWN, VERDICTS
from state import COMPRESSION, DEADLINE, EXTRAS, FLAGS, MORE, PROMISE, RESULTS, TAGGED, TARGET, WITH_HEADERS
from state import MOST_RESULTS
from state import LEAST_FRAME, MOST_HEADERS, SETTINGS, WITHOUT_ID
from state import Call, End, Json, Kind, Message, Slot


def word(reader: Reader, words: list[str], first: int, rule: str) -> str:
    number = reader.byte() - first
    need(0 <= number < len(words), rule, f"{number + first} is none of {first} to {first + len(words) - 1}")
    return words[number]


def references(value: Any) -> Iterator[Json]:
    if isinstance(value, dict) and value.keys() in ({"object", "of"}, {"answer_of"}):
        yield value
    elif isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from references(part)


class Conversation:
    def __init__(self, methods: list[Method]):
        self.methods = methods
        self.client, self.server = End("client"), End("server", informed=True)
        self.broken = False

    def peer(self, end: End) -> End:
        return self.server if end is self.client else self.client

    def feed(self, sender: str, data: bytes) -> Iterator[Json]:
        """The messages that these bytes complete; after the first broken rule of the connection, nothing."""
        end = self.client if sender == "client" else self.server
        end.buffer += data
        place: Json = {"from": sender}
        try:
            for head, id, payload in end.frames(self.peer(end)):
                place = {"from": sender, "kind": head & 31, "id": id}
                message = self.frame(end, head, id, payload)
                if message:
                    yield message
        except Broken as error:
            self.broken = True
            yield place | {"error": error.json()}

    def finish(self) -> Iterator[Json]:
        for end in (self.client, self.server):
            if end.buffer:
                yield {"from": end.name, "error": Broken(FRAMES, "the last frame is not complete").json()}
            for message in end.unfinished.values():
                yield message.json | {"error": Broken(FRAMES, "the last frame has MORE").json()}

    def frame(self, end: End, head: int, id: int, payload: bytes) -> Json | None:
        need(1 <= head & 31 <= len(Kind), FRAMES, f"kind {head & 31} does not exist")
        kind, flags, reader = Kind(head & 31), head & 0xE0, Reader(payload)
        need(not flags & ~FLAGS.get(kind, 0), FRAMES, f"flags {flags:02x} on {kind.name}")
        need(end.greeted == (kind != Kind.HELLO), OPENING, "HELLO comes first, and once")
        need(not end.gone, CONNECTION, f"{kind.name} after GOODBYE")
        need(kind not in WITHOUT_ID or id == 0, FRAMES, f"{kind.name} with the id {id}")
        if kind in FLAGS:
            return self.part(end, kind, flags, id, reader)
        said = getattr(self, kind.name.lower())(end, id, reader)
        reader.end()
        return {"from": end.name, "kind": kind.name, "id": id} | said

    # The connection

    def hello(self, end: End, id: int, reader: Reader) -> Json:
        need(end is self.client or self.client.greeted, OPENING, "the server answers the HELLO of the client")
        version = reader.varint()
        need(version == 1, OPENING, f"version {version}")
        names = dict(enumerate(SETTINGS, 1))
        while reader.left():
            key = reader.varint()
            end.settings[names.get(key, str(key))] = reader.varint()
        need(end.settings["frame"] >= LEAST_FRAME, OPENING, f"the largest frame is less than {LEAST_FRAME}")
        need(end.settings["header_table"] <= MOST_HEADERS, OPENING, f"more than {MOST_HEADERS} headers")
        end.greeted = True
        return {"version": version, "settings": dict(end.settings)}

    def ping(self, end: End, id: int, reader: Reader) -> Json:
        end.pings.append(reader.take(8))
        return {"data": end.pings[-1].hex()}

    def pong(self, end: End, id: int, reader: Reader) -> Json:
        data, pings = reader.take(8), self.peer(end).pings
        need(data in pings, CONNECTION, f"PONG {data.hex()} without such a PING")
        pings.remove(data)
        return {"data": data.hex()}

    def drain(self, end: End, id: int, reader: Reader) -> Json:
        end.drained = reader.varint()
        need(end.drained <= self.peer(end).highest, CONNECTION, f"no call has the id {end.drained} yet")
        for call in self.peer(end).calls.values():
            call.left_out = call.id > end.drained
        return {"last": end.drained, "why": reader.text()}

    def release(self, end: End, id: int, reader: Reader) -> Json:
        count, owner = reader.varint(), self.peer(end)
        need(count > 0, OBJECTS, "a release of nothing")
        known = owner.unread or count <= owner.objects[id]
        need(known, OBJECTS, f"{count} references to object {id} are released, and {owner.objects[id]} were sent")
        owner.objects[id] -= min(count, owner.objects[id])
        return {"count": count, "left": owner.objects[id]}

    def goodbye(self, end: End, id: int, reader: Reader) -> Json:
        end.gone = True
        return {"code": word(reader, CODES, 1, ERRORS), "why": reader.text()}

    # Methods

    def bind(self, end: End, id: int, reader: Reader) -> Json:
        need(id == len(end.slots), METHODS, f"BIND of slot {id} after {len(end.slots)} slots")
        flags, service, name, stated = reader.byte(), reader.text(), reader.text(), reader.take(16)
        need(flags in METHOD_FLAGS, METHODS, f"flags {flags}")
        slot = Slot(service, name, flags, stated, find(self.methods, service, name))
        if slot.method and slot.method.flags != flags:
            need(not slot.is_ours(), METHODS, f"flags {flags}, in the description {slot.method.flags}")
            slot.method = None
        end.slots.append(slot)
        contract = "equal" if slot.is_ours() else "other" if slot.method else "unknown"
        return {
            "flags": flags,
            "service": service,
            "method": name,
            "fingerprint": stated.hex(),
            "contract": contract,
        }

    def bound(self, end: End, id: int, reader: Reader) -> Json:
        slot = self.peer(end).slot(id)
        verdict = VERDICTS.index(word(reader, VERDICTS, 0, METHODS))
        if slot.verdict == DESCRIBE and slot.described:
            allowed = (COMPATIBLE, REFUSED)
        elif slot.verdict is None:
            allowed = range(5) if any(slot.fingerprint) else (COMPATIBLE, REFUSED, UNKNOWN)
        else:
            allowed = ()
        need(verdict in allowed, METHODS, f"verdict {verdict} does not follow here")
        slot.verdict = verdict
        return {"verdict": VERDICTS[verdict], "text": reader.text()}

    def describe(self, end: End, id: int, reader: Reader) -> Json:
        slot, data = end.slot(id), reader.rest()
        need(slot.verdict == DESCRIBE and not slot.described, METHODS, "DESCRIBE that nobody asked for")
        need(fingerprint(data) == slot.fingerprint, DESCRIPTIONS, "the description has another fingerprint")
        method = parse_description(data)
        need((method.name, method.flags) == (slot.name, slot.flags), METHODS, "BIND says another name, or flags")
        slot.described, slot.method = True, slot.method or method
        return to_json(method)

    # Calls without bodies

    def call(self, end: End, kind: Kind, id: int) -> Call | None:
        """The open call; none for one that is over, whose frames are ignored."""
        caller = self.client if id % 2 else self.server
        need(0 < id <= caller.highest, CALLS, f"{kind.name} for {id}, which nobody called")
        if end is caller:
            need(kind not in (Kind.REPLY, Kind.STATUS), CALLS, f"{kind.name} from the caller")
        else:
            need(kind != Kind.CANCEL, CALLS, "CANCEL from the callee")
            need(id not in caller.one_way, CALLS, f"{kind.name} for {id}, which is one-way")
        call = caller.calls.get(id)
        left_out = call and call.left_out and end is not caller
        need(not left_out, CONNECTION, f"{kind.name} for {id}, which was left out by DRAIN")
        return None if call and call.cancelled and end is caller else call

    def status(self, end: End, id: int, reader: Reader) -> Json:
        call = self.call(end, Kind.STATUS, id)
        code, execution = word(reader, CODES, 1, CALLS), word(reader, EXECUTIONS, 1, CALLS)
        said = {"code": code, "execution": execution, "message": reader.text(), "details": reader.rest().hex()}
        end.unfinished.pop(id, None)
        if not call:
            return said | {"ignored": True}
        call.over()
        if execution == "not started":
            call.caller.objects.subtract(call.passed)
        return said

    def cancel(self, end: End, id: int, reader: Reader) -> Json:
        call = self.call(end, Kind.CANCEL, id)
        end.unfinished.pop(id, None)
        if not call and id in end.promises:
            end.promises.remove(id)
            return {"forgets": True}
        end.promises.discard(id)
        if not call:
            return {"ignored": True}
        call.cancelled = True
        return {}

    def credit(self, end: End, id: int, reader: Reader) -> Json:
        granted, flow = reader.varint(), self.peer(end).flow
        if id:
            call = self.call(end, Kind.CREDIT, id)
            if not call:
                return {"bytes": granted, "ignored": True}
            half = call.half(self.peer(end))
            need(half.stream, STREAMS, "CREDIT where the method has no stream")
            flow = half.flow
        flow.granted += granted
        return {"bytes": granted}

    # Messages of one or more frames

    def part(self, end: End, kind: Kind, flags: int, id: int, reader: Reader) -> Json | None:
        message, size = end.unfinished.pop(id, None), reader.left()
        need(not message or message.kind == kind, FRAMES, f"{kind.name} inside a message with MORE")
        need(not (message and flags & EXTRAS), FRAMES, "extras stand in the first frame of a message")
        message = message or self.begin(end, kind, flags, id, reader)
        if kind == Kind.ITEM:
            self.spend(end, message, size)
        message.frames += 1
        message.size += size
        message.body += reader.rest()
        if flags & MORE:
            end.unfinished[id] = message
            return None
        return self.complete(end, message)

    def begin(self, end: End, kind: Kind, flags: int, id: int, reader: Reader) -> Message:
        json = {"from": end.name, "kind": kind.name, "id": id}
        if kind == Kind.CALL:
            json["slot"] = reader.varint()
            call = end.new_call(id, end.slot(json["slot"]))
            end.promises.discard(id)
            drained = self.peer(end).drained
            call.left_out = drained is not None and id > drained
            if call.left_out:
                json["not_started"] = True
        else:
            call = self.call(end, kind, id)
        if call:
            self.expect(end, kind, call)
            json |= {"service": call.slot.service, "method": call.slot.name}
        if not call or call.cancelled:
            json["ignored"] = True
        if flags & EXTRAS:
            json |= self.extras(end, kind, id, reader)
        tagged = bool(flags & TAGGED)
        if call and not tagged and (kind != Kind.END or reader.left()):
            need(call.slot.verdict == EQUAL, METHODS, "tagless before BOUND with the verdict 0")
            end.informed = True  # BOUND comes behind HELLO
        return Message(kind, tagged, call, json)

    def expect(self, end: End, kind: Kind, call: Call) -> None:
        half, answers = call.half(end), end is not call.caller
        if kind == Kind.REPLY:
            need(not call.replied, CALLS, "a second REPLY")
            need(call.slot.verdict not in (REFUSED, UNKNOWN), METHODS, "a call of a refused slot is answered by STATUS")
        elif kind in (Kind.ITEM, Kind.END):
            need(half.stream and not half.ended, STREAMS, f"{kind.name} without a stream that is open")
            need(call.replied or not answers, STREAMS, "the stream of the callee follows its REPLY")
            need(kind == Kind.END or not (answers and call.failed), STREAMS, "an ITEM after an exception")

    def spend(self, end: End, message: Message, size: int) -> None:
        """Of a call that is over, only the credit of all streams together is left."""
        peer, call = self.peer(end), message.call
        flows = [(end.flow, peer.takes("window", end))]
        if call:
            flows.append((call.half(end).flow, peer.takes("stream_window", end)))
        for flow, window in flows:
            need(message.frames or flow.left(window) > 0, STREAMS, "an item is begun without credit")
            flow.sent += size

    def extras(self, end: End, kind: Kind, id: int, reader: Reader) -> Json:
        bits, peer, json = reader.byte(), self.peer(end), {}
        need(not bits & ~63, FRAMES, f"extras {bits:02x}")
        of_calls = DEADLINE | TARGET | PROMISE | RESULTS
        need(kind == Kind.CALL or not bits & of_calls, FRAMES, f"extras {bits:02x} in {kind.name}")
        if bits & DEADLINE:
            json["deadline_us"] = reader.varint()
        if bits & COMPRESSION:
            method = word(reader, ["zstd", "lz4"], 1, FRAMES)
            taken = peer.settings["compression"] >> (method == "lz4") & 1
            need(taken, OPENING, f"the other end cannot decompress {method}")
            json["compression"] = {"method": method, "size": reader.varint()}
        if bits & TARGET:
            json["target"] = self.target(end, id, reader.varint())
        if bits & WITH_HEADERS:
            kept = peer.settings["header_table"] if peer.greeted else 0
            json["headers"] = [end.header(reader, kept) for _ in range(reader.count())]
        if bits & PROMISE:
            call = end.calls.get(id)
            need(call and not call.slot.flags, OBJECTS, "a promise of a call that cannot return an object")
            end.promises.add(id)
            json["promise"] = True
        if bits & RESULTS:
            call, count = end.calls.get(id), reader.count()
            need(call and not call.slot.flags, OBJECTS, "results for a call that cannot refer to objects")
            need(0 < count <= MOST_RESULTS, FRAMES, f"{count} results")
            json["results"] = [self.answer_of(end, id, reader.varint()) for _ in range(count)]
            need(len(set(json["results"])) == count, OBJECTS, "a result twice")
        return json

    def target(self, end: End, id: int, target: int) -> Json:
        number = target >> 1
        if not target & 1:
            return {"object": number}
        return {"answer_of": self.answer_of(end, id, number)}

    def answer_of(self, end: End, id: int, number: int) -> int:
        earlier = number % 2 == id % 2 and number != id and number <= end.highest
        need(earlier, OBJECTS, f"{number} is no earlier call of the same caller")
        need(number in end.promises, OBJECTS, f"call {number} has promised nothing, or is forgotten")
        return number

    def complete(self, end: End, message: Message) -> Json:
        json, call, kind = message.json, message.call, message.kind
        json["frames"] = message.frames
        if message.body or kind != Kind.END:
            json |= {"encoding": "tagged" if message.tagged else "tagless"} | self.body(end, message)
            self.pass_objects(end, message)
        if call and kind == Kind.END:
            need(not (call.failed and message.body and end is not call.caller), STREAMS, "a second exception")
            call.half(end).ended = True
        if call and kind == Kind.REPLY:
            call.replied = True
            call.failed = any(name not in ("result", "0") for name in json.get("body", {}))
        if call and self.is_last(end, kind, call):
            call.over()
        return json

    def pass_objects(self, end: End, message: Message) -> None:
        """Counts the references in a body that could be read."""
        call, kind = message.call, message.kind
        if "body" not in message.json:
            end.unread = True
            return
        for reference in references(message.json["body"]):
            need(kind in (Kind.CALL, Kind.REPLY) and not call.slot.flags, OBJECTS, "an object where none can be")
            if "answer_of" in reference:
                named = kind == Kind.CALL and reference["answer_of"] in message.json.get("results", [])
                need(named, OBJECTS, f"the result of call {reference['answer_of']}, which is not announced")
                continue
            number = reference["object"]
            if reference["of"] == "sender":
                end.objects[number] += 1
                call.passed += [number] * (kind == Kind.CALL)
            else:
                known = self.peer(end).unread or self.peer(end).objects[number] > 0
                need(known, OBJECTS, f"object {number} comes home, and was not sent")

    def is_last(self, end: End, kind: Kind, call: Call) -> bool:
        last = Kind.END if call.callee_half.stream else Kind.REPLY
        return kind == last and end is not call.caller

    def body(self, end: End, message: Message) -> Json:
        call, body = message.call, bytes(message.body)
        compression = message.json.get("compression")
        size = max(message.size, compression["size"] if compression else 0)
        most = self.peer(end).takes("message", end)
        raw = {"body_hex": body.hex()}
        if size > most:
            return raw | {"error": Broken(ERRORS, f"{size} bytes are more than the {most} that are taken").json()}
        if not call:
            return raw
        try:
            body = decompress(compression["method"], compression["size"], body) if compression else body
        except Broken as error:
            return raw | {"error": error.json()}
        if body is None:
            return raw
        if not message.tagged and not call.slot.is_ours():
            return raw | {"note": "tagless, and the contract is not the one of this fingerprint"}
        method = call.slot.method if call.slot.verdict != REFUSED else None
        definition = method and method.body(message.kind.name, call.half(end).stream)
        try:
            value = decode(body, definition, message.tagged)
            needed = message.kind == Kind.END or message.kind == Kind.REPLY and method and method.result
            need(value or not needed, ERRORS, f"{message.kind.name} has a union without a value")
            return {"body": value}
        except Broken as error:
            return raw | {"error": error.json()}
