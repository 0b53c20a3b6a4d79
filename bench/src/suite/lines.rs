//! How much the same service takes in each system: lines written by hand, and lines that its
//! generator wrote.

use super::Result;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Which files belong to which system: `bench/peers/lines.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Services {
    service: Vec<Service>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Service {
    name: String,
    contract: Vec<String>,
    written: Vec<String>,
    generated: Vec<String>,
}

/// The lines of one system.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Lines {
    pub(crate) name: String,
    /// The IDL; none where the code is the contract.
    pub(crate) contract: usize,
    pub(crate) written: usize,
    /// Unknown where nothing has been built.
    pub(crate) generated: Option<usize>,
}

/// Counts the files of this folder, and what generators left below the folder of builds.
pub(crate) fn count(bench: &Path, builds: &Path) -> Result<Vec<Lines>> {
    let list = bench.join("peers/lines.toml");
    let services: Services = toml::from_str(&fs::read_to_string(&list)?)
        .map_err(|error| format!("{}: {error}", list.display()))?;
    let count = |service: Service| {
        Ok(Lines {
            contract: sum(bench, &service.contract)?.unwrap_or(0),
            written: sum(bench, &service.written)?
                .ok_or_else(|| format!("{}: files of {} are gone", list.display(), service.name))?,
            generated: sum(builds, &service.generated)?,
            name: service.name,
        })
    };
    services.service.into_iter().map(count).collect()
}

/// The lines of all files; none where a pattern finds no file.
fn sum(folder: &Path, patterns: &[String]) -> Result<Option<usize>> {
    let mut sum = 0;
    for pattern in patterns {
        let files = newest(&folder.join(pattern))?;
        if files.is_empty() {
            return Ok(None);
        }
        for file in files {
            sum += code(&fs::read_to_string(file)?);
        }
    }
    Ok(Some(sum))
}

/// The files of a pattern; of those with the same name the newest, since builds leave old folders
/// behind.
fn newest(pattern: &Path) -> Result<Vec<PathBuf>> {
    let mut files = BTreeMap::new();
    for file in glob::glob(&pattern.to_string_lossy())? {
        let file = file?;
        let modified = fs::metadata(&file)?.modified()?;
        let name = file.file_name().map(ToOwned::to_owned);
        let known = files.entry(name).or_insert((modified, file.clone()));
        if known.0 < modified {
            *known = (modified, file);
        }
    }
    Ok(files.into_values().map(|(_, file)| file).collect())
}

/// Lines that hold more than white space and comments.
fn code(text: &str) -> usize {
    let mut in_comment = false;
    let is_code = |line: &&str| {
        let line = line.trim();
        in_comment |= line.starts_with("/*");
        let comment = in_comment || line.starts_with("//") || line.starts_with("# ");
        in_comment &= !line.contains("*/");
        !comment && !line.is_empty()
    };
    text.lines().filter(is_code).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_code() {
        let rows = [
            ("", 0),
            ("\n  \n", 0),
            ("a\nb // c\n", 2),
            ("// a\n/// b\n#include <c>\n# d\n", 1),
            ("/* a\n * b\n */\nc\n", 1),
            ("/* a */\nb /* c */\n", 1),
        ];
        for (text, expected) in rows {
            assert_eq!(code(text), expected, "{text}");
        }
    }

    #[test]
    fn the_list_names_files_that_are_there() {
        let bench = Path::new(env!("CARGO_MANIFEST_DIR"));
        let lines = count(bench, Path::new("/nowhere")).unwrap_or_else(|error| panic!("{error}"));
        assert!(lines.iter().any(|lines| lines.name == "Dovetail"));
    }
}
