//! `cargo xtask docs`: the documentation as a site, by mdBook, in `target/site/book`.
//!
//! The pages keep their places in the repository, so their links to each other hold. A link that
//! leaves the site leads to the repository's own page.

use crate::stage::{self, Outcome};
use crate::steps::{execute, output, read, write};
use crate::tools::CargoTool;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

const MDBOOK: CargoTool = CargoTool {
    name: "mdbook",
    version: "0.5.4",
    options: &["--no-default-features", "--features", "search"],
};

/// The order of the pages.
const SUMMARY: &str = "docs/SUMMARY.md";

pub(crate) fn run() -> Result<(), String> {
    let index = build()?;
    println!("{}", index.display());
    Ok(())
}

/// The stage of the tests.
pub(crate) fn stage() -> Outcome {
    match build() {
        Ok(_) => Outcome::Passed,
        Err(why) => Outcome::Failed(why),
    }
}

/// Builds the site, checks it, and returns its first page.
fn build() -> Result<PathBuf, String> {
    let mdbook = MDBOOK.program()?;
    let site = stage::target().join("site");
    let _ = fs::remove_dir_all(&site);
    let summary = read(&stage::root().join(SUMMARY))?;
    let pages: BTreeSet<String> = targets(&summary)
        .filter_map(|target| resolve(SUMMARY, target))
        .collect();
    check_complete(&pages)?;
    for page in &pages {
        let text = read(&stage::root().join(page))?;
        let place = site.join("src").join(renamed(page));
        write(&place, &with_links(&text, page, page, &pages))?;
    }
    let summary = with_links(&summary, SUMMARY, "SUMMARY.md", &pages);
    write(&site.join("src/SUMMARY.md"), &summary)?;
    write(
        &site.join("book.toml"),
        &read(&stage::root().join("docs/book.toml"))?,
    )?;
    for file in tracked("docs/*.svg")? {
        write(
            &site.join("src").join(&file),
            &read(&stage::root().join(&file))?,
        )?;
    }
    execute(Command::new(mdbook).arg("build").arg(&site))?;
    let book = site.join("book");
    check_links(&book)?;
    Ok(book.join("index.html"))
}

/// Refuses a page of the documentation that readers of the site would not find.
fn check_complete(pages: &BTreeSet<String>) -> Result<(), String> {
    let all = tracked("docs/*.md")?;
    let left: Vec<&str> = all
        .iter()
        .map(String::as_str)
        .filter(|page| *page != SUMMARY && !pages.contains(*page))
        .collect();
    match left.is_empty() {
        true => Ok(()),
        false => Err(format!("{SUMMARY} leaves out {}", left.join(", "))),
    }
}

fn tracked(pattern: &str) -> Result<Vec<String>, String> {
    let list = output(
        Command::new("git").args(["ls-files", pattern]),
        &stage::root(),
    )?;
    Ok(list.lines().map(str::to_owned).collect())
}

/// Returns the targets of a text's links, without the places within them.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', '#']).next())
}

/// Returns the path in the repository of a relative link of this page.
fn resolve(page: &str, target: &str) -> Option<String> {
    if target.is_empty() || target.contains(':') {
        return None;
    }
    let mut path = PathBuf::from(page);
    path.pop();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    Some(path.display().to_string())
}

/// Returns the place of a page in the site: mdBook knows no README.
fn renamed(page: &str) -> String {
    page.replace("README.md", "index.md")
}

/// Returns the text of a page with links that hold in the site, where it stands at `place`.
fn with_links(text: &str, page: &str, place: &str, pages: &BTreeSet<String>) -> String {
    let mut parts = text.split("](");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out += "](";
        let end = part.find([')', '#']).unwrap_or(0);
        let (target, rest) = part.split_at(end);
        match resolve(page, target) {
            Some(path) => out += &link(&path, place, pages),
            None => out += target,
        }
        out += rest;
    }
    out
}

/// Returns the link from a page of the site to something of the repository.
fn link(path: &str, from: &str, pages: &BTreeSet<String>) -> String {
    let own_page = format!("{path}/README.md");
    let page = match pages.contains(&own_page) {
        true => &own_page,
        false => path,
    };
    if pages.contains(page) || page.ends_with(".svg") {
        let up = "../".repeat(from.matches('/').count());
        return format!("{up}{}", renamed(page));
    }
    let kind = match stage::root().join(path).is_dir() {
        true => "tree",
        false => "blob",
    };
    let repository = env!("CARGO_PKG_REPOSITORY");
    format!("{repository}/{kind}/main/{path}")
}

/// Checks that each relative link of the site leads to a page, and to a place that is on it.
fn check_links(book: &Path) -> Result<(), String> {
    let mut pages = BTreeMap::new();
    collect(book, &mut pages)?;
    let mut broken = Vec::new();
    for (page, text) in &pages {
        for href in attributes(text, "href") {
            if href.contains(':') {
                continue;
            }
            let (file, anchor) = href.split_once('#').unwrap_or((href, ""));
            let target = match file {
                "" => page.clone(),
                _ => clean(&page.with_file_name("").join(file)),
            };
            let holds = match pages.get(&target) {
                Some(text) => anchor.is_empty() || attributes(text, "id").any(|id| id == anchor),
                None => anchor.is_empty() && target.exists(),
            };
            if !holds {
                let page = page.strip_prefix(book).unwrap_or(page);
                broken.push(format!("{}: {href}", page.display()));
            }
        }
    }
    match broken.is_empty() {
        true => Ok(()),
        false => Err(format!("links that lead nowhere:\n{}", broken.join("\n"))),
    }
}

/// Reads the pages of this folder and of those in it.
fn collect(folder: &Path, pages: &mut BTreeMap<PathBuf, String>) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        // All pages in one, and the page of servers for what they do not find.
        let is_special = path.ends_with("print.html") || path.ends_with("404.html");
        if path.is_dir() {
            collect(&path, pages)?;
        } else if path.extension().is_some_and(|kind| kind == "html") && !is_special {
            let text = read(&path)?;
            pages.insert(path, text);
        }
    }
    Ok(())
}

/// Returns the values of an attribute.
fn attributes<'a>(text: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let start = format!(" {name}=\"");
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = &rest[rest.find(&start)? + start.len()..];
        let (value, after) = rest.split_once('"')?;
        rest = after;
        Some(value)
    })
}

/// Returns a path without `..`.
fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(clean.pop()),
            part => clean.push(part),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_hold_in_the_site() {
        let pages = ["README.md", "docs/a.md", "docs/b/README.md"];
        let pages: BTreeSet<String> = pages.map(str::to_owned).into();
        let rows = [
            (
                "docs/a.md",
                "[x](b/README.md#y)",
                "[x](../docs/b/index.md#y)",
            ),
            ("docs/b/README.md", "[x](../a.md)", "[x](../../docs/a.md)"),
            (
                "README.md",
                "[x](docs/a.md), [y](#z)",
                "[x](docs/a.md), [y](#z)",
            ),
            ("docs/a.md", "[x](https://a.b/c)", "[x](https://a.b/c)"),
            (
                "docs/a.md",
                "[x](../xtask)",
                "[x](https://github.com/dovetail-rpc/dovetail/tree/main/xtask)",
            ),
        ];
        for (page, text, expected) in rows {
            assert_eq!(with_links(text, page, page, &pages), expected);
        }
    }
}
