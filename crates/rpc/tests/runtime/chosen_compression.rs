//! Compression that a caller or a handler chooses, and sees, message by message.

use crate::fixture::address;
use crate::grpc::runtime;
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, HandlerFuture, ResponseHeaders};
use dovetail::stream::{Items, Receiver, Upload};
use dovetail::transport::Compression;
use dovetail::{Channel, Context, Server, Service, Status, Wire, descriptor};

descriptor!(static MIRROR = "Mirror" {
    came(1 text: String) -> bool;
    fill(1 compressed: bool) -> String;
    turn() -> (), sink<String>, stream<String>;
});

const CAME: usize = 0;
const FILL: usize = 1;
const TURN: usize = 2;

/// Text that gets smaller.
fn filler() -> String {
    "to be or not to be ".repeat(1000)
}

/// Says how what it gets has come, and answers as the caller wants it.
struct Mirror;

impl Service for Mirror {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &MIRROR
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        match method {
            CAME => call.unary((String::new(),), |cx: Context, _| async move {
                Ok::<_, Status>(cx.compressed())
            }),
            FILL => call.unary((false,), |cx: Context, (compressed,)| async move {
                cx.compress(compressed);
                Ok::<_, Status>(filler())
            }),
            _ => call.chat((), |cx, (), items| async move {
                Ok::<_, Status>(turn(cx, items))
            }),
        }
    }
}

/// Each item says how it has come; what it begins with, says the caller of it.
fn turn<'a>(cx: Context, mut items: Receiver<String>) -> Items<'a, String> {
    Items::with(|mut out| async move {
        while let Some(item) = items.next().await {
            cx.compress(item?.starts_with("packed"));
            out.send(format!("{} {}", items.compressed(), filler()))
                .await;
        }
        Ok(())
    })
}

/// The wires that can, and what a channel says for each.
fn each(test: impl AsyncFn(Channel, Wire)) {
    let server = Server::new()
        .service(Mirror)
        .compression(Compression::zstd(3));
    let running = server.listen("tcp://127.0.0.1:0").unwrap().start().unwrap();
    runtime().block_on(async {
        for wire in [Wire::Dovetail, Wire::Grpc] {
            let builder = Channel::builder(&address(&running)).unwrap().wire(wire);
            let builder = builder.local_upgrade(false);
            let channel = builder.compression(Compression::lz4()).gzip().build();
            // From now on each end knows what the other one takes.
            let greeted: Result<bool, Status> = channel.call(&MIRROR.methods[CAME], ("",)).await;
            assert_eq!(greeted, Ok(false), "{wire}");
            test(channel, wire).await;
        }
    });
}

#[test]
fn a_caller_chooses_and_the_handler_sees_it() {
    each(async |channel, wire| {
        for (channel, compressed) in [
            (channel.clone(), true),
            (channel.with_compression(false), false),
            (channel.with_compression(true), true),
        ] {
            let came: Result<bool, Status> = channel.call(&MIRROR.methods[CAME], (filler(),)).await;
            assert_eq!(came, Ok(compressed), "{wire}");
        }
    });
}

#[test]
fn a_handler_chooses_and_the_caller_sees_it() {
    each(async |channel, wire| {
        if wire != Wire::Grpc {
            return;
        }
        let said = ResponseHeaders::default();
        for channel in [channel.clone(), channel.with_compression(false)] {
            let channel = channel.with_response_headers(&said);
            for compressed in [true, false] {
                let filled: Result<String, Status> =
                    channel.call(&MIRROR.methods[FILL], (compressed,)).await;
                assert_eq!(filled, Ok(filler()));
                assert_eq!(said.compressed(), compressed);
            }
        }
    });
}

#[test]
fn each_item_has_its_own() {
    each(async |channel, wire| {
        let opened: Result<Upload<String, Receiver<String>>, Status> =
            channel.chat(&MIRROR.methods[TURN], ()).await;
        let (mut sender, answer) = opened.unwrap();
        let mut answer = Some(answer);
        let mut items = None;
        for (sent, wanted) in [(true, true), (false, true), (true, false), (false, false)] {
            sender.compress(sent);
            let wish = if wanted { "packed" } else { "plain" };
            sender.send(&format!("{wish} {}", filler())).await.unwrap();
            if let Some(answer) = answer.take() {
                items = Some(answer.await.unwrap());
            }
            let items: &mut Receiver<String> = items.as_mut().unwrap();
            let item = items.next().await.unwrap().unwrap();
            assert!(
                item.starts_with(&sent.to_string()),
                "{wire} {sent} {wanted}"
            );
            assert_eq!(items.compressed(), wanted, "{wire} {sent} {wanted}");
        }
        sender.finish();
        assert!(items.unwrap().next().await.is_none(), "{wire}");
    });
}
