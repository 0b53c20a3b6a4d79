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
    /// The least width of each column.
    widths: Vec<usize>,
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
        width(&self.text)
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

impl Table {
    pub(crate) fn new<'a>(columns: impl IntoIterator<Item = (&'a str, Align)>) -> Self {
        let columns = columns.into_iter();
        let columns: Vec<_> = columns
            .map(|(name, align)| (name.to_owned(), align))
            .collect();
        Table {
            widths: columns.iter().map(|(name, _)| width(name)).collect(),
            columns,
            rows: Vec::new(),
        }
    }

    /// Sets the least widths of the first columns, for rows that are shown one after another.
    pub(crate) fn at_least(mut self, widths: impl IntoIterator<Item = usize>) -> Self {
        for (own, least) in self.widths.iter_mut().zip(widths) {
            *own = least.max(*own);
        }
        self
    }

    /// Adds a row; cells that are missing at its end stay empty.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table as lines, none with white space at its end.
    pub(crate) fn render(&self, paint: Paint) -> String {
        let mut widths = self.widths.clone();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.width().max(*width);
            }
        }
        let names = self.names();
        let lines = std::iter::once(&names).chain(&self.rows);
        lines
            .map(|row| self.line(row, &widths, paint) + "\n")
            .collect()
    }

    /// The heading as a line, before there are any rows.
    pub(crate) fn heading(&self, paint: Paint) -> String {
        self.line(&self.names(), &self.widths, paint) + "\n"
    }

    /// The last row as a line below that heading. A cell that is too wide moves those behind it.
    pub(crate) fn last(&self, paint: Paint) -> String {
        let row = self.rows.last().map_or(&[][..], Vec::as_slice);
        self.line(row, &self.widths, paint) + "\n"
    }

    fn names(&self) -> Vec<Cell> {
        let names = self.columns.iter().map(|(name, _)| name.clone());
        names
            .map(|name| Cell::styled(Style::Strong, name))
            .collect()
    }

    fn line(&self, row: &[Cell], widths: &[usize], paint: Paint) -> String {
        let mut line = String::new();
        let mut owed = 0;
        for (index, ((cell, width), (_, align))) in
            row.iter().zip(widths).zip(&self.columns).enumerate()
        {
            let space = width.saturating_sub(cell.width());
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
        assert_eq!(table.last(plain), "json      no time\n");
        let wide = Table::new([("wire", Align::Left), ("µs", Align::Right)]).at_least([10, 5]);
        assert_eq!(wide.heading(plain), "wire           µs\n");
        let coloured = table.render(Paint { colours: true });
        assert!(coloured.contains("\x1b[32mjson\x1b[0m  "), "{coloured:?}");
    }
}
