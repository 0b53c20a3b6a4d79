use super::list::backend;
use super::{Resolution, Resolver, Updates};
use dovetail_balance::Backend;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// How often the file is looked at.
const PAUSE: Duration = Duration::from_millis(250);

/// The servers that a file lists.
pub(super) struct File(PathBuf);

impl File {
    /// `path` is behind `file:`, with or without `//`.
    pub(super) fn new(path: &str) -> Result<Self, String> {
        match path.strip_prefix("//").unwrap_or(path) {
            "" => Err("write file:///path/to/a/list".to_owned()),
            path => Ok(File(path.into())),
        }
    }

    fn read(&self) -> Result<Resolution, String> {
        let path = self.0.display();
        let text = fs::read_to_string(&self.0).map_err(|error| format!("{path}: {error}"))?;
        let numbered = text.lines().enumerate();
        let parsed = numbered.filter_map(|(index, line)| {
            let located = |why: String| format!("{path}, line {}: {why}", index + 1);
            server(line).map_err(located).transpose()
        });
        Ok(Resolution::of(parsed.collect::<Result<_, String>>()?))
    }
}

impl Resolver for File {
    fn name(&self) -> String {
        format!("file://{}", self.0.display())
    }

    fn watch(&self, updates: &Updates) {
        let mut reported = None;
        loop {
            // The whole file each time: it is short, and times of change are too coarse to go by.
            let read = self.read();
            if reported.as_ref() != Some(&read) {
                match read.clone() {
                    Ok(resolution) => updates.found(resolution),
                    Err(why) => updates.failed(why),
                }
                reported = Some(read);
            }
            if !updates.wait(PAUSE) {
                return;
            }
        }
    }
}

/// The server of a line; `None` where the line is empty, or a comment.
pub(super) fn server(line: &str) -> Result<Option<Backend>, String> {
    let line = line.split('#').next().unwrap_or_default();
    let mut words = line.split_whitespace();
    let Some(address) = words.next() else {
        return Ok(None);
    };
    let mut server = backend(address)?;
    for word in words {
        let number = |text: &str| {
            let parsed: Result<u32, _> = text.parse();
            parsed.map_err(|_| format!("`{word}`: a whole number is wanted"))
        };
        server = match word.split_once('=') {
            Some(("weight", weight)) => server.weight(number(weight)?),
            Some(("priority", priority)) => server.priority(number(priority)?),
            Some(("zone", zone)) => server.zone(zone),
            Some(("version", version)) => server.version(version),
            _ => {
                return Err(format!(
                    "`{word}`: behind an address stand weight=, priority=, zone= or version="
                ));
            }
        };
    }
    Ok(Some(server))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let full = Backend::new("tcp://a:1").weight(3).priority(1).zone("eu");
        let rows: &[(&str, Result<Option<Backend>, &str>)] = &[
            ("", Ok(None)),
            ("  # nothing", Ok(None)),
            ("tcp://a:1", Ok(Some(Backend::new("tcp://a:1")))),
            ("a:1 # the first", Ok(Some(Backend::new("tcp://a:1")))),
            ("unix:/run/a", Ok(Some(Backend::new("unix:/run/a")))),
            ("a:1 weight=3 zone=eu priority=1", Ok(Some(full))),
            (
                "a:1 version=1.4",
                Ok(Some(Backend::new("tcp://a:1").version("1.4"))),
            ),
            (
                "a:1 weight=-1",
                Err("`weight=-1`: a whole number is wanted"),
            ),
            (
                "a:1 wieght=1",
                Err("`wieght=1`: behind an address stand weight=, priority=, zone= or version="),
            ),
        ];
        for (line, expected) in rows {
            let expected = expected.clone().map_err(str::to_owned);
            assert_eq!(server(line), expected, "{line}");
        }
        assert!(server("nothing").is_err());
    }
}
