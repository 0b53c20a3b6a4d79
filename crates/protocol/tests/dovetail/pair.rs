//! Two machines with a pipe between them that delivers in pieces of any size.

use bytes::BytesMut;
use dovetail_protocol::dovetail::{
    Awaits, CallError, Connection, Contract, Description, Directory, Event, IncomingCall,
    MethodKey, MethodKind, NoMethods, Options, OutgoingCall, ProtocolError, Role, Sent, Target,
};
use dovetail_protocol::{Code, Headers, Name, Status};
use dovetail_wire::{Bytes, Encoding, Limits};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The methods that a server has, with what it says of them.
#[derive(Clone, Default)]
pub(crate) struct Methods(pub(crate) Vec<Arc<Contract>>);

impl Directory for Methods {
    fn find(&self, _: &str, method: &str) -> Result<(usize, Arc<Contract>), Status> {
        let found = self.0.iter().position(|known| known.method == *method);
        match found {
            Some(route) => Ok((route, self.0[route].clone())),
            None => Err(Status::new(Code::Unimplemented, format!("no `{method}`"))),
        }
    }
}

/// A method without a contract.
pub(crate) fn nameless(method: &str) -> Contract {
    Contract {
        service: Name::default(),
        method: Name::new(method),
        kind: match method {
            "note" => MethodKind::OneWay,
            "upload" => MethodKind::ClientStream,
            "download" => MethodKind::ServerStream,
            "chat" => MethodKind::BothStreams,
            _ => MethodKind::Unary,
        },
        description: None,
    }
}

/// A method with a contract in canonical form.
pub(crate) fn described(method: &str, description: &[u8]) -> Contract {
    Contract {
        description: Some(Description::new(description.to_vec())),
        ..nameless(method)
    }
}

/// One direction: what has been sent and has not arrived, and what has arrived and was not
/// understood yet.
#[derive(Default)]
struct Pipe {
    sent: Vec<u8>,
    arrived: BytesMut,
}

/// The items that have arrived of one stream.
#[derive(Debug, Default)]
pub(crate) struct Arrived {
    pub(crate) items: Vec<Vec<u8>>,
    /// The credit of those that nobody has taken.
    pub(crate) untaken: Vec<usize>,
    pub(crate) end: Option<Result<Option<Vec<u8>>, Status>>,
}

/// A client, a server, and what each of them has seen.
pub(crate) struct Pair {
    pub(crate) client: Connection,
    pub(crate) server: Connection,
    /// Streams of the server, by call.
    pub(crate) to_client: HashMap<u32, Arrived>,
    /// Streams of the client, by call.
    pub(crate) to_server: HashMap<u32, Arrived>,
    methods: Methods,
    up: Pipe,
    down: Pipe,
    /// Calls that the server has to answer.
    pub(crate) calls: Vec<IncomingCall>,
    pub(crate) cancelled: Vec<u32>,
    pub(crate) outcomes: HashMap<u32, Result<Vec<u8>, Status>>,
    pub(crate) failures: Vec<(Role, ProtocolError)>,
    /// References that one end no longer has to objects of the other, which is named.
    pub(crate) released: Vec<(Role, u32, u64)>,
}

/// The calls to whose results the parameters of a call refer.
#[derive(Debug)]
struct Results(Vec<u32>);

impl Awaits for Results {
    fn awaits(&self) -> Vec<u32> {
        self.0.clone()
    }
}

impl Pair {
    pub(crate) fn new(methods: Methods, client: Options, server: Options) -> Self {
        Pair {
            client: Connection::new(Role::Client, client),
            server: Connection::new(Role::Server, server),
            to_client: HashMap::new(),
            to_server: HashMap::new(),
            methods,
            up: Pipe::default(),
            down: Pipe::default(),
            calls: Vec::new(),
            cancelled: Vec::new(),
            outcomes: HashMap::new(),
            failures: Vec::new(),
            released: Vec::new(),
        }
    }

    /// Lets each end, which takes messages of 100,000 bytes, say that it takes 2 MiB: the other one
    /// sends larger ones than it takes.
    pub(crate) fn hide_message_limits(&mut self) {
        const SAID: [u8; 4] = [2, 0xa0, 0x8d, 0x06];
        const WIDER: [u8; 4] = [2, 0xff, 0xff, 0x7f];
        self.client.transmit(&mut self.up.sent);
        self.server.transmit(&mut self.down.sent);
        for sent in [&mut self.up.sent, &mut self.down.sent] {
            let found = sent.windows(4).position(|key| key == SAID);
            let at = found.expect("a limit of 100,000 in HELLO");
            sent[at..at + 4].copy_from_slice(&WIDER);
        }
    }

    /// Calls a method with a blob.
    pub(crate) fn call(
        &mut self,
        contract: &Arc<Contract>,
        body: &Bytes,
        deadline: Option<Duration>,
        headers: &Headers,
    ) -> Result<Option<u32>, CallError> {
        let key = MethodKey::Address(Arc::as_ptr(contract).addr());
        let call = OutgoingCall {
            plain: false,
            method: &key,
            deadline,
            headers,
            target: None,
            promise: false,
            awaits: None,
        };
        self.call_with(&call, contract, body)
    }

    /// Calls an object, or what another call returns.
    pub(crate) fn call_object(
        &mut self,
        contract: &Arc<Contract>,
        body: &Bytes,
        target: Option<Target>,
        promise: bool,
    ) -> u32 {
        self.call_with_results(contract, body, target, promise, Vec::new())
    }

    /// Calls with parameters that refer to the results of others.
    pub(crate) fn call_with_results(
        &mut self,
        contract: &Arc<Contract>,
        body: &Bytes,
        target: Option<Target>,
        promise: bool,
        results: Vec<u32>,
    ) -> u32 {
        let results = Results(results);
        let key = MethodKey::Address(Arc::as_ptr(contract).addr());
        let call = OutgoingCall {
            plain: false,
            method: &key,
            deadline: None,
            headers: &Headers::new(),
            target,
            promise,
            awaits: Some(&results),
        };
        let called = self.call_with(&call, contract, body).expect("a call");
        called.expect("an answer")
    }

    fn call_with(
        &mut self,
        call: &OutgoingCall<'_>,
        contract: &Arc<Contract>,
        body: &Bytes,
    ) -> Result<Option<u32>, CallError> {
        let known = || contract.clone();
        self.client.call(call, known, body, &mut self.up.sent)
    }

    pub(crate) fn answer(&mut self, index: usize, answer: Result<&Bytes, &Status>) {
        let call = self.calls.swap_remove(index);
        if answer.is_err() || !call.kind.server_streams() {
            self.server.answered(call.reply.call());
        }
        match answer {
            Ok(body) => {
                let reply = call
                    .reply
                    .reply(&mut self.down.sent, body, Limits::default());
                reply.expect("a blob has an encoding");
            }
            Err(status) => call.reply.fail(&mut self.down.sent, status),
        }
    }

    /// Sends an item of one end's stream.
    pub(crate) fn item(&mut self, from: Role, call: u32, item: &Bytes) -> Sent {
        let (end, pipe) = match from {
            Role::Client => (&mut self.client, &mut self.up),
            Role::Server => (&mut self.server, &mut self.down),
        };
        let sent = end.item(call, item, &mut pipe.sent);
        sent.expect("a blob has an encoding")
    }

    /// Ends one end's stream.
    pub(crate) fn end(&mut self, from: Role, call: u32, exception: Option<&Bytes>) {
        let (end, pipe) = match from {
            Role::Client => (&mut self.client, &mut self.up),
            Role::Server => (&mut self.server, &mut self.down),
        };
        match exception {
            None => end.end(call, &mut pipe.sent),
            Some(exception) => end
                .end_with(call, exception, &mut pipe.sent)
                .expect("a blob has an encoding"),
        }
    }

    /// Takes all items that have arrived at one end for a call.
    pub(crate) fn take(&mut self, at: Role, call: u32) {
        let (end, arrived) = match at {
            Role::Client => (&mut self.client, &mut self.to_client),
            Role::Server => (&mut self.server, &mut self.to_server),
        };
        let untaken = arrived.get_mut(&call).map(|arrived| &mut arrived.untaken);
        for credit in untaken.into_iter().flat_map(|untaken| untaken.drain(..)) {
            end.taken(call, credit);
        }
    }

    /// Moves up to `bytes` in each direction. False where nothing was left to move.
    pub(crate) fn step(&mut self, bytes: usize) -> bool {
        self.client.transmit(&mut self.up.sent);
        let up = self.up.carry(bytes);
        self.serve();
        self.server.transmit(&mut self.down.sent);
        let down = self.down.carry(bytes);
        self.take_answers();
        up || down
    }

    /// Delivers everything, in pieces of this size.
    pub(crate) fn settle(&mut self, piece: usize) {
        while self.step(piece) {}
    }

    /// Returns the bytes that wait to be carried to the server.
    pub(crate) fn sent_by_client(&mut self) -> &mut Vec<u8> {
        &mut self.up.sent
    }

    /// Returns the bytes that wait to be carried to the client.
    pub(crate) fn sent_by_server(&mut self) -> &mut Vec<u8> {
        &mut self.down.sent
    }

    fn serve(&mut self) {
        loop {
            match self.server.receive(&mut self.up.arrived, &self.methods) {
                Ok(Some(Event::Call(call))) => self.calls.push(call),
                Ok(Some(Event::Cancelled { call })) => self.cancelled.push(call),
                Ok(Some(Event::Reply { call, .. })) => panic!("an answer to {call}"),
                Ok(Some(Event::Released { object, count })) => {
                    self.released.push((Role::Server, object, count));
                }
                Ok(Some(event)) => note(&mut self.to_server, event),
                Ok(None) => return,
                Err(error) => return self.failures.push((Role::Server, error)),
            }
        }
    }

    fn take_answers(&mut self) {
        loop {
            match self.client.receive(&mut self.down.arrived, &NoMethods) {
                Ok(Some(Event::Reply { call, result, .. })) => {
                    let result = result.map(|(encoding, body)| decode(encoding, &body));
                    let before = self.outcomes.insert(call, result);
                    assert!(before.is_none(), "{call} has two outcomes");
                }
                Ok(Some(Event::Released { object, count })) => {
                    self.released.push((Role::Client, object, count));
                }
                Ok(Some(event)) => note(&mut self.to_client, event),
                Ok(None) => return,
                Err(error) => return self.failures.push((Role::Client, error)),
            }
        }
    }
}

fn note(streams: &mut HashMap<u32, Arrived>, event: Event) {
    match event {
        Event::Item {
            call,
            encoding,
            body,
            credit,
        } => {
            let stream = streams.entry(call).or_default();
            assert!(stream.end.is_none(), "{call} goes on behind its end");
            let body = body.decompress().expect("an honest peer");
            stream.items.push(decode(encoding, &body));
            stream.untaken.push(credit);
        }
        Event::End { call, result } => {
            let result = result.map(|body| body.map(|(encoding, body)| decode(encoding, &body)));
            let before = streams.entry(call).or_default().end.replace(result);
            assert!(before.is_none(), "{call} ends twice");
        }
        Event::Credit { .. } => {}
        event => panic!("{event:?}"),
    }
}

impl Pipe {
    fn carry(&mut self, bytes: usize) -> bool {
        let carried = bytes.min(self.sent.len());
        self.arrived.extend(self.sent.drain(..carried));
        carried > 0
    }
}

/// The blob that a body is.
pub(crate) fn decode(encoding: Encoding, body: &Bytes) -> Vec<u8> {
    let mut blob = Bytes::new();
    let read = encoding.decode(&mut blob, body, Limits::default());
    assert_eq!(read, Ok(body.len()));
    blob.to_vec()
}
