//! The demo's output: the table, and how to go on from another terminal.

use super::probe::Outcome;
use crate::paint::{Paint, Style};
use crate::table::{Align, Cell, Table};
use dovetail::Wire;
use dovetail_protocol::connect::Codec;
use std::time::Duration;

/// The ways by which each wire is called; the columns of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Tcp,
    /// One of two services on the connection.
    Multiplexed,
    Unix,
    InProcess,
}

impl Way {
    pub(crate) const ALL: [Way; 4] = [Way::Tcp, Way::Multiplexed, Way::Unix, Way::InProcess];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Way::Tcp => "TCP",
            Way::Multiplexed => "multiplexed",
            Way::Unix => "Unix",
            Way::InProcess => "in-process",
        }
    }
}

/// One wire, called in every way.
pub(crate) struct Row {
    pub(crate) wire: Wire,
    /// Connections over TCP move to shared memory.
    pub(crate) moves: bool,
    /// In the order of [`Way::ALL`]; `None` where there is no such way.
    pub(crate) outcomes: Vec<Option<Outcome>>,
}

impl Row {
    /// Returns the problems, each with its wire.
    pub(crate) fn problems(&self) -> Vec<String> {
        let ways = Way::ALL.iter().zip(&self.outcomes);
        ways.filter_map(|(way, outcome)| {
            let problem = outcome.as_ref()?.problem()?;
            Some(format!("{} over {}: {problem}", self.wire, way.name()))
        })
        .collect()
    }
}

/// The least widths of the columns: the rows come one after another.
const WIDTHS: [usize; 9] = {
    // µ has two bytes.
    let time = "1234.5 µs".len() - 1;
    let (protocol, transport) = ("msgpack-rpc".len(), "shared memory".len());
    [protocol, transport, 0, 0, 0, time, time, time, time]
};

/// The table, without rows.
pub(crate) fn table() -> Table {
    let mut columns = vec![
        ("protocol", Align::Left),
        ("transport", Align::Left),
        ("result", Align::Left),
        ("exception", Align::Left),
        ("one-way", Align::Left),
    ];
    columns.extend(Way::ALL.iter().map(|way| (way.name(), Align::Right)));
    Table::new(columns).at_least(WIDTHS)
}

/// Adds the row of a wire to the table, and returns its line.
pub(crate) fn line(table: &mut Table, row: &Row, paint: Paint) -> String {
    let wire = row.wire.to_string();
    let alone = match row.wire {
        Wire::Grpc => "HTTP/2",
        Wire::Dovetail if row.moves => "shared memory",
        Wire::Dovetail
        | Wire::MsgpackRpc
        | Wire::Capnp
        | Wire::GrpcWeb(_)
        | Wire::Connect(_)
        | Wire::WebSocket => "",
        Wire::Thrift(_) => "unframed",
    };
    let (protocol, transport) = wire.split_once('+').unwrap_or((&wire, alone));
    let marks = [
        mark(row, |outcome| outcome.result.is_ok()),
        mark(row, |outcome| outcome.exception.is_ok()),
        mark(row, |outcome| outcome.oneway.is_ok()),
    ];
    let times = row.outcomes.iter().map(|outcome| match outcome {
        Some(outcome) => time(outcome.time),
        None => "".into(),
    });
    let names = [Cell::from(protocol), Cell::from(transport)];
    table.row(names.into_iter().chain(marks).chain(times));
    table.last(paint)
}

/// Good only if it worked in every way.
fn mark(row: &Row, good: fn(&Outcome) -> bool) -> Cell {
    match row.outcomes.iter().flatten().all(good) {
        true => Cell::styled(Style::Good, "✓"),
        false => Cell::styled(Style::Error, "failed"),
    }
}

fn time(time: Option<Duration>) -> Cell {
    match time {
        Some(time) => format!("{:.1} µs", time.as_secs_f64() * 1e6).into(),
        None => Cell::styled(Style::Error, "–"),
    }
}

/// The line by which one wire is tried.
fn command(wire: Wire, program: &str, port: u16) -> String {
    match wire {
        Wire::Connect(Codec::Json) => {
            format!("curl --json '{{\"wood\": \"OAK\"}}' http://127.0.0.1:{port}/Stock/metres")
        }
        _ => format!(
            "{program} call 127.0.0.1:{port} metres '[\"OAK\"]' --idl demo.thrift --wire {wire}"
        ),
    }
}

/// How to call the server from elsewhere. Every line works as it is.
pub(crate) fn instructions(program: &str, port: u16, rows: &[Row]) -> String {
    let wires = rows.iter().filter(|row| !row.moves).map(|row| row.wire);
    let commands = wires.map(|wire| command(wire, program, port));
    let commands: String = commands.map(|line| format!("  {line}\n")).collect();
    format!(
        r#"Call it from a second terminal, with nothing but the address:

  {program} list 127.0.0.1:{port}
  {program} describe 127.0.0.1:{port} Workshop.quote
  {program} call 127.0.0.1:{port} Workshop.quote \
      '{{"order": {{"id": 7, "boards": [{{"length": 1200, "width": 300}}]}}}}'
  {program} call 127.0.0.1:{port} Workshop.quote \
      '{{"order": {{"id": 8, "boards": [{{"length": 900, "width": 300, "wood": "WALNUT"}}]}}}}'

over each wire:

  {program} demo --contract > demo.thrift
{commands}
or with stock Apache Thrift (apt install thrift-compiler, pip install thrift):

  thrift --gen py demo.thrift
  PYTHONPATH=gen-py python3 - <<'END'
  from thrift.transport import TSocket, TTransport
  from thrift.protocol import TBinaryProtocol
  from workshop import Workshop
  from workshop.ttypes import Board, Order
  transport = TTransport.TBufferedTransport(TSocket.TSocket("127.0.0.1", {port}))
  client = Workshop.Client(TBinaryProtocol.TBinaryProtocol(transport))
  transport.open()
  print(client.quote(Order(id=7, boards=[Board(length=1200, width=300)])))
  END
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_row_for_each_wire() {
        let good = |tenths: u64| Outcome {
            result: Ok(()),
            exception: Ok(()),
            oneway: Ok(()),
            time: Some(Duration::from_nanos(tenths * 100)),
        };
        let rows = [
            Row {
                wire: "binary".parse().unwrap(),
                moves: false,
                outcomes: vec![Some(good(300)), Some(good(310)), None, Some(good(21))],
            },
            Row {
                wire: "compact+header:zlib".parse().unwrap(),
                moves: false,
                outcomes: vec![
                    Some(good(1234)),
                    Some(Outcome::failed("no answer")),
                    Some(good(900)),
                    Some(good(400)),
                ],
            },
        ];
        let plain = Paint { colours: false };
        let mut table = table();
        let mut text = table.heading(plain);
        text.extend(rows.iter().map(|row| line(&mut table, row, plain)));
        let expected = "\
protocol     transport      result  exception  one-way        TCP  multiplexed       Unix  in-process
binary       unframed       ✓       ✓          ✓          30.0 µs      31.0 µs                 2.1 µs
compact      header:zlib    failed  failed     failed    123.4 µs            –    90.0 µs     40.0 µs
";
        assert_eq!(text, expected);
        assert_eq!(
            rows[1].problems(),
            ["compact+header:zlib over multiplexed: no answer"]
        );
    }
}
