//! Changes of a configuration that counts already: its file anew, or a value that an administrator
//! sets.

use super::keys;
use super::live::Live;
use super::overrides::Overrides;
use super::parts::Parts;
use super::settings;
use super::{Config, ConfigError, ConfigState, Read, Running, folder, read_file};
use crate::peer::intercept::ServerInterceptor;
use crate::{Code, Status};
use std::sync::Arc;

/// The outcome of a reload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reloaded {
    /// Keys whose new values count now.
    pub changed: Vec<String>,
    /// Keys whose new values count after a restart.
    pub restart: Vec<String>,
}

impl Config {
    /// Reads the file again. Everything that a reload can change counts for new calls, and
    /// connections stay; after an error everything stays as it was. Values that administrators
    /// have set stay above those of the file. Without a file nothing happens.
    pub fn reload(&self) -> Result<Reloaded, ConfigError> {
        let Some(file) = &self.0.file else {
            return Ok(Reloaded::default());
        };
        let text = read_file(file, &self.0.origin)?;
        let mut state = self.lock();
        let overrides = state.overrides.clone();
        let (read, parts) = self.read(&text, &overrides)?;
        let reloaded = state.differences(&read, &parts);
        self.take_over(&mut state, read, parts)?;
        state.text = text;
        Ok(reloaded)
    }

    /// Sets a key above what the file says, or with `None` takes the value back. Returns the keys
    /// that have changed; nothing changes where one of them needs a restart.
    pub(crate) fn set(
        &self,
        key: &str,
        value: Option<&str>,
        by: &str,
    ) -> Result<Vec<String>, Status> {
        let refused = |error: ConfigError| Status::invalid_argument(error.brief());
        let mut state = self.lock();
        let mut overrides = state.overrides.clone();
        overrides.set(key, value, by)?;
        let (read, parts) = self.read(&state.text, &overrides).map_err(refused)?;
        let Reloaded { changed, restart } = state.differences(&read, &parts);
        if !restart.is_empty() {
            let what = format!("`{key}` counts after a restart: change it in the file");
            return Err(Status::new(Code::FailedPrecondition, what));
        }
        self.take_over(&mut state, read, parts).map_err(refused)?;
        state.overrides = overrides;
        Ok(changed)
    }

    fn read(&self, text: &str, overrides: &Overrides) -> Result<(Read, Parts), ConfigError> {
        let (text, is_changed) = overrides.over(text);
        let origin = match is_changed {
            true => format!("{}, with values set at runtime", self.0.origin),
            false => self.0.origin.clone(),
        };
        Read::new(&origin, text, folder(self.0.file.as_deref()))
    }

    /// Has all that can be replaced work as a text says, or nothing of it.
    fn take_over(
        &self,
        state: &mut ConfigState,
        read: Read,
        mut parts: Parts,
    ) -> Result<(), ConfigError> {
        let differ = changed(&state.read, &read);
        if !differ.iter().any(|(path, _)| path.starts_with("quotas.")) {
            // The running ones have counted.
            parts.throttle = None;
        }
        let replaced = state.running.replace(parts);
        replaced.map_err(|(path, why)| self.error(&read, path, why))?;
        if let (Some(running), Some(logged)) =
            (&state.running.access_log, &read.settings.access_log)
        {
            running.replace(logged.with_options((*running.current()).clone()));
        }
        if let Some(options) = &state.running.options {
            options.change(read.settings.live());
        }
        if let Some(tracing) = &state.tracing {
            read.settings.telemetry.sample(tracing);
        }
        if let Some(log) = &state.log {
            // The subscriber is there as long as the process.
            let _ = log.reload(read.settings.log.levels());
        }
        state.read = Arc::new(read);
        Ok(())
    }
}

impl ConfigState {
    /// Returns the keys whose values differ.
    fn differences(&self, read: &Read, parts: &Parts) -> Reloaded {
        let mut reloaded = Reloaded::default();
        for (path, is_live) in changed(&self.read, read) {
            let is_replaced = match path.split('.').next() {
                Some("log") => self.log.is_some(),
                Some("server") => self.running.options.is_some(),
                Some("telemetry") => self.tracing.is_some(),
                Some("access-log") => {
                    self.running.access_log.is_some() && read.settings.access_log.is_some()
                }
                _ => self.running.replaces(parts, &path),
            };
            match is_live && is_replaced {
                true => reloaded.changed.push(path),
                false => reloaded.restart.push(path),
            }
        }
        reloaded
    }
}

/// The keys whose values differ, and whether a reload can change them.
fn changed(old: &Read, new: &Read) -> Vec<(String, bool)> {
    let sections = settings::SECTIONS.iter();
    let mut known: Vec<_> = sections
        .flat_map(|section| {
            let keys = section.keys.iter();
            keys.map(|key| (keys::join(section.path, key.name), key.live))
        })
        .collect();
    let values = old.values.keys().chain(new.values.keys());
    let tables = ["channels.", "quotas.", "sessions."];
    let named = values.filter(|path| tables.iter().any(|table| path.starts_with(table)));
    known.extend(named.map(|path| (path.clone(), path.starts_with("quotas."))));
    known.sort();
    known.dedup();
    known.retain(|(path, _)| old.value(path) != new.value(path));
    known
}

impl Running {
    /// Returns true if these parts take the place of what is at this path. A table that was added
    /// or removed as a whole takes a restart.
    fn replaces(&self, parts: &Parts, path: &str) -> bool {
        let is = |table: &str| path.starts_with(table);
        (is("authentication") && self.authentication.is_some() && parts.authentication.is_some())
            || (is("permissions") && self.permissions.is_some() && parts.permissions.is_some())
            || (is("quotas") && self.throttle.is_some() && parts.throttle.is_some())
    }

    /// Replaces everything, or nothing. The error has the path of a table.
    fn replace(&mut self, parts: Parts) -> Result<(), (&'static str, String)> {
        let Parts {
            tls,
            mut authentication,
            mut throttle,
            mut permissions,
        } = parts;
        prepare("authentication", &self.authentication, &mut authentication)?;
        prepare("quotas", &self.throttle, &mut throttle)?;
        prepare("permissions", &self.permissions, &mut permissions)?;
        replace(&self.authentication, authentication);
        replace(&self.throttle, throttle);
        replace(&self.permissions, permissions);
        if let (Some(running), Some(new)) = (&self.tls, tls) {
            running.replace(&new);
        }
        Ok(())
    }
}

/// Makes a part ready to take over. The error has the path of its table.
fn prepare<T: ServerInterceptor>(
    path: &'static str,
    running: &Option<Live<T>>,
    new: &mut Option<T>,
) -> Result<(), (&'static str, String)> {
    match (running, new) {
        (Some(running), Some(new)) => {
            let prepared = running.prepare(new);
            prepared.map_err(|status| (path, status.message().to_owned()))
        }
        _ => Ok(()),
    }
}

fn replace<T: ServerInterceptor>(running: &Option<Live<T>>, new: Option<T>) {
    if let (Some(running), Some(new)) = (running, new) {
        running.replace(new);
    }
}
