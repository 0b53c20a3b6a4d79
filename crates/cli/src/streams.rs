//! A call with streams from a terminal: items are lines of JSON, on standard input and on standard
//! output.

use crate::caller::reply;
use crate::captured::decode;
use crate::failure::{Exit, Failure, Result};
use crate::output;
use dovetail::encoding::{Encode, EncodeError, Writer};
use dovetail::stream::{DescribedNext, DescribedStreams};
use dovetail::types::Bytes;
use dovetail::{Channel, Status};
use dovetail_dynamic::{
    Contract, Params, ParamsSlot, Reply, ReplySlot, Struct, Value, from_json, to_json,
};
use dovetail_schema::{Field, Method, Stream};
use serde_json::Value as Json;
use std::io::BufRead as _;
use tokio::sync::mpsc::{Receiver, channel};

/// A method with streams, and how its items are encoded.
pub(crate) struct Streamed {
    contract: &'static Contract<'static>,
    method: &'static Method,
    row: &'static dovetail::method::Method,
    sent: Option<Items>,
    received: Option<Items>,
}

/// The end of a call.
pub(crate) enum End {
    /// The reply. All items have come before it.
    Reply(Reply),
    /// A declared exception in the place of further items.
    Thrown(Reply, &'static Method),
    Failed(Status),
}

/// The items of a stream. Each is encoded as the only parameter of a made-up method. The wire
/// decides the number of the parameter.
pub(crate) struct Items {
    stream: &'static Stream,
    methods: [&'static Method; 3],
    /// The exceptions that end it are those of another one.
    end: &'static Method,
}

/// An item to be sent.
struct Item<'a> {
    contract: &'a Contract<'a>,
    method: &'a Method,
    values: Struct,
}

impl Encode for Item<'_> {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) -> std::result::Result<(), EncodeError> {
        Params::new(self.contract, self.method, &self.values).encode(writer)
    }
}

impl Items {
    fn new(method: &'static Method, stream: &'static Stream) -> Items {
        let other = |params, throws| -> &'static Method {
            Box::leak(Box::new(Method {
                params,
                throws,
                result: None,
                client_stream: None,
                server_stream: None,
                ..method.clone()
            }))
        };
        let item = |id| Field::new(id, "item", stream.item.clone());
        Items {
            stream,
            methods: [0, 1, 2].map(|id| other(vec![item(id)], Vec::new())),
            end: other(Vec::new(), stream.throws.clone()),
        }
    }

    /// The method whose exceptions end the stream.
    pub(crate) fn end(&self) -> &'static Method {
        self.end
    }

    /// Reads an item of a capture.
    pub(crate) fn read(
        &self,
        contract: &Contract<'_>,
        bytes: &Bytes,
    ) -> std::result::Result<Json, String> {
        let mut slot = ParamsSlot::new(contract, self.methods[0]);
        decode(&mut slot, bytes)?;
        let item = slot.values.take(0);
        let item = item.map(|item| to_json(contract, &self.stream.item, &item));
        Ok(item.unwrap_or(Json::Null))
    }

    /// The method for items in the field of this number.
    fn method(&self, field: i32) -> &'static Method {
        let at = usize::try_from(field).unwrap_or(0);
        self.methods.get(at).copied().unwrap_or(self.methods[0])
    }
}

impl Streamed {
    /// `None` for a method without streams.
    pub(crate) fn new(
        contract: &'static Contract<'static>,
        method: &'static Method,
        row: &'static dovetail::method::Method,
    ) -> Option<Streamed> {
        let items = |stream: &'static Option<Stream>| {
            let stream = stream.as_ref()?;
            Some(Items::new(method, stream))
        };
        let (sent, received) = (items(&method.client_stream), items(&method.server_stream));
        (sent.is_some() || received.is_some()).then_some(Streamed {
            contract,
            method,
            row,
            sent,
            received,
        })
    }

    /// Returns the items of the caller.
    pub(crate) fn sent(&self) -> Option<&Items> {
        self.sent.as_ref()
    }

    /// Returns the items of the server.
    pub(crate) fn received(&self) -> Option<&Items> {
        self.received.as_ref()
    }

    /// Whether it reads standard input.
    pub(crate) fn reads(&self) -> bool {
        self.sent.is_some()
    }

    /// Calls, sends what comes on standard input, and prints the items that come.
    pub(crate) fn call(&self, channel: &Channel, arguments: &Struct) -> Result<End> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.map_err(|problem| Failure::new(Exit::Failed, problem))?;
        let ended = runtime.block_on(self.run(channel, arguments, lines, &mut print));
        // Standard input may be open for ever.
        runtime.shutdown_background();
        ended
    }

    /// Sends an item for each line, and passes the items that arrive to `show`.
    pub(crate) async fn run(
        &self,
        channel: &Channel,
        arguments: &Struct,
        lines: impl FnOnce() -> Receiver<String>,
        show: &mut impl FnMut(&Json) -> Result,
    ) -> Result<End> {
        let opened = async {
            let result = self.method.result.is_some() && self.received.is_some();
            let params = Params::new(self.contract, self.method, arguments);
            channel.open_described(self.row, &params, result).await
        };
        let streams = match opened.await {
            Ok(streams) => streams,
            Err(status) => return Ok(End::Failed(status)),
        };
        let receiving = self.receive(&streams, show);
        match &self.sent {
            None => receiving.await,
            Some(items) => {
                let sending = self.send(&streams, items, lines());
                tokio::pin!(receiving);
                tokio::select! {
                    biased;
                    // The answer may come before all has been sent.
                    ended = &mut receiving => ended,
                    sent = sending => {
                        sent?;
                        receiving.await
                    }
                }
            }
        }
    }

    async fn send(
        &self,
        streams: &DescribedStreams,
        items: &Items,
        mut lines: Receiver<String>,
    ) -> Result {
        while let Some(line) = lines.recv().await {
            if line.trim().is_empty() {
                continue;
            }
            let value = self.item(items, &line)?;
            let item = |field| Item {
                contract: self.contract,
                method: items.method(field),
                values: [(field, value.clone())].into_iter().collect(),
            };
            // The answer says why no more is taken.
            if streams.send(item).await.is_err() {
                return Ok(());
            }
        }
        streams.finish();
        Ok(())
    }

    fn item(&self, items: &Items, line: &str) -> Result<Value> {
        let json: Json = serde_json::from_str(line).map_err(|problem| {
            let failure = format!("a line of standard input is no JSON: {problem}");
            Failure::new(Exit::Usage, failure).help("each item is one line")
        })?;
        from_json(self.contract, &items.stream.item, &json).map_err(|problem| {
            let place = match problem.path() {
                path if path.is_empty() => String::new(),
                path => format!("{path}: "),
            };
            let (name, what) = (&self.method.name, problem.problem());
            let failure = format!("an item does not fit `{name}`: {place}{what}");
            Failure::new(Exit::Usage, failure).maybe_help(problem.suggestion())
        })
    }

    async fn receive(
        &self,
        streams: &DescribedStreams,
        show: &mut impl FnMut(&Json) -> Result,
    ) -> Result<End> {
        let mut slot = ReplySlot::new(self.contract, self.method);
        let answered = streams.answer(&mut slot).await.and_then(|()| reply(slot));
        let answer = match answered {
            Ok(answer) => answer,
            Err(status) => return Ok(End::Failed(status)),
        };
        let Some(items) = &self.received else {
            return Ok(End::Reply(answer));
        };
        if let (Reply::Result(Some(value)), Some(ty)) = (&answer, &self.method.result) {
            show(&to_json(self.contract, ty, value))?;
        }
        loop {
            let mut thrown = ReplySlot::new(self.contract, items.end);
            let mut number = 0;
            let slot = |field| {
                number = field;
                ParamsSlot::new(self.contract, items.method(field))
            };
            match streams.next(slot, &mut thrown).await {
                Ok(DescribedNext::Item(mut slot)) => {
                    let item = slot.values.take(number);
                    let ty = &items.stream.item;
                    show(&item.map_or(Json::Null, |item| to_json(self.contract, ty, &item)))?;
                }
                Ok(DescribedNext::End) => return Ok(End::Reply(answer)),
                Ok(DescribedNext::Thrown) => {
                    return Ok(match reply(thrown) {
                        Ok(thrown) => End::Thrown(thrown, items.end),
                        Err(status) => End::Failed(status),
                    });
                }
                Err(status) => return Ok(End::Failed(status)),
            }
        }
    }
}

/// The lines of standard input, as they come.
fn lines() -> Receiver<String> {
    let (sender, receiver) = channel(16);
    // It may wait for ever: nobody waits for it.
    std::thread::spawn(move || {
        for line in std::io::stdin()
            .lock()
            .lines()
            .map_while(std::result::Result::ok)
        {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

fn print(item: &Json) -> Result {
    output::json(&item.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::caller::Way;
    use crate::tables::{forever, table};
    use dovetail::method::ServiceDescriptor;
    use dovetail::server::{Call, HandlerFuture};
    use dovetail::stream::Items as Numbers;
    use dovetail::{Context, Server, Service, Wire, descriptor};
    use dovetail_idl::MemoryLoader;
    use dovetail_schema::ServiceId;
    use std::time::Duration;

    descriptor!(static FLOW = "Flow" in "flow" {
        numbers(1 to: i32) -> (), stream<i32>;
        sum() -> i64, sink<i32>;
    });

    const CONTRACT: &str = "service Flow { stream<i32> numbers(1: i32 to) sink<i32, i64> sum() }";

    struct Flow;

    impl Service for Flow {
        fn descriptor(&self) -> &'static ServiceDescriptor {
            &FLOW
        }

        fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
            match method {
                0 => call.stream((0,), |_: Context, (to,): (i32,)| async move {
                    Ok::<_, Status>(Numbers::<i32>::iter(0..to))
                }),
                _ => call.upload(
                    (),
                    |_: Context, (), mut items: dovetail::stream::Receiver<i32>| async move {
                        let mut sum = 0;
                        while let Some(item) = items.next().await {
                            sum += i64::from(item?);
                        }
                        Ok::<_, Status>(sum)
                    },
                ),
            }
        }
    }

    fn way(wire: Wire, address: &dovetail::Address) -> Way {
        Way::new(
            address.to_string().parse().unwrap(),
            wire,
            Some("flow.Flow".to_owned()),
            Duration::from_secs(30),
        )
    }

    #[test]
    fn items_travel_by_their_contract() {
        let files = MemoryLoader::from_iter([("flow.thrift", CONTRACT)]);
        let schema = dovetail_idl::compile("flow.thrift", &files).schema.unwrap();
        let contract = forever(schema, true);
        let table = table(contract, ServiceId(0));
        let server = Server::new().service(Flow);
        let running = server.listen("tcp://127.0.0.1:0").unwrap().start().unwrap();
        for wire in [
            "dovetail",
            "grpc",
            "grpc-web+json",
            "connect",
            "connect+json",
        ] {
            let wire: Wire = wire.parse().expect("a wire");
            let way = way(wire, &running.addresses()[0]);
            let call = |at: usize, arguments: Struct, lines: &[&str]| {
                let (method, row) = (table.methods[at], &table.descriptor.methods[at]);
                let streamed = Streamed::new(contract, method, row).unwrap();
                let (sender, receiver) = channel(lines.len().max(1));
                lines
                    .iter()
                    .for_each(|line| sender.try_send((*line).to_owned()).unwrap());
                drop(sender);
                let mut printed = Vec::new();
                let ended = crate::remote::block_on(async {
                    let channel = way.channel().unwrap();
                    let mut print = |item: &Json| {
                        printed.push(item.clone());
                        Ok(())
                    };
                    let receiver = || receiver;
                    streamed
                        .run(&channel, &arguments, receiver, &mut print)
                        .await
                });
                let Ok(Ok(End::Reply(reply))) = ended else {
                    panic!("no reply over {wire}");
                };
                (reply, printed)
            };
            let to: Struct = [(1, Value::Int(3))].into_iter().collect();
            let (reply, printed) = call(0, to, &[]);
            assert_eq!(reply, Reply::Result(None));
            assert_eq!(printed, [0, 1, 2].map(Json::from));
            let (reply, printed) = call(1, Struct::new(), &["40", "", "2"]);
            assert_eq!(reply, Reply::Result(Some(Value::Int(42))));
            assert!(printed.is_empty());
        }
        assert!(running.shutdown(Duration::from_secs(30)));
    }
}
