use crate::caller::{Naming, Way};
use crate::captured::{self, Called, Captured, ReadCall, answer, difference, reply_json};
use crate::failure::{Exit, Failure, Result};
use crate::headers::Headers;
use crate::output::{self, tell};
use crate::streams::End;
use crate::tls::ClientOptions;
use crate::values::duration;
use clap::Args;
use dovetail::{Channel, Status, Wire};
use dovetail_dynamic::{Contract, Params, ReplySlot};
use serde_json::{Value as Json, json};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::LocalSet;

/// Make the calls of a capture again, and compare the answers
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dovetail replay shop.capture 127.0.0.1:9090                      at the pace of the capture
  dovetail replay shop.capture 127.0.0.1:9090 --speed 10           ten times as fast
  dovetail replay shop.capture 127.0.0.1:9090 --speed max --callers 64   one call behind the other
  dovetail replay shop.capture 127.0.0.1:9090 --wire grpc          over another wire
  dovetail replay shop.capture 127.0.0.1:9090 --ignore time --ignore id

Calls that change something change it again: replay against a test server. Headers of the
capture are not sent; --header sends one with every call.
Exit code: 0 if all answers are those of the capture, 1 if not. docs/capture.md has more.")]
pub(crate) struct Replay {
    /// The capture; `dovetail capture take` writes one
    file: PathBuf,
    /// tcp://HOST:PORT, tls://HOST:PORT or unix:/PATH
    address: String,
    /// The wire for all calls
    #[arg(short, long, value_name = "WIRE", default_value = "dovetail")]
    wire: Wire,
    /// How many times as fast as the capture; `max` makes a call as soon as an earlier one is over
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = speed)]
    speed: Speed,
    /// Calls at the same time, at most
    #[arg(long, value_name = "NUMBER", default_value = "16", value_parser = clap::value_parser!(u16).range(1..))]
    callers: u16,
    /// Only calls of this service or method; can be repeated
    #[arg(long, value_name = "SERVICE[/METHOD]")]
    method: Vec<String>,
    /// Do not compare fields of this name, at any depth; can be repeated
    #[arg(long, value_name = "FIELD")]
    ignore: Vec<String>,
    /// Show so many answers that differ
    #[arg(long, value_name = "NUMBER", default_value = "10")]
    show: usize,
    /// Give a call up after this time
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    timeout: Duration,
    /// The server has several Thrift services on this port: say which one is called
    #[arg(short, long)]
    multiplexed: bool,
    #[command(flatten)]
    headers: Headers,
    #[command(flatten)]
    tls: ClientOptions,
}

/// The pace of calls.
#[derive(Clone, Copy, Debug)]
enum Speed {
    Times(f64),
    Max,
}

fn speed(text: &str) -> std::result::Result<Speed, String> {
    match text.parse::<f64>() {
        _ if text == "max" => Ok(Speed::Max),
        Ok(factor) if factor > 0.0 && factor.is_finite() => Ok(Speed::Times(factor)),
        _ => Err("a number more than 0, or `max`".to_owned()),
    }
}

impl Replay {
    pub(crate) fn run(self) -> Result {
        let mut captured = Captured::open(&self.file)?;
        let mut calls = captured.rest()?;
        tell(&captured.summary());
        calls.retain(|call| self.wants(call));
        calls.sort_by_key(|call| call.call.began);
        let replayable = calls.iter().filter(|call| call.is_replayable()).count();
        if replayable < calls.len() {
            let left_out = calls.len() - replayable;
            tell(&format!(
                "{left_out} calls are left out: they are not whole, or cannot be read"
            ));
        }
        calls.retain(ReadCall::is_replayable);
        if calls.is_empty() {
            let failure = "there is no call to make again";
            return Err(Failure::new(Exit::Failed, failure)
                .help("`dovetail capture view` shows the calls of the capture"));
        }
        let channels = self.channels(captured.contract, &calls)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.map_err(|problem| Failure::new(Exit::Failed, problem))?;
        let tasks = LocalSet::new();
        let results = tasks.block_on(&runtime, self.replay(captured.contract, calls, &channels));
        self.report(&results)
    }

    /// Returns true for a call of a method that is asked for.
    fn wants(&self, read: &ReadCall) -> bool {
        let (service, method) = (&read.call.service, &read.call.method);
        let called = format!("{service}/{method}");
        let mut wanted = self.method.iter();
        self.method.is_empty() || wanted.any(|place| *place == called || place == service)
    }

    /// Opens a channel for each service.
    fn channels(
        &self,
        contract: &Contract<'_>,
        calls: &[ReadCall],
    ) -> Result<HashMap<String, Channel>> {
        let mut target = self.tls.target(&self.address)?;
        target.headers = self.headers.pairs()?;
        let wire = target.wire(self.wire)?;
        self.headers.check(wire)?;
        let schema = contract.schema();
        let naming = Naming {
            described: true,
            multiplexed: self.multiplexed,
        };
        let mut channels = HashMap::new();
        for (name, called) in calls
            .iter()
            .filter_map(|call| Some((&call.call.service, call.called?)))
        {
            if channels.contains_key(name) {
                continue;
            }
            let service = &schema[called.service];
            let way = Way::new(
                target.clone(),
                wire,
                naming.of(wire, &schema[service.package].name, &service.name),
                self.timeout,
            );
            let channel = way.channel();
            let channel = channel.map_err(|status| Failure::new(Exit::Call, status))?;
            channels.insert(name.clone(), channel);
        }
        Ok(channels)
    }

    async fn replay(
        &self,
        contract: &'static Contract<'static>,
        calls: Vec<ReadCall>,
        channels: &HashMap<String, Channel>,
    ) -> Vec<Replayed> {
        let places = Arc::new(Semaphore::new(self.callers.into()));
        let results = Rc::new(RefCell::new(Vec::new()));
        let (began, first) = (
            Instant::now(),
            calls.first().map_or(0, |call| call.call.began),
        );
        let mut running = Vec::new();
        for read in calls {
            if let Speed::Times(factor) = self.speed {
                let after = read.call.began.saturating_sub(first) as f64 / 1e6 / factor;
                // A file may claim any time.
                let after = Duration::try_from_secs_f64(after).unwrap_or(Duration::MAX);
                tokio::time::sleep(after.saturating_sub(began.elapsed())).await;
            }
            // The semaphore is never closed.
            let Ok(place) = places.clone().acquire_owned().await else {
                break;
            };
            let Some(channel) = channels.get(&read.call.service).cloned() else {
                continue;
            };
            let (results, ignore) = (results.clone(), self.ignore.clone());
            running.push(tokio::task::spawn_local(async move {
                let begun = Instant::now();
                let (items, outcome) = again(contract, &read, &channel).await;
                let elapsed = begun.elapsed();
                drop(place);
                results.borrow_mut().push(Replayed {
                    expected: read.answer(&ignore),
                    found: answer(items, outcome, &ignore),
                    elapsed,
                    read,
                });
            }));
        }
        for call in running {
            // One that has panicked has no result.
            _ = call.await;
        }
        results.take()
    }

    fn report(&self, results: &[Replayed]) -> Result {
        let different = results.iter().filter(|call| call.expected != call.found);
        let different: Vec<&Replayed> = different.collect();
        for call in different.iter().take(self.show) {
            output::write(&difference(&call.read, &call.expected, &call.found))?;
        }
        let times = |of: &dyn Fn(&Replayed) -> f64| {
            let mut times: Vec<f64> = results.iter().map(of).collect();
            times.sort_by(f64::total_cmp);
            let at = |share: f64| {
                let place = (times.len() as f64 * share) as usize;
                times
                    .get(place.min(times.len().saturating_sub(1)))
                    .copied()
                    .unwrap_or(0.0)
            };
            format!("p50 {:.3} ms, p99 {:.3} ms", at(0.5), at(0.99))
        };
        output::write(&format!(
            "{} calls over {}: {} answers as captured, {} different\n  here      {}\n  captured  {}\n",
            results.len(),
            self.wire,
            results.len() - different.len(),
            different.len(),
            times(&|call| call.elapsed.as_secs_f64() * 1e3),
            times(&|call| call.read.call.elapsed as f64 / 1e3),
        ))?;
        match different.is_empty() {
            true => Ok(()),
            false => Err(Failure::silent(Exit::Failed)),
        }
    }
}

/// A call that was made again.
struct Replayed {
    read: ReadCall,
    expected: Json,
    found: Json,
    elapsed: Duration,
}

impl ReadCall {
    /// Returns true if all is there that is needed to make the call again.
    fn is_replayable(&self) -> bool {
        self.called.is_some() && self.call.missing.is_empty() && !self.call.code.is_empty()
    }
}

/// Makes a call again. Returns the items that have come, and how it has ended.
async fn again(
    contract: &'static Contract<'static>,
    read: &ReadCall,
    channel: &Channel,
) -> (Vec<Json>, Json) {
    let failed = |status: &Status| json!({ "failed": { "code": status.code().to_string() } });
    let unreadable = |why: String| (Vec::new(), json!({ "unreadable": why }));
    let Some(Called {
        method,
        row,
        streamed,
        ..
    }) = read.called
    else {
        return unreadable("no method".to_owned());
    };
    let values = match captured::arguments(contract, method, &read.call) {
        Ok(values) => values,
        Err(why) => return unreadable(why),
    };
    let Some(streamed) = streamed else {
        let params = Params::new(contract, method, &values);
        if method.oneway {
            let sent = channel.notify_described(row, &params).await;
            return (
                Vec::new(),
                sent.map_or_else(|status| failed(&status), |()| json!({ "result": null })),
            );
        }
        let mut slot = ReplySlot::new(contract, method);
        let called = channel.call_described(row, &params, &mut slot).await;
        let reply = called.and_then(|()| crate::caller::reply(slot));
        return (
            Vec::new(),
            match reply {
                Ok(reply) => reply_json(contract, method, &reply),
                Err(status) => failed(&status),
            },
        );
    };
    let mut items = Vec::new();
    let sent = read.items.iter().filter(|(sent, _)| !sent);
    let lines: Vec<String> = sent.map(|(_, item)| item.to_string()).collect();
    let lines = || {
        let (sender, receiver) = mpsc::channel(lines.len().max(1));
        lines.into_iter().for_each(|line| _ = sender.try_send(line));
        receiver
    };
    let mut keep = |item: &Json| {
        items.push(item.clone());
        Ok(())
    };
    let ended = streamed.run(channel, &values, lines, &mut keep).await;
    let outcome = match ended {
        Ok(End::Reply(reply)) => reply_json(contract, method, &reply),
        Ok(End::Thrown(reply, end)) => reply_json(contract, end, &reply),
        Ok(End::Failed(status)) => failed(&status),
        Err(_) => return unreadable("an item cannot be sent".to_owned()),
    };
    // A result stands before the items.
    if method.result.is_some() && method.server_stream.is_some() && !items.is_empty() {
        items.remove(0);
    }
    (items, outcome)
}
