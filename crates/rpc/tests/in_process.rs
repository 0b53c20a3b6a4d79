//! Connections that are no sockets: their handlers have a thread, and the runtime of the event loops.
#![cfg(feature = "async")]

use dovetail::blocking::Channel;
use dovetail::{
    Call, Context, HandlerFuture, Method, Model, Server, Service, ServiceDescriptor, Status,
};
use std::sync::Arc;
use std::time::Duration;

static METHODS: [Method; 1] = [Method::new("nap", &[])];
static DESCRIPTOR: ServiceDescriptor = ServiceDescriptor {
    name: "Sleeper",
    base: None,
    methods: &METHODS,
};

struct Sleeper;

impl Service for Sleeper {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &DESCRIPTOR
    }

    fn call<'a>(&'a self, _: usize, call: Call) -> HandlerFuture<'a> {
        call.unary((), |_: Context, ()| async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let there = tokio::spawn(async { 7 }).await;
            there.map_err(|_| Status::new(dovetail::Code::Internal, "the task was lost"))
        })
    }
}

#[test]
fn handlers_find_a_runtime_under_every_model_that_has_one() {
    for model in [
        Model::EventLoops(Some(2)),
        Model::SingleThreaded,
        Model::ThreadPool(2),
    ] {
        let (server, connector) = Server::new().service(Sleeper).model(model).in_process();
        let running = server.start().expect("starts");
        let channel = Channel::through(Arc::new(connector)).build();
        let answer: Result<i32, Status> = channel.call(&METHODS[0], ());
        assert_eq!(answer, Ok(7), "{model:?}");
        assert!(running.shutdown(Duration::from_secs(5)), "{model:?}");
    }
}
