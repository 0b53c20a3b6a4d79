//! How much memory the process may use.

use std::fs;
use std::path::{Path, PathBuf};

/// Taken where nothing says it.
const UNKNOWN: usize = 4 << 30;

/// The memory of the machine, or of the control group, whichever is less.
pub(super) fn usable() -> usize {
    let read = |path: PathBuf| fs::read_to_string(path).ok();
    let machine = read("/proc/meminfo".into()).and_then(|text| total(&text));
    let groups = read("/proc/self/cgroup".into()).unwrap_or_default();
    let limits = files(&groups).into_iter().filter_map(read);
    let group = limits.filter_map(|text| text.trim().parse().ok()).min();
    machine.into_iter().chain(group).min().unwrap_or(UNKNOWN)
}

/// The memory of the machine, as `/proc/meminfo` has it.
fn total(meminfo: &str) -> Option<usize> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1 << 10)
}

/// The files that have the limits of the process's groups and of those around them, as
/// `/proc/self/cgroup` has the groups: `0::/path` for version 2, `4:memory:/path` for version 1.
fn files(groups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else {
            continue;
        };
        let (root, name) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|one| one == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let groups = Path::new(group).ancestors();
        files.extend(groups.map(|group| {
            let inside = group.strip_prefix("/").unwrap_or(group);
            Path::new(root).join(inside).join(name)
        }));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_says_how_much_it_has() {
        for (text, bytes) in [
            (
                "MemTotal:       24600000 kB\nMemFree: 1 kB\n",
                Some(24_600_000 << 10),
            ),
            ("MemFree: 1 kB\n", None),
            ("MemTotal: many kB\n", None),
            ("", None),
        ] {
            assert_eq!(total(text), bytes, "{text}");
        }
        assert!(usable() > 1 << 20);
    }

    #[test]
    fn groups_have_limits_of_their_own_and_of_those_around_them() {
        for (text, paths) in [
            (
                "0::/a/b\n",
                &[
                    "/sys/fs/cgroup/a/b/memory.max",
                    "/sys/fs/cgroup/a/memory.max",
                    "/sys/fs/cgroup/memory.max",
                ][..],
            ),
            (
                "5:cpu:/c\n4:memory,x:/a\n",
                &[
                    "/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
                    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                ],
            ),
            ("", &[]),
            ("nonsense", &[]),
        ] {
            let paths: Vec<_> = paths.iter().map(PathBuf::from).collect();
            assert_eq!(files(text), paths, "{text}");
        }
    }
}
