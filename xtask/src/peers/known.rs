//! The weaknesses of `interop/known.toml`: where a peer fails by itself.

use super::matrix::Way;
use crate::stage;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

/// The rows of the file.
pub(crate) struct Known {
    rows: Vec<Row>,
}

/// One of them, and whether a failure needed it.
struct Row {
    table: toml::Table,
    seen: Mutex<bool>,
}

impl Known {
    /// Reads the file.
    pub(crate) fn load() -> Result<Known, String> {
        let file = stage::root().join("interop/known.toml");
        let text = std::fs::read_to_string(&file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        let table: toml::Table =
            toml::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        let rows = table.get("known").and_then(toml::Value::as_array);
        let row = |table: &toml::Table| Row {
            table: table.clone(),
            seen: Mutex::default(),
        };
        let tables = rows.into_iter().flatten().filter_map(toml::Value::as_table);
        Ok(Known {
            rows: tables.map(row).collect(),
        })
    }

    /// The number of the row that expects this case to fail, if there is one.
    pub(crate) fn row(&self, client: &str, server: &str, way: &Way, case: &str) -> Option<usize> {
        let facts = BTreeMap::from([
            ("client", client),
            ("server", server),
            ("protocol", way.protocol.as_str()),
            ("transport", way.transport.as_str()),
            ("case", case),
        ]);
        let covers = |row: &Row| {
            facts.iter().all(|(name, fact)| match row.table.get(*name) {
                None => true,
                Some(toml::Value::Array(any)) => any.iter().any(|one| one.as_str() == Some(fact)),
                Some(one) => one.as_str() == Some(fact),
            })
        };
        self.rows.iter().position(covers)
    }

    /// Remembers that a failure needed this row.
    pub(crate) fn needed(&self, row: usize) {
        if let Some(row) = self.rows.get(row)
            && let Ok(mut seen) = row.seen.lock()
        {
            *seen = true;
        }
    }

    /// Returns the values of a row under this name; nothing means any.
    pub(crate) fn field(&self, row: usize, name: &str) -> Vec<&str> {
        match self.rows.get(row).and_then(|row| row.table.get(name)) {
            Some(toml::Value::Array(any)) => any.iter().filter_map(toml::Value::as_str).collect(),
            Some(one) => one.as_str().into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// Why the cases of this row fail.
    pub(crate) fn reason(&self, row: usize) -> &str {
        self.rows.get(row).map_or("", Row::reason)
    }

    /// The reasons of those of these rows that no failure needed.
    pub(crate) fn idle(&self, rows: BTreeSet<usize>) -> impl Iterator<Item = &str> {
        rows.into_iter()
            .filter_map(|row| self.rows.get(row))
            .filter(|row| row.seen.lock().is_ok_and(|seen| !*seen))
            .map(Row::reason)
    }
}

impl Row {
    fn reason(&self) -> &str {
        let reason = self.table.get("reason").and_then(toml::Value::as_str);
        reason.unwrap_or("no reason is given")
    }
}
