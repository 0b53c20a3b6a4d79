//! The events of a process, for its operator.

use super::Config;
use super::keys::{Key, Section, Set};
use super::settings::Settings;
use crate::access_log::Rotating;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Mutex;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, fmt, reload};

/// The log of a process, as a file has it.
#[derive(Clone, Default)]
pub(super) struct LogSettings {
    levels: Option<Targets>,
    format: Option<&'static str>,
    file: Option<PathBuf>,
}

/// Changes the levels of a log that is installed.
pub(super) type LogHandle = reload::Handle<Targets, Registry>;

pub(super) const SECTION: Section<Settings> = Section {
    path: "log",
    doc: "Events of the process, which come by `tracing`, for a program with `Config::install_log`.",
    keys: &[
        Key::live(
            "level",
            "\"info\"",
            "The least level of events, also by module: `warn`, `info,dovetail=debug`.",
            Set::Text(|settings, text| {
                settings.log.levels = Some(levels(&text)?);
                Ok(())
            }),
        ),
        Key::new(
            "format",
            "\"text\"",
            "`text`, or `json`: an object for each event.",
            Set::Word(&["json", "text"], |settings, word| {
                settings.log.format = Some(word);
            }),
        ),
        Key::new(
            "file",
            "the standard error output",
            "The file. It is made anew when it is renamed.",
            Set::File(|settings, file| settings.log.file = Some(file)),
        ),
    ],
};

/// Reads a level for all modules, and levels of single ones: `info,dovetail=debug`.
fn levels(text: &str) -> Result<Targets, String> {
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    let mut levels = Targets::new();
    for part in text.split(',') {
        let (module, level) = match part.split_once('=') {
            Some((module, level)) => (Some(module.trim()), level.trim()),
            None => (None, part.trim()),
        };
        let level: Option<LevelFilter> = match LEVELS.contains(&level) {
            true => level.parse().ok(),
            false => None,
        };
        let level = level.ok_or_else(|| {
            let known = LEVELS.join("`, `");
            format!("`{part}` has no level: known are `{known}`, and `MODULE=LEVEL`")
        })?;
        levels = match module {
            Some(module) => levels.with_target(module, level),
            None => levels.with_default(level),
        };
    }
    Ok(levels)
}

impl LogSettings {
    pub(super) fn levels(&self) -> Targets {
        let levels = self.levels.clone();
        levels.unwrap_or_else(|| Targets::new().with_default(LevelFilter::INFO))
    }

    fn writer(&self) -> io::Result<Box<dyn Write + Send>> {
        Ok(match &self.file {
            Some(file) => Box::new(Rotating::open(file)?),
            None => Box::new(io::stderr()),
        })
    }
}

impl Config {
    /// Writes the events of the process, which come by the crate `tracing`, as the table `log` of
    /// the file says. A program calls this once, before it starts its server. A
    /// [reload](Self::reload) changes the level. An error if the file cannot be opened, or the
    /// process has another subscriber.
    pub fn install_log(&self) -> io::Result<()> {
        let settings = self.lock().read.settings.log.clone();
        let events = fmt::layer().with_writer(Mutex::new(settings.writer()?));
        let events = match settings.format {
            Some("json") => events.json().boxed(),
            _ => events.boxed(),
        };
        let (levels, handle) = reload::Layer::new(settings.levels());
        let installed = Registry::default().with(levels).with(events).try_init();
        installed
            .map_err(|error| io::Error::new(io::ErrorKind::AlreadyExists, error.to_string()))?;
        self.lock().log = Some(handle);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level;

    #[test]
    fn levels_are_read() {
        // Text; whether events at info of `dovetail`, and of another module, are written.
        let rows = [
            ("info", Ok((true, true))),
            ("warn, dovetail=debug", Ok((true, false))),
            ("off", Ok((false, false))),
            ("dovetail::server=trace", Ok((false, false))),
            ("inof", Err("`inof` has no level")),
            ("dovetail=", Err("`dovetail=` has no level")),
            ("", Err("`` has no level")),
            ("3", Err("`3` has no level")),
        ];
        for (text, expected) in rows {
            let found = levels(text).map(|levels| {
                let writes = |module| levels.would_enable(module, &Level::INFO);
                (writes("dovetail"), writes("other"))
            });
            match (found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{text}"),
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{found}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
    }
}
