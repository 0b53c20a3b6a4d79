//! The tables of sessions.

use super::keys::{Key, Section, Set};
use super::{Config, ConfigError};
use crate::sessions::{FileStore, Sessions, SessionsBuilder};
use dovetail_wire::Value;
use std::path::PathBuf;
use std::time::Duration;

/// Settings of sessions, as a file has them.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionSettings {
    idle: Option<Duration>,
    most: Option<usize>,
    per_caller: Option<usize>,
    folder: Option<PathBuf>,
    synced: bool,
}

/// The table of the sessions of a service, which is `sessions.` and its name.
pub(super) const SECTIONS: &[Section<SessionSettings>] = &[Section {
    path: "",
    doc: "Sessions by the name that the program gives to `Config::sessions`; see [sessions](sessions.md).",
    keys: &[
        Key::new(
            "idle",
            "\"30m\"",
            "A session ends when no call has used it for so long.",
            Set::Time(|sessions, time| sessions.idle = Some(time)),
        ),
        Key::new(
            "most",
            "100000",
            "Sessions of all callers.",
            Set::Count(|sessions, most| sessions.most = Some(most)),
        ),
        Key::new(
            "per-caller",
            "1000",
            "Sessions of each caller: of a principal, or else an address.",
            Set::Count(|sessions, most| sessions.per_caller = Some(most)),
        ),
        Key::new(
            "folder",
            "none",
            "A folder for a file of each session, which keeps them across restarts. It is made if it is not there.",
            Set::File(|sessions, folder| sessions.folder = Some(folder)),
        ),
        Key::new(
            "synced",
            "false",
            "Files are on the disk before calls are answered.",
            Set::Flag(|sessions, synced| sessions.synced = synced),
        ),
    ],
}];

impl Config {
    /// Makes the sessions of a name, with the settings of the table `[sessions.NAME]` in place of
    /// the builder's. An error where there is no such table, or its folder cannot be used.
    ///
    /// ```
    /// use dovetail::config::Config;
    /// use dovetail::sessions::Sessions;
    /// # #[derive(Clone, Debug, Default, PartialEq, dovetail::Message)]
    /// # struct Cart { items: Vec<String> }
    ///
    /// let config = Config::parse("shop.toml", "[sessions.carts]\nidle = '10m'")?;
    /// let carts = config.sessions("carts", Sessions::builder(|_| Ok(Cart::default())))?;
    /// # drop(carts);
    /// # Ok::<(), dovetail::config::ConfigError>(())
    /// ```
    pub fn sessions<T: Value + Send + Sync + 'static>(
        &self,
        name: &str,
        mut builder: SessionsBuilder<T>,
    ) -> Result<Sessions<T>, ConfigError> {
        let read = self.lock().read.clone();
        let path = format!("sessions.{name}");
        let Some(settings) = read.sessions.get(name) else {
            let what = format!("there is no table `[{path}]`, which the program asks for");
            return Err(self.error(&read, "sessions", what));
        };
        if let Some(idle) = settings.idle {
            builder = builder.idle(idle);
        }
        if let Some(most) = settings.most {
            builder = builder.most(most);
        }
        if let Some(most) = settings.per_caller {
            builder = builder.per_caller(most);
        }
        let Some(folder) = &settings.folder else {
            return Ok(builder.build());
        };
        let sessions = FileStore::open(folder).and_then(|store| {
            builder.build_with(match settings.synced {
                true => store.synced(),
                false => store,
            })
        });
        sessions.map_err(|error| {
            let what = format!("the folder `{}` cannot be used: {error}", folder.display());
            self.error(&read, &format!("{path}.folder"), what)
        })
    }
}
