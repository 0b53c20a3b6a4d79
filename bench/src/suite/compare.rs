//! The changes since an earlier report.

use super::report::{Metric, Row};
use serde::{Deserialize, Serialize};

/// This report beside an earlier one.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Comparison {
    pub(crate) with: String,
    pub(crate) changes: Vec<Change>,
    /// Rows that only the earlier report has, or only this one.
    pub(crate) gone: Vec<String>,
    pub(crate) added: Vec<String>,
}

/// A figure that differs by more than its rounds did.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Change {
    pub(crate) case: String,
    pub(crate) system: String,
    pub(crate) metric: Metric,
    pub(crate) before: f64,
    pub(crate) now: f64,
}

impl Change {
    pub(crate) fn ratio(&self) -> f64 {
        self.now / self.before
    }

    pub(crate) fn is_better(&self) -> bool {
        (self.now > self.before) == self.metric.more_is_better()
    }
}

/// Less than this is no change, however alike the rounds were.
const LEAST: f64 = 1.05;

/// Compares, and notes in each new row how its calls per second compare.
pub(crate) fn compare(with: String, old: &[Row], new: &mut [Row]) -> Comparison {
    let same = |a: &Row, b: &Row| a.group() == b.group() && a.system == b.system;
    let name = |row: &Row| format!("{}: {}", row.title(), row.system);
    let mut comparison = Comparison {
        with,
        ..Comparison::default()
    };
    for old in old {
        if !new.iter().any(|new| same(old, new)) {
            comparison.gone.push(name(old));
        }
    }
    for new in new {
        let Some(old) = old.iter().find(|old| same(old, new)) else {
            comparison.added.push(name(new));
            continue;
        };
        new.calls_ratio = Some(new.calls_per_s / old.calls_per_s);
        let margins = [
            (Metric::CallsPerS, old.spread.max(new.spread)),
            (Metric::P50Us, old.p50_spread.max(new.p50_spread)),
        ];
        let changed = margins.iter().filter_map(|&(metric, margin)| {
            let (before, now) = (metric.of(old), metric.of(new));
            let change = (now / before).max(before / now);
            (change > margin.max(LEAST)).then(|| Change {
                case: new.title(),
                system: new.system.clone(),
                metric,
                before,
                now,
            })
        });
        comparison.changes.extend(changed);
    }
    comparison
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(system: &str, calls_per_s: f64, p50_us: f64, spread: f64) -> Row {
        Row {
            system: system.to_owned(),
            calls_per_s,
            p50_us,
            spread,
            p50_spread: spread,
            ..Row::default()
        }
    }

    #[test]
    fn only_changes_beyond_the_spread_count() {
        // Calls per second, median and spread before and now; what has changed, and whether for the
        // better.
        type Figures = (f64, f64, f64);
        type Check = (Figures, Figures, &'static [(Metric, bool)]);
        let rows: &[Check] = &[
            ((100.0, 10.0, 1.0), (103.0, 10.3, 1.0), &[]),
            ((100.0, 10.0, 1.2), (115.0, 10.0, 1.0), &[]),
            ((100.0, 10.0, 1.0), (115.0, 10.0, 1.2), &[]),
            (
                (100.0, 10.0, 1.1),
                (120.0, 10.0, 1.1),
                &[(Metric::CallsPerS, true)],
            ),
            (
                (120.0, 10.0, 1.1),
                (100.0, 10.0, 1.1),
                &[(Metric::CallsPerS, false)],
            ),
            (
                (100.0, 10.0, 1.1),
                (100.0, 5.0, 1.1),
                &[(Metric::P50Us, true)],
            ),
            (
                (100.0, 10.0, 1.1),
                (50.0, 20.0, 1.1),
                &[(Metric::CallsPerS, false), (Metric::P50Us, false)],
            ),
        ];
        for (old, new, expected) in rows {
            let make = |f: &Figures| [row("a", f.0, f.1, f.2)];
            let comparison = compare(String::new(), &make(old), &mut make(new));
            let found: Vec<_> = comparison
                .changes
                .iter()
                .map(|change| (change.metric, change.is_better()))
                .collect();
            assert_eq!(&found, expected, "{old:?} {new:?}");
        }
    }

    #[test]
    fn rows_that_have_no_counterpart_are_named() {
        let mut new = [row("a", 150.0, 1.0, 1.0), row("b", 1.0, 1.0, 1.0)];
        let old = [row("a", 100.0, 1.0, 1.0), row("c", 1.0, 1.0, 1.0)];
        let comparison = compare(String::new(), &old, &mut new);
        assert_eq!(new[0].calls_ratio, Some(1.5));
        assert_eq!(new[1].calls_ratio, None);
        assert!(comparison.added[0].ends_with(": b"));
        assert!(comparison.gone[0].ends_with(": c"));
    }
}
