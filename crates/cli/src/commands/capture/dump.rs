//! The bytes of connections as they come and go.

use super::shown::Shown;
use super::{refused, seconds, until_stopped};
use crate::administration::Administration;
use crate::failure::Result;
use crate::output::{self, tell};
use crate::paint::{Paint, Stream, Style};
use crate::remote::block_on;
use crate::values::{bytes, duration};
use clap::Args;
use dovetail::capture::{DumpFilter, Dumped, dump};
use serde_json::json;
use std::fmt::Write as _;
use std::time::Duration;

#[derive(Debug, Args)]
pub(super) struct Dump {
    #[command(flatten)]
    server: Administration,
    /// Only this connection, by its number in `dovetail admin ADDRESS connections`
    #[arg(long, value_name = "NUMBER")]
    connection: Option<i64>,
    /// Only connections of callers whose address begins so; can be repeated
    #[arg(long, value_name = "ADDRESS")]
    peer: Vec<String>,
    /// End after this time
    #[arg(long = "for", value_name = "TIME", value_parser = duration, default_value = "60s")]
    time: Duration,
    /// End with so many bytes, as in 500KB, 64MB or 2GB
    #[arg(long, value_name = "BYTES", value_parser = bytes, default_value = "16MB")]
    bytes: i64,
    /// Print an object of JSON in a line for each part; bytes in hexadecimal
    #[arg(long)]
    json: bool,
}

/// The permission that it takes.
const PERMISSION: &str = "dovetail.admin.dump";

impl Dump {
    pub(super) fn run(&self) -> Result {
        let channel = self.server.channel()?;
        let filter = DumpFilter {
            connection: self.connection,
            peers: self.peer.clone(),
            seconds: seconds(self.time),
            bytes: Some(self.bytes),
        };
        let paint = Stream::Stdout.paint();
        block_on(async {
            let parts = dump(&channel, &filter).await;
            let mut parts = parts.map_err(|status| refused(&status, PERMISSION))?;
            tell(&format!(
                "bytes of {:?}, with all secrets in them; Ctrl-C ends it earlier",
                self.time
            ));
            let mut left_out = 0;
            let show = |part: Dumped| {
                left_out = left_out.max(part.left_out);
                match self.json {
                    true => output::json(&json_line(&part)),
                    false => output::write(&text(&part, paint)),
                }
            };
            until_stopped(async || parts.next().await, PERMISSION, show).await?;
            if left_out > 0 {
                tell(&format!(
                    "{left_out} bytes were left out: they came too fast"
                ));
            }
            Ok(())
        })?
    }
}

/// Bytes in a line of a dump.
const LINE: usize = 16;

/// A part as lines: `>` is from the caller, `<` from the server.
fn text(part: &Dumped, paint: Paint) -> String {
    if let Some(call) = &part.call {
        return Shown::from(call).text(paint);
    }
    let head = format!(
        "{} {} bytes, connection {} from {}",
        if part.sent { "<" } else { ">" },
        part.bytes.len(),
        part.connection,
        part.peer,
    );
    let mut text = format!(
        "{:.6} {}\n",
        part.at as f64 / 1e6,
        paint.text(Style::Strong, &head)
    );
    for (number, line) in part.bytes.chunks(LINE).enumerate() {
        _ = write!(text, "  {:06x} ", number * LINE);
        for place in 0..LINE {
            let gap = if place == LINE / 2 { " " } else { "" };
            _ = match line.get(place) {
                Some(byte) => write!(text, "{gap} {byte:02x}"),
                None => write!(text, "{gap}   "),
            };
        }
        let shown = line.iter().map(|byte| match byte {
            b' '..=b'~' => char::from(*byte),
            _ => '.',
        });
        _ = writeln!(text, "  {}", shown.collect::<String>());
    }
    text
}

fn json_line(part: &Dumped) -> String {
    let line = match &part.call {
        None => json!({
            "at_us": part.at,
            "connection": part.connection,
            "peer": part.peer,
            "sent": part.sent,
            "bytes": part.bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
        }),
        Some(call) => json!({
            "at_us": part.at,
            "peer": call.peer,
            "service": call.service,
            "method": call.method,
            "wire": call.wire,
            "parameters": call.parameters,
            "reply": call.reply,
            "code": call.code,
        }),
    };
    line.to_string()
}
