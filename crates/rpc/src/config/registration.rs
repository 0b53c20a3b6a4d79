//! The table of a server's registration.

use super::keys::{Key, Section, Set};
use super::settings::{Settings, parsed};
use crate::names::Registration;
use std::time::Duration;

/// The place where clients find the server, as a file has it.
#[derive(Clone, Default)]
pub(super) struct Registered {
    pub(super) name: Option<String>,
    pub(super) advertise: Vec<String>,
    pub(super) weight: Option<u32>,
    pub(super) priority: Option<u32>,
    pub(super) zone: Option<String>,
    pub(super) version: Option<String>,
    pub(super) ttl: Option<Duration>,
    pub(super) linger: Option<Duration>,
}

pub(super) const SECTION: Section<Settings> = Section {
    path: "registration",
    doc: "The place where clients [find the server](balancing.md#registration).",
    keys: &[
        Key::new(
            "name",
            "none",
            "The name, such as `etcd://10.0.0.1:2379/services/orders`.",
            Set::Text(|settings, name| {
                settings.registration().name = Some(name);
                Ok(())
            }),
        ),
        Key::new(
            "advertise",
            "those that the server has",
            "The addresses at which clients reach the server.",
            Set::Texts(|settings, texts| {
                settings.registration().advertise = parsed(texts)?;
                Ok(())
            }),
        ),
        Key::new(
            "weight",
            "1",
            "The share of the calls.",
            Set::Count(|settings, weight| {
                settings.registration().weight = u32::try_from(weight).ok();
            }),
        ),
        Key::new(
            "priority",
            "0",
            "Servers with a higher number get calls only while none with a lower one can be used.",
            Set::Count(|settings, priority| {
                settings.registration().priority = u32::try_from(priority).ok();
            }),
        ),
        Key::new(
            "zone",
            "none",
            "The zone in which the server runs.",
            Set::Text(|settings, zone| {
                settings.registration().zone = Some(zone);
                Ok(())
            }),
        ),
        Key::new(
            "version",
            "none",
            "The version of the program.",
            Set::Text(|settings, version| {
                settings.registration().version = Some(version);
                Ok(())
            }),
        ),
        Key::new(
            "ttl",
            "\"10s\"",
            "The time after which the registry forgets a server that is gone without a word.",
            Set::Time(|settings, ttl| settings.registration().ttl = Some(ttl)),
        ),
        Key::new(
            "linger",
            "\"1s\"",
            "The time between the end of the registration and that of the server.",
            Set::Time(|settings, linger| settings.registration().linger = Some(linger)),
        ),
    ],
};

impl Registered {
    /// Makes the registration of the server. The error is about its table.
    pub(super) fn registration(&self) -> Result<Registration, String> {
        let name = self.name.as_ref().ok_or("the `name` is missing")?;
        let made = Registration::new(name).map_err(|status| status.message().to_owned())?;
        let mut made = made
            .weight(self.weight.unwrap_or(1))
            .priority(self.priority.unwrap_or(0));
        if !self.advertise.is_empty() {
            made = made.advertise(&self.advertise);
        }
        if let Some(zone) = &self.zone {
            made = made.zone(zone);
        }
        if let Some(version) = &self.version {
            made = made.version(version);
        }
        if let Some(ttl) = self.ttl {
            made = made.ttl(ttl);
        }
        if let Some(linger) = self.linger {
            made = made.linger(linger);
        }
        Ok(made)
    }
}
