//! Dovetail: a blocking client, and a server with a thread for each connection.

use dovetail::{Context, Model, Server, Status, blocking};
use std::error::Error;
use std::time::Instant;

dovetail::include_contract!("bench");

struct Handler;

impl bench::Bench for Handler {
    async fn get_answer(&self, _: Context, question: i32) -> Result<i32, Status> {
        Ok(question)
    }
}

/// Serves until the process is killed.
pub(crate) fn serve(model: Model) -> Result<(), Box<dyn Error>> {
    let server = Server::new()
        .service(bench::BenchServer::new(Handler))
        .model(model);
    let running = server.listen("tcp://127.0.0.1:0")?.start()?;
    let address = running.addresses()[0].to_string();
    println!("READY {}", address.rsplit(':').next().unwrap_or_default());
    running.wait();
    Ok(())
}

/// Makes calls one after the other; the time of each, in nanoseconds.
pub(crate) fn call(port: u16, calls: usize, wire: &str) -> Result<Vec<u64>, Box<dyn Error>> {
    let address = format!("tcp://127.0.0.1:{port}");
    let channel = blocking::Channel::builder(&address)?
        .wire(wire.parse()?)
        .build();
    let client = bench::BenchBlockingClient::from(channel);
    let mut times = Vec::with_capacity(calls);
    for question in 0..calls as i32 {
        let start = Instant::now();
        let answer = client.get_answer(question)?;
        times.push(start.elapsed().as_nanos() as u64);
        assert_eq!(answer, question);
    }
    // The connection stays open while the figures are taken.
    std::mem::forget(client);
    Ok(times)
}
