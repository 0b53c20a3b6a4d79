//! Tables with aligned columns.

use crate::paint::{Paint, Style};

/// The place of the text in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows of text under a heading.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<Cell>>,
}

/// A piece of a row.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    style: Option<Style>,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell { text, style: None }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Cell {
    pub(crate) fn styled(style: Style, text: impl Into<String>) -> Self {
        Cell {
            text: text.into(),
            style: Some(style),
        }
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }
}

impl Table {
    pub(crate) fn new<'a>(columns: impl IntoIterator<Item = (&'a str, Align)>) -> Self {
        let columns = columns.into_iter();
        Table {
            columns: columns
                .map(|(name, align)| (name.to_owned(), align))
                .collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; cells that are missing at its end stay empty.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table as lines, none with white space at its end.
    pub(crate) fn render(&self, paint: Paint) -> String {
        let heading = |(name, _): &(String, Align)| Cell::styled(Style::Strong, name.clone());
        let heading: Vec<Cell> = self.columns.iter().map(heading).collect();
        let mut widths: Vec<usize> = heading.iter().map(Cell::width).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.width().max(*width);
            }
        }
        let lines = std::iter::once(&heading).chain(&self.rows);
        lines
            .map(|row| self.line(row, &widths, paint) + "\n")
            .collect()
    }

    fn line(&self, row: &[Cell], widths: &[usize], paint: Paint) -> String {
        let mut line = String::new();
        let mut owed = 0;
        for (index, ((cell, width), (_, align))) in
            row.iter().zip(widths).zip(&self.columns).enumerate()
        {
            let space = width - cell.width();
            let (before, after) = match align {
                Align::Left => (0, space),
                Align::Right => (space, 0),
            };
            owed += before + if index > 0 { 2 } else { 0 };
            if cell.width() > 0 {
                line.extend(std::iter::repeat_n(' ', owed));
                line += &match cell.style {
                    Some(style) => paint.text(style, &cell.text),
                    None => cell.text.clone(),
                };
                owed = after;
            } else {
                owed += after;
            }
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new([
            ("wire", Align::Left),
            ("µs", Align::Right),
            ("note", Align::Left),
        ]);
        table.row(["binary".into(), "7.5".into(), "plain".into()]);
        table.row(["compact+framed".into(), "112.0".into()]);
        table.row([
            Cell::styled(Style::Good, "json"),
            "".into(),
            "no time".into(),
        ]);
        let plain = Paint { colours: false };
        assert_eq!(
            table.render(plain),
            "wire               µs  note\n\
             binary            7.5  plain\n\
             compact+framed  112.0\n\
             json                   no time\n"
        );
        let coloured = table.render(Paint { colours: true });
        assert!(coloured.contains("\x1b[32mjson\x1b[0m  "), "{coloured:?}");
    }
}
