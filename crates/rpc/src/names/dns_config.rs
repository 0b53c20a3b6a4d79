//! Service configs in the TXT records of DNS (gRFC A2).

use serde::Deserialize;
use serde_json::Value;

/// The beginning of the records that count.
const ATTRIBUTE: &str = "grpc_config=";

/// The name of this library's language in `clientLanguage`.
const LANGUAGE: &str = "rust";

/// A config, and the clients for which it is.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigChoice {
    client_language: Option<Vec<String>>,
    percentage: Option<u32>,
    client_hostname: Option<Vec<String>>,
    service_config: Value,
}

/// A client of service configs.
pub(super) struct ConfigClient {
    hostname: String,
    /// A number below 100: a config for 20 percent of the clients is for those below 20.
    chance: u32,
}

impl ConfigClient {
    /// This process. Its chance is drawn once, so that its config does not change by itself.
    pub(super) fn new() -> Self {
        let name = rustix::system::uname();
        ConfigClient {
            hostname: name.nodename().to_string_lossy().into_owned(),
            chance: fastrand::u32(..100),
        }
    }

    /// Returns the first config of some records that is for this client.
    pub(super) fn choose(&self, records: &[String]) -> Result<Option<String>, String> {
        let mut attributes = records
            .iter()
            .filter_map(|record| record.strip_prefix(ATTRIBUTE));
        let Some(json) = attributes.next() else {
            return Ok(None);
        };
        let choices: Vec<ConfigChoice> = serde_json::from_str(json)
            .map_err(|error| format!("the service config in a TXT record: {error}"))?;
        let chosen = choices.iter().find(|choice| self.is_meant_by(choice));
        Ok(chosen.map(|choice| choice.service_config.to_string()))
    }

    fn is_meant_by(&self, choice: &ConfigChoice) -> bool {
        let lists = |list: &Option<Vec<String>>, name: &str| {
            let Some(list) = list else { return true };
            list.iter().any(|one| one.eq_ignore_ascii_case(name))
        };
        let share = choice.percentage.unwrap_or(100);
        self.chance < share
            && lists(&choice.client_language, LANGUAGE)
            && lists(&choice.client_hostname, &self.hostname)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records, and the config in them or the beginning of the error.
    type Row<'a> = (&'a [&'a str], Result<Option<&'a str>, &'a str>);

    #[test]
    fn the_first_config_for_this_client_counts() {
        let client = ConfigClient {
            hostname: "here".to_owned(),
            chance: 20,
        };
        let rows: &[Row<'_>] = &[
            (&[], Ok(None)),
            (&["v=spf1 -all"], Ok(None)),
            (&["grpc_config=[]"], Ok(None)),
            (
                &["other", r#"grpc_config=[{"serviceConfig":{"a":1}}]"#],
                Ok(Some(r#"{"a":1}"#)),
            ),
            (
                &[
                    r#"grpc_config=[{"clientLanguage":["go"],"serviceConfig":{}},{"clientLanguage":["RUST"],"serviceConfig":{"b":2}}]"#,
                ],
                Ok(Some(r#"{"b":2}"#)),
            ),
            (
                &[
                    r#"grpc_config=[{"percentage":20,"serviceConfig":{}},{"percentage":21,"serviceConfig":{"c":3}}]"#,
                ],
                Ok(Some(r#"{"c":3}"#)),
            ),
            (
                &[
                    r#"grpc_config=[{"clientHostname":["there"],"serviceConfig":{}},{"clientHostname":["there","here"],"serviceConfig":{"d":4}}]"#,
                ],
                Ok(Some(r#"{"d":4}"#)),
            ),
            (
                &["grpc_config={"],
                Err("the service config in a TXT record"),
            ),
            (
                &[r#"grpc_config=[{}]"#],
                Err("the service config in a TXT record"),
            ),
        ];
        for (records, expected) in rows {
            let records: Vec<String> = records.iter().map(|&text| text.to_owned()).collect();
            let found = client.choose(&records);
            match expected {
                Ok(json) => assert_eq!(found, Ok(json.map(str::to_owned)), "{records:?}"),
                Err(why) => assert!(found.is_err_and(|error| error.starts_with(why))),
            }
        }
    }
}
