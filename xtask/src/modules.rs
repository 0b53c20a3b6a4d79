//! The imports between the modules of a crate, in numbers, and the rules for them.
//!
//! A room is a folder in the root of a crate, or a file there. A circle is a set of files each of
//! which imports every other, if only through more of them.

mod imports;

use crate::stage;
use imports::Imports;
use std::collections::{BTreeMap, BTreeSet};

/// The rooms of a crate that must not import certain others.
const MAY_NOT_USE: &[(&str, &str, &[&str])] = &[
    ("rpc", "peer", &["dispatch", "client", "server"]),
    ("rpc", "dispatch", &["client", "server"]),
    ("rpc", "client", &["server"]),
    ("rpc", "server", &["client"]),
];

/// The crates in which no circle of files may span two rooms.
const LAYERED: &[&str] = &[
    "build", "codegen", "idl", "protocol", "rpc", "schema", "shm",
];

#[derive(clap::Args)]
pub(crate) struct Options {
    /// A crate, by its folder below `crates`.
    #[arg(default_value = "rpc")]
    krate: String,
}

/// Prints the numbers of a crate, and its circles.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let imports = read(&options.krate)?;
    let pairs = room_pairs(&imports);
    let mutual = pairs
        .iter()
        .filter(|(from, to)| from < to && pairs.contains(&(*to, *from)));
    println!(
        "{} files with {} imports; {} imports between rooms, {} pairs of rooms import each other",
        imports.len(),
        imports.values().map(BTreeSet::len).sum::<usize>(),
        pairs.len(),
        mutual.count(),
    );
    for circle in circles(&imports) {
        let rooms = rooms(&circle);
        let place = match rooms.len() {
            1 => "in",
            _ => "across",
        };
        let (files, rooms) = (circle.len(), rooms.into_iter().collect::<Vec<_>>());
        println!("a circle of {files} files {place} {}", rooms.join(", "));
        println!("    {}", circle.join(" "));
    }
    Ok(())
}

/// The breaches of the rules: imports that a room may not have, and circles across rooms.
pub(crate) fn breaches() -> Result<Vec<String>, String> {
    let of_crates = LAYERED.iter().map(|krate| breaches_of(krate));
    let of_crates: Vec<_> = of_crates.collect::<Result<_, String>>()?;
    Ok(of_crates.concat())
}

fn breaches_of(krate: &str) -> Result<Vec<String>, String> {
    let imports = read(krate)?;
    let mut breaches = Vec::new();
    for (from, to) in pairs(&imports) {
        let forbids = |(of, room, others): &(&str, &str, &[&str])| {
            *of == krate && *room == room_of(from) && others.contains(&room_of(to))
        };
        if MAY_NOT_USE.iter().any(forbids) {
            breaches.push(format!("crates/{krate}: `{from}` must not import `{to}`"));
        }
    }
    for circle in circles(&imports) {
        let rooms: Vec<_> = rooms(&circle).into_iter().collect();
        if rooms.len() > 1 {
            breaches.push(format!(
                "crates/{krate}: a circle of imports across {}: {} (`cargo xtask modules {krate}`)",
                rooms.join(", "),
                circle.join(" "),
            ));
        }
    }
    Ok(breaches)
}

fn read(krate: &str) -> Result<Imports, String> {
    imports::read(&stage::root().join("crates").join(krate).join("src"))
}

fn room_of(module: &str) -> &str {
    module.split("::").next().unwrap_or(module)
}

fn rooms<'a>(circle: &[&'a str]) -> BTreeSet<&'a str> {
    circle.iter().map(|module| room_of(module)).collect()
}

fn pairs(imports: &Imports) -> impl Iterator<Item = (&str, &str)> {
    imports.iter().flat_map(|(from, targets)| {
        let to = targets.iter().map(String::as_str);
        to.map(move |to| (from.as_str(), to))
    })
}

/// The rooms that import one another, each pair once.
fn room_pairs(imports: &Imports) -> BTreeSet<(&str, &str)> {
    let rooms = pairs(imports).map(|(from, to)| (room_of(from), room_of(to)));
    rooms.filter(|(from, to)| from != to).collect()
}

/// The circles, the largest first.
fn circles(imports: &Imports) -> Vec<Vec<&str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> = imports
        .keys()
        .map(|from| (from.as_str(), reachable(imports, from)))
        .collect();
    let reaches = |from: &str, to: &str| reached.get(from).is_some_and(|all| all.contains(to));
    let (mut circles, mut seen) = (Vec::new(), BTreeSet::new());
    for from in imports.keys().map(String::as_str) {
        if !reaches(from, from) || seen.contains(from) {
            continue;
        }
        let all = imports.keys().map(String::as_str);
        let circle: Vec<&str> = all
            .filter(|to| reaches(from, to) && reaches(to, from))
            .collect();
        seen.extend(circle.iter().copied());
        circles.push(circle);
    }
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    circles
}

/// The modules that a module imports, directly or through others.
fn reachable<'a>(imports: &'a Imports, from: &str) -> BTreeSet<&'a str> {
    let (mut found, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        let targets = imports.get(module).into_iter().flatten();
        for to in targets.map(String::as_str) {
            if found.insert(to) {
                open.push(to);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_and_rooms_are_found() {
        let row = |from: &str, to: &[&str]| {
            let to = to.iter().map(|to| (*to).to_owned());
            (from.to_owned(), to.collect())
        };
        let imports: Imports = [
            row("a::one", &["a::two", "b"]),
            row("a::two", &["a::one"]),
            row("b", &["c::one"]),
            row("c::one", &["d"]),
            row("d", &["b"]),
        ]
        .into_iter()
        .collect();
        let found = circles(&imports);
        assert_eq!(found, [vec!["b", "c::one", "d"], vec!["a::one", "a::two"]]);
        let rooms: Vec<_> = found.iter().map(|circle| rooms(circle).len()).collect();
        assert_eq!(rooms, [3, 1]);
        assert!(room_pairs(&imports).contains(&("a", "b")));
    }
}
