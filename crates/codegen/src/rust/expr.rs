//! Expressions, laid out as rustfmt lays them out, so that generated files need no formatter.

/// The widths at which rustfmt's defaults change from one line to several.
pub(super) const MAX_WIDTH: usize = 100;
const CALL_WIDTH: usize = 60;
const ARRAY_WIDTH: usize = 60;
const STRUCT_WIDTH: usize = 18;
const SHORT_ELEMENT: usize = 10;

/// An expression, as far as its layout goes.
#[derive(Clone, Debug)]
pub(super) enum Expr {
    /// Never broken.
    Atom(String),
    /// `name(arguments)`; a tuple where the name is empty.
    Call(String, Vec<Expr>),
    /// `[elements]`, or `vec![elements]` with that as its beginning.
    Array(&'static str, Vec<Expr>),
    /// `path { fields }`; the flag stands for `..Default::default()`, spelled as given.
    Struct(String, Vec<(String, Expr)>, Option<String>),
}

impl Expr {
    pub(super) fn atom(text: impl Into<String>) -> Self {
        Expr::Atom(text.into())
    }

    pub(super) fn call(name: impl Into<String>, argument: Expr) -> Self {
        Expr::Call(name.into(), vec![argument])
    }

    pub(super) fn tuple(items: Vec<Expr>) -> Self {
        Expr::Call(String::new(), items)
    }

    /// The expression on one line; `None` where rustfmt would not leave it there.
    pub(super) fn flat(&self) -> Option<String> {
        match self {
            Expr::Atom(text) => Some(text.clone()),
            Expr::Call(name, args) => {
                // One thing that cannot be broken stays where it is as long as it fits.
                let width = match args.as_slice() {
                    [Expr::Atom(_)] => MAX_WIDTH,
                    _ => CALL_WIDTH,
                };
                let inner = flat_list(args, width)?;
                let comma = if name.is_empty() && args.len() == 1 {
                    ","
                } else {
                    ""
                };
                Some(format!("{name}({inner}{comma})"))
            }
            Expr::Array(open, items) => Some(format!("{open}{}]", flat_list(items, ARRAY_WIDTH)?)),
            Expr::Struct(path, fields, base) => {
                let fields: Option<Vec<String>> = fields.iter().map(flat_field).collect();
                let mut fields = fields?;
                fields.extend(base.iter().map(|base| format!("..{base}")));
                let inner = fields.join(", ");
                match inner.len() {
                    0 => Some(format!("{path} {{}}")),
                    1..=STRUCT_WIDTH => Some(format!("{path} {{ {inner} }}")),
                    _ => None,
                }
            }
        }
    }

    /// The expression at this indentation, `before` columns after it and `after` columns before the
    /// end.
    pub(super) fn render(&self, indent: usize, before: usize, after: usize) -> String {
        let room = MAX_WIDTH.saturating_sub(indent + before + after);
        if let Some(flat) = self.flat().filter(|flat| flat.chars().count() <= room) {
            return flat;
        }
        self.broken(indent, before, after)
    }

    /// Prints on several lines, even if it would fit on one.
    fn broken(&self, indent: usize, before: usize, after: usize) -> String {
        match self {
            Expr::Atom(text) => text.clone(),
            Expr::Call(name, args) => match args.as_slice() {
                [only] if !name.is_empty() && only.hugs() => {
                    let used = before + name.len() + 1;
                    format!("{name}({})", only.render(indent, used, after + 1))
                }
                _ if self.has_short_arguments() => {
                    format!("{name}({})", filled(args, indent))
                }
                // Only the arguments of a plain function may move to the next line together.
                _ if !name.is_empty() && !name.contains('.') => {
                    format!("{name}({})", block(args, indent))
                }
                _ => format!("{name}({})", column(args, indent)),
            },
            Expr::Array(open, items) if matches!(items.as_slice(), [only] if only.hugs()) => {
                let inner = items[0].broken(indent, before + open.len(), after + 1);
                format!("{open}{inner}]")
            }
            Expr::Array(open, items) if items.iter().all(Expr::is_short) => {
                format!("{open}{}]", filled(items, indent))
            }
            Expr::Array(open, items) => format!("{open}{}]", column(items, indent)),
            Expr::Struct(path, fields, base) => {
                let inner = indent + 4;
                let mut lines: Vec<String> = fields
                    .iter()
                    .map(|(name, value)| field_line(name, value, inner))
                    .collect();
                lines.extend(base.iter().map(|base| format!("..{base}")));
                format!("{path} {{{}}}", lines_between(&lines, indent))
            }
        }
    }

    /// Returns whether rustfmt leaves it beside the parenthesis of a call of which it is the only
    /// argument.
    fn hugs(&self) -> bool {
        !matches!(self, Expr::Atom(_))
    }

    /// True for a call whose arguments rustfmt puts several to a line where one line is not enough.
    pub(super) fn has_short_arguments(&self) -> bool {
        matches!(self, Expr::Call(_, args) if args.iter().all(Expr::is_short))
    }

    fn is_short(&self) -> bool {
        self.flat()
            .is_some_and(|flat| flat.chars().count() <= SHORT_ELEMENT)
    }
}

fn flat_list(items: &[Expr], width: usize) -> Option<String> {
    let items: Option<Vec<String>> = items.iter().map(Expr::flat).collect();
    let inner = items?.join(", ");
    (inner.chars().count() <= width).then_some(inner)
}

fn flat_field((name, value): &(String, Expr)) -> Option<String> {
    let value = value.flat()?;
    Some(if *name == value {
        value
    } else {
        format!("{name}: {value}")
    })
}

fn field_line(name: &str, value: &Expr, indent: usize) -> String {
    let value = value.render(indent, name.len() + 2, 1);
    if name == value {
        format!("{name},")
    } else {
        format!("{name}: {value},")
    }
}

/// The items between brackets: on a line of their own where they fit, else one for each line.
fn block(items: &[Expr], indent: usize) -> String {
    match flat_list(items, CALL_WIDTH) {
        Some(flat) if indent + 4 + flat.chars().count() < MAX_WIDTH => {
            lines_between(&[format!("{flat},")], indent)
        }
        _ => column(items, indent),
    }
}

/// The items between brackets, one for each line.
fn column(items: &[Expr], indent: usize) -> String {
    let lines: Vec<String> = items
        .iter()
        .map(|item| format!("{},", item.render(indent + 4, 0, 1)))
        .collect();
    lines_between(&lines, indent)
}

/// Short items, as many on each line as fit.
fn filled(items: &[Expr], indent: usize) -> String {
    let words: Vec<String> = items
        .iter()
        .filter_map(|item| Some(format!("{},", item.flat()?)))
        .collect();
    lines_between(&fill(&words, indent + 4), indent)
}

/// Words on as few lines as can be. rustfmt keeps room for a space behind every comma but the last.
pub(super) fn fill(words: &[String], indent: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let last = index + 1 == words.len();
        let width = MAX_WIDTH - indent - usize::from(!last);
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.clone()),
        }
    }
    lines
}

fn lines_between(lines: &[String], indent: usize) -> String {
    let outer = " ".repeat(indent);
    let mut text = String::from("\n");
    for line in lines {
        text.push_str(&format!("{outer}    {line}\n"));
    }
    text + &outer
}
