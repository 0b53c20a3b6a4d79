use crate::administration::{Administration, Server, number};
use crate::captured::path;
use crate::failure::{Exit, Failure, Result};
use crate::values::duration;
use clap::Args;
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Block, Row, Sparkline, Table};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, VecDeque};
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

/// Watch the methods of a running server
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dovetail top 127.0.0.1:9091               calls and times of each method, every second
  dovetail top 127.0.0.1:9091 --every 5s

The address is that of a server with `Server::admin`. Keys: q ends it.
`dovetail admin ADDRESS methods` prints the same once, for pipes.")]
pub(crate) struct Top {
    #[command(flatten)]
    server: Administration,
    /// The time between two looks
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    every: Duration,
}

/// Looks that are shown as a line.
const LOOKS: usize = 300;

/// A method over a wire, in the last interval.
struct Seen {
    name: String,
    wire: String,
    rate: f64,
    failures: f64,
    running: f64,
    times: [f64; 3],
}

/// Everything that was seen so far.
#[derive(Default)]
struct TopState {
    server: Json,
    methods: Vec<Seen>,
    /// Calls and failures of each method at the last look.
    before: BTreeMap<(String, String), (f64, f64)>,
    looked: Option<Instant>,
    calls: VecDeque<u64>,
    failures: VecDeque<u64>,
}

impl Top {
    pub(crate) fn run(self) -> Result {
        if !std::io::stdout().is_terminal() {
            let failure = Failure::new(Exit::Usage, "`dovetail top` needs a terminal");
            return Err(failure.help("`dovetail admin ADDRESS methods` prints the same once"));
        }
        let server = self.server.reach()?;
        let mut state = TopState::default();
        state.look(&server)?;
        let mut terminal =
            ratatui::try_init().map_err(|error| Failure::new(Exit::Failed, error))?;
        let ended = loop {
            if let Err(error) = terminal.draw(|frame| state.draw(frame)) {
                break Err(Failure::new(Exit::Failed, error));
            }
            match waits(self.every) {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(Failure::new(Exit::Failed, error)),
            }
            if let Err(failure) = state.look(&server) {
                break Err(failure);
            }
        };
        ratatui::restore();
        ended
    }
}

/// Waits for the next look. Returns false if a key has ended it.
fn waits(time: Duration) -> std::io::Result<bool> {
    let until = Instant::now() + time;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if !event::poll(left)? {
            return Ok(true);
        }
        if let Event::Key(key) = event::read()? {
            let interrupts = key.modifiers.contains(KeyModifiers::CONTROL);
            match key.code {
                KeyCode::Char('q') | KeyCode::Esc => return Ok(false),
                KeyCode::Char('c') if interrupts => return Ok(false),
                _ => {}
            }
        }
    }
}

impl TopState {
    fn look(&mut self, server: &Server) -> Result {
        self.server = server.ask("overview", json!({}))?;
        let methods = server.ask("methods", json!({}))?;
        let now = Instant::now();
        let seconds = self
            .looked
            .map(|then| now.duration_since(then).as_secs_f64());
        self.looked = Some(now);
        self.methods.clear();
        let (mut calls, mut failures) = (0.0, 0.0);
        for row in methods.as_array().into_iter().flatten() {
            let seen = self.seen(row, seconds);
            (calls, failures) = (calls + seen.rate, failures + seen.failures);
            self.methods.push(seen);
        }
        self.methods
            .sort_by(|one, other| other.rate.total_cmp(&one.rate));
        if seconds.is_some() {
            keep(&mut self.calls, calls);
            keep(&mut self.failures, failures);
        }
        Ok(())
    }

    fn seen(&mut self, row: &Json, seconds: Option<f64>) -> Seen {
        let text = |field: &str| {
            let text = row[field].as_str().unwrap_or_default();
            text.replace(char::is_control, " ")
        };
        let name = path(&text("service"), &text("method"));
        let outcomes = row["outcomes"].as_object().into_iter().flatten();
        let failed = outcomes.filter(|(code, _)| !["OK", "EXCEPTION"].contains(&code.as_str()));
        let now = (
            number(&row["calls"]),
            failed.fold(0.0, |sum, (_, calls)| sum + number(calls)),
        );
        let key = (name.clone(), text("wire"));
        let before = self.before.insert(key, now).unwrap_or_default();
        let rate = |now: f64, before: f64| seconds.map_or(0.0, |time| (now - before) / time);
        Seen {
            name,
            wire: text("wire"),
            rate: rate(now.0, before.0),
            failures: rate(now.1, before.1),
            running: number(&row["in_flight"]),
            times: ["p50_us", "p99_us", "p999_us"].map(|field| number(&row[field])),
        }
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let parts = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(5),
            Constraint::Min(3),
        ]);
        let [head, lines, table] = parts.areas(frame.area());
        let [calls, failures] =
            Layout::horizontal([Constraint::Fill(2), Constraint::Fill(1)]).areas(lines);
        frame.render_widget(self.head(), head);
        frame.render_widget(line("calls/s", &self.calls, Style::new().cyan()), calls);
        frame.render_widget(
            line("failures/s", &self.failures, Style::new().red()),
            failures,
        );
        frame.render_widget(self.table(), table);
    }

    fn head(&self) -> Line<'static> {
        let of = |field: &str| number(&self.server[field]);
        let uptime = Duration::from_secs(of("uptime_ms") as u64 / 1000);
        let state = match self.server["draining"] == true {
            true => "draining".red(),
            false => "serving".green(),
        };
        let rest = format!(
            " for {uptime:?}, {} connections, {} calls run, {} KiB held · q ends",
            of("connections"),
            of("calls_in_flight"),
            (of("held_bytes") / 1024.0).round()
        );
        Line::from(vec![state, rest.into()])
    }

    fn table(&self) -> Table<'static> {
        let heads = [
            "method", "wire", "calls/s", "failed/s", "running", "p50", "p99", "p99.9",
        ];
        let rows = self.methods.iter().map(|seen| {
            let [p50, p99, p999] = seen.times.map(time);
            let row = Row::new([
                seen.name.clone(),
                seen.wire.clone(),
                format!("{:.0}", seen.rate),
                format!("{:.0}", seen.failures),
                format!("{}", seen.running),
                p50,
                p99,
                p999,
            ]);
            match seen.failures > 0.0 {
                true => row.red(),
                false => row,
            }
        });
        let widths = [
            Constraint::Fill(2),
            Constraint::Length(18),
            Constraint::Length(9),
            Constraint::Length(9),
            Constraint::Length(8),
            Constraint::Length(9),
            Constraint::Length(9),
            Constraint::Length(9),
        ];
        Table::new(rows, widths).header(Row::new(heads).bold())
    }
}

fn keep(values: &mut VecDeque<u64>, value: f64) {
    if values.len() >= LOOKS {
        values.pop_front();
    }
    values.push_back(value.max(0.0).round() as u64);
}

fn line(title: &'static str, values: &VecDeque<u64>, style: Style) -> Sparkline<'static> {
    let now = values.back().copied().unwrap_or(0);
    let block = Block::bordered().title(format!(" {title}: {now} "));
    Sparkline::default()
        .block(block)
        .data(values.iter().copied())
        .style(style)
}

/// A time of microseconds, in few letters.
fn time(microseconds: f64) -> String {
    format!(
        "{:.1?}",
        Duration::from_secs_f64(microseconds.max(0.0) / 1e6)
    )
}
