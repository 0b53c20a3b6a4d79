use crate::administration::{Administration, number};
use crate::failure::{Exit, Failure, Result};
use crate::output::{self, json};
use crate::paint::Stream;
use crate::table::{Align, Cell, Table};
use crate::values::duration;
use clap::{Args, ValueEnum};
use serde_json::{Value as Json, json};
use std::thread::sleep;
use std::time::Duration;

/// See and control a running server
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dovetail admin 127.0.0.1:9091                      the server as a whole
  dovetail admin 127.0.0.1:9091 methods --every 2s   calls, failures and times of each method
  dovetail admin 127.0.0.1:9091 calls                the calls that run
  dovetail admin 127.0.0.1:9091 cancel 1234          cancels one of them
  dovetail admin 127.0.0.1:9091 drain                asks the program to end
  dovetail admin 127.0.0.1:9091 set log.level debug  sets a key until the program ends
  dovetail admin 127.0.0.1:9091 unset log.level      takes the file's value again
  dovetail admin 127.0.0.1:9091 failures --json      for programs

The address is that of a server with `Server::admin`; a browser finds the console there.
docs/admin.md has the contract, dovetail.admin.v1.Admin.")]
pub(crate) struct Admin {
    #[command(flatten)]
    server: Administration,
    /// Choose a view, or an action
    #[arg(value_enum, default_value = "overview")]
    what: What,
    /// The call that is cancelled; the seconds for which calls may go on that run at a drain, 30 by
    /// default; the key that is set or unset, and its value
    #[arg(value_name = "WORDS")]
    words: Vec<String>,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
    /// Show it again after this time, until Ctrl-C
    #[arg(long, value_name = "TIME", value_parser = duration)]
    every: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// The server as a whole
    Overview,
    /// Methods: calls, failures, times
    Methods,
    /// Calls that run
    Calls,
    /// Connections
    Connections,
    /// The addresses that have called, with all their connections
    Peers,
    /// Calls that have failed or were slow, the last one first
    Failures,
    /// Calls that quotas have refused
    Refusals,
    /// Servers of the names that the program calls
    Servers,
    /// The configuration in force
    Configuration,
    /// Reads the configuration again
    Reload,
    /// Asks the program to end, once calls that run are done
    Drain,
    /// Cancels a call
    Cancel,
    /// Sets a key of the configuration, until the program ends
    Set,
    /// Takes the value of a key from the file again
    Unset,
}

/// How a value is shown.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Number,
    Microseconds,
    Milliseconds,
    /// The sum of those that are neither `OK` nor `EXCEPTION`.
    Failures,
}

type Column = (&'static str, &'static str, Form);

impl What {
    /// The method of the contract.
    fn method(self) -> &'static str {
        match self {
            What::Overview => "overview",
            What::Methods => "methods",
            What::Calls => "calls",
            What::Connections => "connections",
            What::Peers => "peers",
            What::Failures => "recent",
            What::Refusals => "refusals",
            What::Servers => "servers",
            What::Configuration => "configuration",
            What::Reload => "reload",
            What::Drain => "drain",
            What::Cancel => "cancel",
            What::Set | What::Unset => "set",
        }
    }

    /// Returns the parameters that the words behind it stand for.
    fn parameters(self, words: &[String]) -> Result<Json> {
        let whole = |text: &str| {
            let parsed: std::result::Result<i64, _> = text.parse();
            parsed.map_err(|_| Failure::new(Exit::Usage, format!("`{text}` is no number")))
        };
        Ok(match (self, words) {
            (What::Cancel, [call]) => json!({ "call": whole(call)? }),
            (What::Drain, []) => json!({ "seconds": DRAIN }),
            (What::Drain, [seconds]) => json!({ "seconds": whole(seconds)? }),
            (What::Set, [key, value]) => json!({ "key": key, "value": value }),
            (What::Unset, [key]) => json!({ "key": key }),
            (What::Cancel, _) => return Err(usage("`cancel` takes the number of a call")),
            (What::Drain, _) => return Err(usage("`drain` takes a number of seconds")),
            (What::Set, _) => return Err(usage("`set` takes a key and a value")),
            (What::Unset, _) => return Err(usage("`unset` takes a key")),
            (_, []) => json!({}),
            (_, [word, ..]) => return Err(usage(&format!("`{word}` is one word too many"))),
        })
    }

    /// Heading, field and form of each column, for those that are rows.
    fn columns(self) -> &'static [Column] {
        use Form::{Failures, Microseconds, Milliseconds, Number, Text};
        match self {
            What::Methods => &[
                ("service", "service", Text),
                ("method", "method", Text),
                ("wire", "wire", Text),
                ("calls", "calls", Number),
                ("running", "in_flight", Number),
                ("failed", "outcomes", Failures),
                ("p50", "p50_us", Microseconds),
                ("p99", "p99_us", Microseconds),
                ("p99.9", "p999_us", Microseconds),
            ],
            What::Calls => &[
                ("call", "id", Number),
                ("service", "service", Text),
                ("method", "method", Text),
                ("wire", "wire", Text),
                ("caller", "principal", Text),
                ("from", "peer", Text),
                ("for", "running_us", Microseconds),
                ("left", "left_us", Microseconds),
            ],
            What::Connections => &[
                ("connection", "id", Number),
                ("from", "peer", Text),
                ("wire", "wire", Text),
                ("open for", "age_ms", Milliseconds),
                ("calls", "calls", Number),
                ("received", "received_bytes", Number),
                ("sent", "sent_bytes", Number),
                ("idle", "idle", Text),
            ],
            What::Peers => &[
                ("address", "peer", Text),
                ("open", "open_connections", Number),
                ("connections", "connections", Number),
                ("calls", "calls", Number),
                ("received", "received_bytes", Number),
                ("sent", "sent_bytes", Number),
            ],
            What::Failures => &[
                ("service", "service", Text),
                ("method", "method", Text),
                ("wire", "wire", Text),
                ("from", "peer", Text),
                ("took", "elapsed_us", Microseconds),
                ("outcome", "code", Text),
                ("message", "message", Text),
            ],
            What::Refusals => &[
                ("place", "place", Text),
                ("each caller", "each_caller", Text),
                ("reason", "reason", Text),
                ("calls", "calls", Number),
            ],
            What::Servers => &[
                ("name", "name", Text),
                ("server", "address", Text),
                ("state", "state", Text),
                ("ejected", "ejected", Text),
                ("calls", "calls", Number),
                ("running", "in_flight", Number),
                ("latency", "latency_us", Microseconds),
                ("weight", "weight", Number),
                ("priority", "priority", Number),
                ("zone", "zone", Text),
                ("failure", "failure", Text),
            ],
            _ => &[],
        }
    }
}

impl Admin {
    pub(crate) fn run(self) -> Result {
        let given = self.what.parameters(&self.words)?;
        let server = self.server.reach()?;
        loop {
            let answer = server.ask(self.what.method(), given.clone())?;
            self.show(&answer)?;
            match self.every {
                Some(pause) => sleep(pause),
                None => return Ok(()),
            }
        }
    }

    fn show(&self, answer: &Json) -> Result {
        if self.json {
            return json(&format!("{answer:#}"));
        }
        let columns = self.what.columns();
        match answer {
            Json::Array(keys) if self.what.method() == "set" => {
                let keys: Vec<_> = keys.iter().map(|key| cell(key, Form::Text)).collect();
                output::write(&match keys.is_empty() {
                    true => "nothing has changed\n".to_owned(),
                    false => format!("changed: {}\n", keys.join(", ")),
                })
            }
            Json::Array(rows) if rows.is_empty() => output::write("none\n"),
            Json::Array(rows) => output::write(&listed(columns, rows)),
            Json::Object(fields) => {
                // The age says it, too.
                let shown = fields.iter().filter(|(name, _)| *name != "started_ms");
                output::write(&shown.map(line).collect::<String>())
            }
            Json::String(text) => output::write(&format!("{}\n", text.trim_end())),
            Json::Bool(false) => {
                let failure = Failure::new(Exit::Failed, "no such call runs");
                Err(failure.help("`dovetail admin ADDRESS calls` lists those that do"))
            }
            Json::Bool(true) => output::write("cancelled\n"),
            Json::Null => output::write("asked\n"),
            other => output::write(&format!("{other}\n")),
        }
    }
}

fn usage(what: &str) -> Failure {
    Failure::new(Exit::Usage, what).help("`dovetail admin --help` shows examples")
}

/// Seconds that calls may go on at a drain.
const DRAIN: i64 = 30;

fn listed(columns: &[Column], rows: &[Json]) -> String {
    let align = |form: Form| match form {
        Form::Text => Align::Left,
        _ => Align::Right,
    };
    let heads = columns
        .iter()
        .map(|(heading, _, form)| (*heading, align(*form)));
    let mut table = Table::new(heads);
    for row in rows {
        let cells = columns
            .iter()
            .map(|(_, field, form)| Cell::from(cell(&row[*field], *form)));
        table.row(cells.collect::<Vec<_>>());
    }
    table.render(Stream::Stdout.paint())
}

/// A field on a line of its own, and those of an object below it.
fn line((name, value): (&String, &Json)) -> String {
    let name = name.replace('_', " ");
    match value {
        Json::Object(fields) => {
            let nonzero = fields.iter().filter(|(_, value)| number(value) != 0.0);
            let lines = nonzero.map(|(key, value)| {
                format!(
                    "  {}: {}\n",
                    key.replace('_', " "),
                    cell(value, Form::Number)
                )
            });
            format!("{name}:\n{}", lines.collect::<String>())
        }
        Json::Array(values) => {
            let values: Vec<_> = values.iter().map(|value| cell(value, Form::Text)).collect();
            let values = match values.is_empty() {
                true => "none".to_owned(),
                false => values.join(", "),
            };
            format!("{name}: {values}\n")
        }
        value => match name.strip_suffix(" ms") {
            Some(name) if name == "uptime" => {
                format!("{name}: {}\n", cell(value, Form::Milliseconds))
            }
            _ => format!("{name}: {}\n", cell(value, Form::Text)),
        },
    }
}

/// A value that a server has sent, without what would move a terminal's cursor.
fn cell(value: &Json, form: Form) -> String {
    let time = |microseconds: f64| format!("{:.1?}", Duration::from_secs_f64(microseconds / 1e6));
    match form {
        Form::Text => match value {
            Json::String(text) => text.replace(char::is_control, " "),
            Json::Null => String::new(),
            other => other.to_string(),
        },
        Form::Number => format!("{}", number(value)),
        _ if value.is_null() => String::new(),
        Form::Microseconds => time(number(value).max(0.0)),
        Form::Milliseconds => time(number(value).max(0.0) * 1e3),
        Form::Failures => {
            let outcomes = value.as_object().into_iter().flatten();
            let failed = outcomes.filter(|(code, _)| !["OK", "EXCEPTION"].contains(&code.as_str()));
            format!(
                "{}",
                failed.fold(0.0, |sum, (_, calls)| sum + number(calls))
            )
        }
    }
}
