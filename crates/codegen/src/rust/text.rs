//! The file in the making.

use super::expr::{Expr, MAX_WIDTH};
use super::options::Options;

/// Text with an indentation, and the few shapes of item that rustfmt breaks by width.
#[derive(Default)]
pub(super) struct Text {
    out: String,
    indent: usize,
}

impl Text {
    pub(super) fn indented(indent: usize) -> Self {
        Text {
            out: String::new(),
            indent,
        }
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    pub(super) fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    pub(super) fn indent(&self) -> usize {
        self.indent
    }

    /// Whole lines that have their indentation already.
    pub(super) fn raw(&mut self, text: &str) {
        self.out.push_str(text);
    }

    pub(super) fn line(&mut self, line: &str) {
        if !line.is_empty() {
            self.out.extend(std::iter::repeat_n(' ', self.indent));
            self.out.push_str(line);
        }
        self.out.push('\n');
    }

    /// An empty line, except at the very beginning and after an opening brace.
    pub(super) fn gap(&mut self) {
        let opened = self.out.ends_with("{\n") || self.out.ends_with("\n\n");
        if !self.out.is_empty() && !opened {
            self.out.push('\n');
        }
    }

    pub(super) fn open(&mut self, line: &str) {
        self.line(line);
        self.indent += 4;
    }

    pub(super) fn close(&mut self, line: &str) {
        self.indent -= 4;
        self.line(line);
    }

    pub(super) fn fits(&self, line: &str) -> bool {
        self.indent + line.chars().count() <= MAX_WIDTH
    }

    /// `#[name(arguments)]`, on as many lines as it needs.
    pub(super) fn attribute(&mut self, name: &str, args: &[String]) {
        let flat = args.join(", ");
        let line = format!("#[{name}({flat})]");
        if flat.len() <= 70 && self.fits(&line) {
            return self.line(&line);
        }
        self.open(&format!("#[{name}("));
        for (index, arg) in args.iter().enumerate() {
            // rustfmt ends the list with a comma in `derive` only.
            let last = index + 1 == args.len() && name != "derive";
            self.line(&format!("{arg}{}", if last { "" } else { "," }));
        }
        self.close(")]");
    }

    /// `before after`, the second part on a line of its own where both do not fit.
    pub(super) fn assignment(&mut self, before: &str, after: &str) {
        let line = format!("{before} {after}");
        if self.fits(&line) {
            return self.line(&line);
        }
        self.open(before);
        self.line(after);
        self.indent -= 4;
    }

    /// `before type end`, the arguments of the type one for each line where there is no other way.
    pub(super) fn typed(&mut self, before: &str, ty: &str, end: char) {
        let fits_below = self.indent + 4 + ty.len() < MAX_WIDTH;
        match ty.split_once('<') {
            Some((name, arguments)) if !fits_below => {
                self.open(&format!("{before} {name}<"));
                for argument in split_arguments(arguments.strip_suffix('>').unwrap_or(arguments)) {
                    self.line(&format!("{argument},"));
                }
                self.close(&format!(">{end}"));
            }
            _ => self.assignment(before, &format!("{ty}{end}")),
        }
    }

    /// `impl what for whom {`.
    pub(super) fn open_impl(&mut self, what: &str, whom: &str) {
        let line = format!("impl{what} for {whom} {{");
        if self.fits(&line) {
            return self.open(&line);
        }
        self.open(&format!("impl{what}"));
        self.line(&format!("for {whom}"));
        self.indent -= 4;
        self.open("{");
    }

    /// `head(params) -> ret;`, the parameters one for each line where they do not fit. With `{` as
    /// its tail it opens a body.
    pub(super) fn signature(&mut self, head: &str, params: &[String], ret: &str, tail: &str) {
        let line = format!("{head}({}) -> {ret}{tail}", params.join(", "));
        if self.indent + line.len() == MAX_WIDTH && tail == ";" {
            // At exactly this width rustfmt moves the result, not the parameters.
            self.line(&format!("{head}({})", params.join(", ")));
            self.line(&format!("-> {ret}{tail}"));
        } else if self.fits(&line) {
            self.line(&line);
        } else {
            self.open(&format!("{head}("));
            for param in params {
                self.line(&format!("{param},"));
            }
            self.indent -= 4;
            self.long_result(ret, tail);
        }
        if tail.ends_with('{') {
            self.indent += 4;
        }
    }

    /// A type between other things, its arguments one for each line where it does not fit, and
    /// theirs where they do not.
    fn long_type(&mut self, before: &str, ty: &str, after: &str) {
        let flat = format!("{before}{ty}{after}");
        // rustfmt leaves the last column free behind an argument.
        let fits = self.indent + flat.len() + usize::from(after == ",") <= MAX_WIDTH;
        let inner = ty.find(['<', '(']).filter(|_| !fits);
        let Some((head, arguments)) = inner.map(|at| ty.split_at(at + 1)) else {
            return self.line(&flat);
        };
        let (arguments, close) = arguments.split_at(arguments.len() - 1);
        self.open(&format!("{before}{head}"));
        for argument in split_arguments(arguments) {
            self.long_type("", argument, ",");
        }
        self.close(&format!("{close}{after}"));
    }

    /// The end of a signature. rustfmt measures a result by itself, and breaks a bound before a
    /// type.
    fn long_result(&mut self, ret: &str, tail: &str) {
        let parts = ret.split_once("<Output = ").zip(ret.rsplit_once(" + "));
        let Some(((future, rest), (bounded, bound))) = parts else {
            let flat = format!(") -> {ret}");
            // rustfmt counts the indentation twice where it looks for room for the brace.
            let room = MAX_WIDTH.saturating_sub(self.indent);
            if tail == " {" && self.fits(&flat) && self.indent + flat.len() + 2 > room {
                self.line(&flat);
                return self.line("{");
            }
            return self.long_type(") -> ", ret, tail);
        };
        if self.indent + ret.len() <= MAX_WIDTH + 2 {
            self.line(&format!(") -> {ret}{tail}"));
        } else if self.indent + bounded.len() <= MAX_WIDTH - 4 {
            self.line(&format!(") -> {bounded}"));
            self.line(&format!("+ {bound}{tail}"));
        } else {
            let output = &rest[..rest.len() - bound.len() - "> + ".len()];
            self.open(&format!(") -> {future}<"));
            self.long_type("Output = ", output, ",");
            self.close(&format!("> + {bound}{tail}"));
        }
    }

    /// `before = LazyLock::new(|| value);`, the closure's body in braces where it has to be.
    pub(super) fn lazy(&mut self, before: &str, lock: &str, value: &Expr) {
        if let Some(flat) = value.flat() {
            // A function without arguments needs no closure around it.
            let init = match flat.strip_suffix("()") {
                Some(function) => format!("{lock}::new({function});"),
                None => format!("{lock}::new(|| {flat});"),
            };
            if self.indent + 4 + init.chars().count() <= MAX_WIDTH {
                return match before.split_once('<') {
                    Some((name, ty)) if !self.fits(before) => {
                        self.open(&format!("{name}<"));
                        self.line(&format!("{},", ty.trim_end_matches("> =")));
                        self.close(&format!("> = {init}"));
                    }
                    _ => self.assignment(before, &init),
                };
            }
        }
        // The head moves to a line of its own where it would not fit beside the name.
        let head = match value {
            Expr::Struct(path, ..) => format!("{lock}::new(|| {path} {{"),
            _ => format!("{lock}::new(|| {{"),
        };
        let beside = self.fits(&format!("{before} {head});"));
        if beside {
            self.out.extend(std::iter::repeat_n(' ', self.indent));
            self.out.push_str(before);
            self.out.push(' ');
        } else {
            self.open(before);
            self.out.extend(std::iter::repeat_n(' ', self.indent));
        }
        let body = match value {
            Expr::Struct(..) => value.render(self.indent, 0, 2),
            _ => {
                let (inner, outer) = (self.indent + 4, " ".repeat(self.indent));
                format!("{{\n{outer}    {}\n{outer}}}", value.render(inner, 0, 0))
            }
        };
        self.out.push_str(&format!("{lock}::new(|| {body});\n"));
        if !beside {
            self.indent -= 4;
        }
    }

    /// `self.channel.function(arguments)`, with `.await` where asked for.
    pub(super) fn channel_call(&mut self, function: &str, args: Vec<Expr>, awaited: bool) {
        let call = Expr::Call(format!(".{function}"), args);
        let tail = if awaited { ".await" } else { "" };
        let inner = self.indent + 4;
        if let Some(flat) = call.flat() {
            let line = format!("self.channel{flat}{tail}");
            if line.len() <= 60 && self.fits(&line) {
                return self.line(&line);
            }
        } else if !awaited {
            let call = call.render(self.indent, "self.channel".len(), 0);
            return self.line(&format!("self.channel{call}"));
        }
        self.open("self.channel");
        self.line(&call.render(inner, 0, 0));
        if awaited {
            self.line(tail);
        }
        self.indent -= 4;
    }

    /// `handler` and a call of its method, which begins with a dot.
    pub(super) fn handler_call(&mut self, call: &Expr) {
        let flat = call.flat();
        // Arguments that can share lines may fill the last column.
        let spare = usize::from(!call.has_short_arguments());
        let fits_below = |flat: &String| self.indent + 4 + flat.len() + spare <= MAX_WIDTH;
        match flat {
            Some(flat) if self.fits(&format!("handler{flat}")) => {
                self.line(&format!("handler{flat}"));
            }
            Some(flat) if fits_below(&flat) => {
                self.open("handler");
                self.line(&flat);
                self.indent -= 4;
            }
            _ => {
                let call = call.render(self.indent, "handler".len(), 0);
                self.line(&format!("handler{call}"));
            }
        }
    }

    /// A documentation comment, of text that may contain anything.
    pub(super) fn docs(&mut self, doc: Option<&str>) {
        for line in doc.map(doc_lines).unwrap_or_default() {
            self.line(format!("/// {line}").trim_end());
        }
    }

    /// `#[deprecated]`, with the reason where there is one.
    pub(super) fn deprecated(&mut self, reason: Option<&str>) {
        match reason {
            None => {}
            Some("") => self.line("#[deprecated]"),
            Some(reason) => self.line(&format!("#[deprecated = {reason:?}]")),
        }
    }

    /// The `derive` attribute, with what the options add.
    pub(super) fn derive(&mut self, traits: &[&str], options: &Options) {
        let mut traits: Vec<String> = traits.iter().map(|&name| name.to_owned()).collect();
        for extra in &options.derives {
            if !traits.contains(extra) {
                traits.push(extra.clone());
            }
        }
        self.attribute("derive", &traits);
    }
}

/// The arguments of a generic type, given everything behind its `<`.
fn split_arguments(text: &str) -> Vec<&str> {
    let (mut depth, mut start) = (0, 0);
    let mut arguments = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth -= 1,
            ',' if depth == 0 => {
                arguments.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    arguments.push(text[start..].trim());
    arguments
}

/// The lines of a comment, so that rustdoc takes no example in it for a test in Rust.
fn doc_lines(doc: &str) -> Vec<String> {
    let mut fence: Option<String> = None;
    let mut lines = Vec::new();
    for line in doc.lines() {
        let line: String = line
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .filter(|c| !changes_direction(*c))
            .collect();
        let line = line.trim_end();
        let text = line.trim_start();
        let indent = line.len() - text.len();
        let marks: String = text.chars().take_while(|&c| c == '`').collect();
        match &fence {
            Some(open) => {
                if text == marks && marks.len() >= open.len() {
                    fence = None;
                }
                lines.push(line.to_owned());
            }
            None if marks.len() >= 3 => {
                let language = match text[marks.len()..].trim() {
                    "" => "text",
                    language if language.starts_with("rust") => "text",
                    language => language,
                };
                // A code block that the comment itself indents keeps no more of it than the rest.
                lines.push(format!("{}{marks}{language}", " ".repeat(indent.min(3))));
                fence = Some(marks);
            }
            // Four spaces would make it a code block, and so a test.
            None => lines.push(format!("{}{text}", " ".repeat(indent.min(3)))),
        }
    }
    lines.extend(fence);
    lines
}

/// rustc refuses comments that can be displayed in another order than they are read.
fn changes_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
