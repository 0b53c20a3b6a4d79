mod dump;
mod shown;

use crate::administration::Administration;
use crate::captured::{Captured, ReadCall, difference};
use crate::failure::{Exit, Failure, Result};
use crate::output::{self, tell};
use crate::paint::Stream;
use crate::remote::block_on;
use crate::values::{bytes, duration};
use clap::{Args, Subcommand};
use dovetail::capture::{CaptureFilter, capture};
use dovetail::{Code, Status};
use dump::Dump;
use serde_json::Value as Json;
use shown::Shown;
use std::collections::HashMap;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Capture calls of a running server, and show them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dovetail capture take 127.0.0.1:9091 shop.capture                all calls of a minute
  dovetail capture take 127.0.0.1:9091 shop.capture --for 10s --method shop.v1.Orders/place
  dovetail capture take 127.0.0.1:9091 slow.capture --slower 100ms --code OK --code UNAVAILABLE
  dovetail capture view shop.capture                               calls as text
  dovetail capture convert shop.capture | jq .outcome              a line of JSON for each call
  dovetail capture dump 127.0.0.1:9091 --connection 17             its bytes, as they come and go
  dovetail capture diff before.capture after.capture --ignore time   answers that differ
  dovetail replay shop.capture 127.0.0.1:9090                      makes the calls again

The address is that of a server with `Server::admin`. A capture has parameters, items, results
and headers of calls, but no credentials: keep it as you keep the data of the server. A dump
leaves out nothing.
docs/capture.md has more, docs/spec/capture.md the format.")]
pub(crate) struct Capture {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Capture calls of a running server into a file
    Take(Box<Take>),
    /// Show the calls of a capture as text
    View(View),
    /// Print the calls of a capture as JSON, a line for each
    Convert(View),
    /// Compare the answers of two captures to the same calls
    Diff(Diff),
    /// Show the bytes of connections as they come and go, and the calls that they make up
    Dump(Dump),
}

#[derive(Debug, Args)]
struct Take {
    #[command(flatten)]
    server: Administration,
    /// The file to write
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Only calls of this service or method; can be repeated
    #[arg(long, value_name = "SERVICE[/METHOD]")]
    method: Vec<String>,
    /// Only calls of callers whose address begins so; can be repeated
    #[arg(long, value_name = "ADDRESS")]
    peer: Vec<String>,
    /// Only calls of this principal; can be repeated
    #[arg(long, value_name = "NAME")]
    principal: Vec<String>,
    /// Only calls that end so: OK, EXCEPTION, or a code such as UNAVAILABLE; can be repeated
    #[arg(long, value_name = "CODE")]
    code: Vec<String>,
    /// Only calls that take this long or longer
    #[arg(long, value_name = "TIME", value_parser = duration)]
    slower: Option<Duration>,
    /// Only this part of the calls, 0 to 1
    #[arg(long, value_name = "PART")]
    share: Option<f64>,
    /// End after this time
    #[arg(long = "for", value_name = "TIME", value_parser = duration, default_value = "60s")]
    time: Duration,
    /// End with so many bytes of calls, as in 500KB, 64MB or 2GB
    #[arg(long, value_name = "BYTES", value_parser = bytes, default_value = "64MB")]
    bytes: i64,
}

#[derive(Debug, Args)]
struct View {
    /// The capture
    file: PathBuf,
    /// Only calls that went on at this time after the beginning, or later
    #[arg(long, value_name = "TIME", value_parser = duration)]
    from: Option<Duration>,
}

#[derive(Debug, Args)]
struct Diff {
    /// A capture
    before: PathBuf,
    /// Another one
    after: PathBuf,
    /// Do not compare fields of this name, at any depth; can be repeated
    #[arg(long, value_name = "FIELD")]
    ignore: Vec<String>,
}

/// The permission that a capture takes.
const PERMISSION: &str = "dovetail.admin.capture";

impl Capture {
    pub(crate) fn run(self) -> Result {
        match self.action {
            Action::Take(take) => take.run(),
            Action::View(view) => {
                let paint = Stream::Stdout.paint();
                view.each(|call| output::write(&Shown::from(call).text(paint)))
            }
            Action::Convert(view) => view.each(|call| output::json(&call.json().to_string())),
            Action::Diff(diff) => diff.run(),
            Action::Dump(dump) => dump.run(),
        }
    }
}

impl Take {
    fn run(&self) -> Result {
        let cannot = |problem: std::io::Error| {
            let failure = format!("cannot write `{}`: {problem}", self.file.display());
            Failure::new(Exit::Failed, failure)
        };
        let channel = self.server.channel()?;
        block_on(async {
            let parts = capture(&channel, &self.filter()).await;
            let mut parts = parts.map_err(|status| refused(&status, PERMISSION))?;
            let mut file = File::create(&self.file).map_err(cannot)?;
            tell(&format!(
                "capturing for {:?}; Ctrl-C ends it earlier",
                self.time
            ));
            let next = async || parts.next().await;
            until_stopped(next, PERMISSION, |part| {
                file.write_all(&part).map_err(cannot)
            })
            .await
        })??;
        let mut captured = Captured::open(&self.file)?;
        // Only the end of the file is asked for.
        captured.skip_to(Duration::MAX)?;
        while captured.next()?.is_some() {}
        tell(&captured.summary());
        Ok(())
    }

    fn filter(&self) -> CaptureFilter {
        let whole = |number: u128| i64::try_from(number).unwrap_or(i64::MAX);
        CaptureFilter {
            methods: self.method.clone(),
            peers: self.peer.clone(),
            principals: self.principal.clone(),
            codes: self.code.clone(),
            slower_than: self.slower.map(|time| whole(time.as_micros())),
            share: self.share,
            seconds: seconds(self.time),
            bytes: Some(self.bytes),
        }
    }
}

/// An administration has refused a capture that takes this permission.
fn refused(status: &Status, permission: &str) -> Failure {
    let failure = Failure::new(Exit::Call, status);
    match status.code() {
        Code::Unimplemented => failure.help(
            "is this the address of `Server::admin`, and not that of the server's own services?",
        ),
        Code::PermissionDenied => failure.help(format!("it takes the permission `{permission}`")),
        _ => failure,
    }
}

/// Takes the parts of a stream until its end, or until Ctrl-C.
async fn until_stopped<T>(
    mut next: impl AsyncFnMut() -> Option<std::result::Result<T, Status>>,
    permission: &str,
    mut take: impl FnMut(T) -> Result,
) -> Result {
    let stop = tokio::signal::ctrl_c();
    tokio::pin!(stop);
    loop {
        let part = tokio::select! {
            part = next() => part,
            _ = &mut stop => return Ok(()),
        };
        let Some(part) = part else { return Ok(()) };
        take(part.map_err(|status| refused(&status, permission))?)?;
    }
}

/// Returns a time in seconds. A whole one is the shortest time that a server knows.
fn seconds(time: Duration) -> Option<i32> {
    let seconds = time.as_millis().div_ceil(1000).max(1);
    Some(i32::try_from(seconds).unwrap_or(i32::MAX))
}

impl View {
    /// Does something with each call.
    fn each(&self, show: impl Fn(&ReadCall) -> Result) -> Result {
        let mut captured = Captured::open(&self.file)?;
        let from = self.from.unwrap_or_default();
        if !from.is_zero() {
            captured.skip_to(from)?;
        }
        while let Some(call) = captured.next()? {
            let end = call.call.began.saturating_add(call.call.elapsed);
            if u128::try_from(end).unwrap_or(0) >= from.as_micros() {
                show(&call)?;
            }
        }
        tell(&captured.summary());
        Ok(())
    }
}

impl Diff {
    fn run(&self) -> Result {
        let calls = |path: &Path| Captured::open(path)?.rest();
        let mut others: HashMap<String, Vec<ReadCall>> = HashMap::new();
        for call in calls(&self.after)?.into_iter().rev() {
            others.entry(question(&call)).or_default().push(call);
        }
        let (mut alike, mut different, mut gone) = (0, 0, 0);
        for call in calls(&self.before)? {
            let other = others.get_mut(&question(&call)).and_then(Vec::pop);
            let Some(other) = other else {
                gone += 1;
                continue;
            };
            let (one, two) = (call.answer(&self.ignore), other.answer(&self.ignore));
            if one == two {
                alike += 1;
                continue;
            }
            different += 1;
            output::write(&difference(&call, &one, &two))?;
        }
        let added: usize = others.values().map(Vec::len).sum();
        tell(&format!(
            "{alike} calls have the same answer, {different} another one; {gone} are only in `{}`, {added} only in `{}`",
            self.before.display(),
            self.after.display()
        ));
        match different {
            0 => Ok(()),
            _ => Err(Failure::silent(Exit::Failed)),
        }
    }
}

/// Calls with the same text ask the same.
fn question(call: &ReadCall) -> String {
    let received = call.items.iter().filter(|(sent, _)| !sent);
    let received: Vec<&Json> = received.map(|(_, item)| item).collect();
    format!("{} {} {received:?}", call.name(), call.arguments)
}
