use super::tables::{self, Line, Table};
use super::{NOISE, Report, bytes};
use std::fmt::Write;

/// All tables: first the short ones that say how it went.
pub(super) fn render(report: &Report) -> String {
    let mut text = format!("# Benchmarks\n\n{NOISE}\n");
    let mut all = tables::summaries(report);
    all.extend(
        [tables::targets(report), tables::changes(report)]
            .into_iter()
            .flatten(),
    );
    all.push(bytes::table(report));
    all.extend(report.groups().map(tables::case));
    all.push(tables::lines(report));
    all.push(tables::machine(report));
    all.push(tables::systems(report));
    all.push(tables::missing(report));
    for table in all.iter().filter(|table| !table.is_empty()) {
        text.push_str(&render_table(table));
    }
    text
}

/// Returns the summary for the terminal: the outcome stands at the end, where one looks first.
pub(super) fn brief(report: &Report) -> String {
    let mut all = vec![tables::missing(report)];
    all.extend(tables::summaries(report));
    all.extend(
        [tables::changes(report), tables::targets(report)]
            .into_iter()
            .flatten(),
    );
    let shown = all.iter().filter(|table| !table.is_empty());
    shown.map(render_table).collect()
}

fn render_table(table: &Table) -> String {
    let note = match table.note.as_str() {
        "" => String::new(),
        note => format!("{note}\n\n"),
    };
    format!("\n## {}\n\n{note}{}", table.title, grid(table))
}

/// The columns and lines of a table.
pub(super) fn grid(table: &Table) -> String {
    let mut text = String::new();
    let rows = || table.lines.iter().map(|line: &Line| &line.cells);
    let width = |column: usize| {
        let cells = rows()
            .chain([&table.columns])
            .map(|cells| cells[column].chars().count());
        cells.max().unwrap_or(0).max(2)
    };
    let widths: Vec<usize> = (0..table.columns.len()).map(width).collect();
    let line = |cells: &[String]| {
        let mut line = String::from("|");
        for (column, cell) in cells.iter().enumerate() {
            let (cell, width) = (cell.replace('|', "\\|"), widths[column]);
            // Writing to a string cannot fail, here and below.
            let _ = match table.is_text(column) {
                true => write!(line, " {cell:width$} |"),
                false => write!(line, " {cell:>width$} |"),
            };
        }
        line + "\n"
    };
    text.push_str(&line(&table.columns));
    text.push('|');
    for (column, width) in widths.iter().enumerate() {
        let end = if table.is_text(column) { '-' } else { ':' };
        let _ = write!(text, "{}{end}|", "-".repeat(width + 1));
    }
    text.push('\n');
    rows().for_each(|cells| text.push_str(&line(cells)));
    text
}
