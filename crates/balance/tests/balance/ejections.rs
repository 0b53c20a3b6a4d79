use crate::fixture::*;
use dovetail_balance::{FailurePercentage, Outcome, Outliers, Settings, SuccessRate};
use std::time::Duration;

/// Calls all endpoints this often in turn within an interval; these parts in a hundred fail.
fn interval(bed: &mut Bed, calls: u64, failing: &[u64]) {
    for call in 0..calls * failing.len() as u64 {
        let picked = bed.balancer.pick(bed.now, None, &[]).expect("an endpoint");
        let backend = picked.backend();
        let address = &backend.address;
        let index = usize::from(address.as_bytes()[0] - b'a');
        let fails = call / failing.len() as u64 * 37 % 100 < failing[index];
        let outcome = if fails {
            Outcome::Failed
        } else {
            Outcome::Succeeded
        };
        picked.done(bed.now, outcome);
    }
    bed.pass(Duration::from_secs(11));
    // The next call ends the interval.
    bed.call(None, millis(1), Outcome::Abandoned);
}

fn ejected(bed: &Bed) -> String {
    let all = bed.balancer.endpoints();
    let ejected = all.iter().filter(|one| one.is_ejected());
    ejected.map(|one| one.backend().address.clone()).collect()
}

#[test]
fn endpoints_that_fail_more_than_others_are_ejected() {
    let rate = |change: fn(&mut SuccessRate)| {
        move |outliers: &mut Outliers| {
            let mut rate = SuccessRate::default();
            change(&mut rate);
            outliers.consecutive_failures = 0;
            outliers.success_rate = Some(rate);
        }
    };
    let share = |change: fn(&mut FailurePercentage)| {
        move |outliers: &mut Outliers| {
            let mut share = FailurePercentage::default();
            change(&mut share);
            outliers.consecutive_failures = 0;
            outliers.failure_percentage = Some(share);
        }
    };
    type Row<'a> = (&'a str, Settings, u64, &'a [u64], &'a str);
    let rows: &[Row<'_>] = &[
        ("rate", outliers(rate(|_| {})), 100, &[0, 0, 0, 0, 60], "e"),
        ("nobody", outliers(rate(|_| {})), 100, &[50; 5], ""),
        (
            "too few calls",
            outliers(rate(|_| {})),
            90,
            &[0, 0, 0, 0, 60],
            "",
        ),
        (
            "too few hosts",
            outliers(rate(|_| {})),
            100,
            &[0, 0, 0, 60],
            "",
        ),
        (
            "hosts",
            outliers(rate(|rate| rate.minimum_hosts = 2)),
            100,
            &[0, 0, 0, 0, 0, 60],
            "f",
        ),
        (
            "factor",
            outliers(rate(|rate| rate.stdev_factor = 3000)),
            100,
            &[0, 0, 0, 0, 60],
            "",
        ),
        (
            "never",
            outliers(rate(|rate| rate.enforcement_percentage = 0)),
            100,
            &[0, 0, 0, 0, 60],
            "",
        ),
        (
            "share",
            outliers(share(|_| {})),
            100,
            &[0, 0, 0, 0, 90],
            "e",
        ),
        ("below", outliers(share(|_| {})), 100, &[0, 0, 0, 0, 80], ""),
        (
            "threshold",
            outliers(share(|share| share.threshold = 50)),
            100,
            &[0, 0, 0, 0, 80],
            "e",
        ),
        (
            "one alone",
            outliers(share(|_| {})),
            100,
            &[0, 0, 0, 95, 90],
            "d",
        ),
    ];
    for (what, settings, calls, failing, expected) in rows {
        let mut bed = Bed::ready(settings.clone(), weighing(&vec![1; failing.len()]));
        interval(&mut bed, *calls, failing);
        assert_eq!(ejected(&bed), *expected, "{what}");
    }
}

#[test]
fn failures_in_a_row_eject_at_once_and_for_longer_each_time() {
    let mut bed = Bed::ready(outliers(|_| {}), weighing(&[1, 1, 1]));
    for (round, seconds) in [(1, 30), (2, 60), (3, 90)] {
        let mut failures = 0;
        while !bed.endpoint("a").is_ejected() {
            let picked = bed.balancer.pick(bed.now, None, &[]).expect("an endpoint");
            let fails = picked.backend().address == "a";
            failures += u32::from(fails);
            assert!(failures <= 5, "round {round}");
            let outcome = if fails {
                Outcome::Failed
            } else {
                Outcome::Succeeded
            };
            picked.done(bed.now, outcome);
        }
        assert_eq!(failures, 5);
        assert_eq!(bed.spread(10).get("a"), None);
        // The endpoint is ejected before an interval of success has passed.
        bed.pass(Duration::from_secs(seconds - 2));
        bed.call(None, millis(1), Outcome::Abandoned);
        assert_eq!(ejected(&bed), "a", "round {round}");
        bed.pass(Duration::from_secs(3));
        bed.call(None, millis(1), Outcome::Abandoned);
        assert_eq!(ejected(&bed), "", "round {round}");
    }
    assert_eq!(bed.endpoint("a").ejections(), 3);
}

#[test]
fn all_get_calls_while_too_many_are_ejected() {
    let settings = outliers(|outliers| outliers.max_ejection_percent = 100);
    let mut bed = Bed::ready(settings, weighing(&[1, 1, 1, 1]));
    for _ in 0..40 {
        bed.call(None, millis(1), Outcome::Failed);
    }
    assert_eq!(ejected(&bed), "abcd");
    assert_eq!(bed.spread(8).len(), 4);
}
