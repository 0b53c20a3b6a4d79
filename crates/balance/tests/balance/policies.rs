use crate::fixture::*;
use dovetail_balance::{
    Backend, HashRing, LeastRequest, LoadReport, Outcome, Policy, ReportedWeights, Settings, Subset,
};
use std::collections::BTreeSet;

#[test]
fn calls_are_spread_by_weight() {
    use Policy::{Maglev, PickFirst, RoundRobin};
    // A policy, the weights, the calls for each, and the part by which they may be off.
    let rows: &[(Policy, &[u32], &[u64], f64)] = &[
        (PickFirst, &[1, 1, 1], &[1200, 0, 0], 0.0),
        (RoundRobin, &[1, 1, 1], &[400, 400, 400], 0.0),
        (RoundRobin, &[3, 2, 1], &[600, 400, 200], 0.01),
        (RoundRobin, &[1, 0, 1], &[600, 0, 600], 0.0),
        (RoundRobin, &[100, 1], &[1188, 12], 0.1),
        (
            LeastRequest::of(2).into_policy(),
            &[1, 1, 1],
            &[400, 400, 400],
            0.15,
        ),
        (Maglev, &[1, 1, 1], &[400, 400, 400], 0.15),
        (Maglev, &[3, 2, 1], &[600, 400, 200], 0.15),
        (
            Policy::RingHash(HashRing::default()),
            &[1, 1],
            &[600, 600],
            0.15,
        ),
        (
            Policy::RingHash(HashRing::default()),
            &[2, 1],
            &[800, 400],
            0.15,
        ),
    ];
    for (chosen, weights, expected, off) in rows {
        let mut bed = Bed::ready(policy(chosen.clone()), weighing(weights));
        let counts = bed.spread(1200);
        for (backend, expected) in weighing(weights).iter().zip(*expected) {
            let count = counts.get(&backend.address).copied().unwrap_or(0);
            let most = (*expected as f64 * off).ceil() as u64;
            let what = format!("{} {weights:?} {counts:?}", chosen.name());
            assert!(count.abs_diff(*expected) <= most, "{what}");
        }
    }
}

#[test]
fn calls_are_spread_by_reported_load() {
    // Utilization, calls and errors of servers; the seconds since the first report; and of 1,200
    // calls those for each server.
    type Load = Option<(f64, f64, f64)>;
    let busy = Some((0.9, 100.0, 0.0));
    let idle = Some((0.3, 100.0, 0.0));
    let failing = Some((0.5, 100.0, 50.0));
    let sound = Some((0.5, 100.0, 0.0));
    let nothing = Some((0.0, 0.0, 0.0));
    let rows: &[([Load; 3], u64, [u64; 3])] = &[
        ([busy, idle, idle], 11, [171, 514, 514]),
        ([busy, idle, idle], 5, [400, 400, 400]),
        ([busy, idle, idle], 200, [400, 400, 400]),
        ([busy, idle, None], 11, [200, 600, 400]),
        ([busy, idle, nothing], 11, [200, 600, 400]),
        ([busy, None, None], 11, [400, 400, 400]),
        ([failing, sound, sound], 11, [240, 480, 480]),
    ];
    for (loads, seconds, expected) in rows {
        let reported = Policy::WeightedRoundRobin(ReportedWeights::default());
        let mut bed = Bed::ready(policy(reported), servers(3));
        let all = bed.balancer.endpoints();
        for (endpoint, load) in all.iter().zip(loads) {
            if let Some((utilization, calls, errors)) = load {
                endpoint.report(bed.now, &LoadReport::new(*utilization, *calls, *errors));
            }
        }
        bed.pass(millis(1000 * seconds));
        let counts = bed.spread(1200);
        for (endpoint, expected) in all.iter().zip(expected) {
            let count = counts.get(&endpoint.backend().address).copied();
            let off = count.unwrap_or_default().abs_diff(*expected);
            assert!(off <= 12, "{loads:?} after {seconds} s: {counts:?}");
        }
    }
}

#[test]
fn settings_change_while_calls_are_in_flight() {
    let bed = Bed::ready(policy(Policy::RoundRobin), servers(2));
    let balancer = &bed.balancer;
    let pick = || balancer.pick(bed.now, Some(1), &[]).expect("an endpoint");
    let before = pick();
    let hashed = Policy::RingHash(HashRing::default());
    balancer.set_settings(bed.now, policy(hashed));
    let during: Vec<_> = (0..2).map(|_| pick()).collect();
    // One call began before all calls were counted, and ends without being counted twice.
    before.done(bed.now, Outcome::Succeeded);
    balancer.set_settings(bed.now, policy(Policy::PickFirst));
    for picked in during {
        picked.done(bed.now, Outcome::Succeeded);
    }
    assert_eq!(pick().backend().address, "s0");
    let all = balancer.endpoints();
    assert_eq!(all.iter().map(|one| one.picks()).sum::<u64>(), 4);
}

trait IntoPolicy {
    fn into_policy(self) -> Policy;
}

impl IntoPolicy for LeastRequest {
    fn into_policy(self) -> Policy {
        Policy::LeastRequest(self)
    }
}

#[test]
fn least_request_keeps_away_from_slow_and_busy_endpoints() {
    let mut bed = Bed::ready(Settings::default(), servers(5));
    let mut slow = 0;
    for call in 0..10_000 {
        let picked = bed.balancer.pick(bed.now, None, &[]).expect("an endpoint");
        let is_slow = picked.backend().address == "s0";
        slow += u64::from(is_slow && call > 1000);
        picked.done(
            bed.now + millis(if is_slow { 100 } else { 2 }),
            Outcome::Succeeded,
        );
        bed.pass(millis(1));
    }
    assert!(slow < 27, "{slow} of 9,000 calls went to the slow one");
    let busy: Vec<_> = (0..40)
        .filter_map(|_| bed.balancer.pick(bed.now, None, &[]))
        .collect();
    let most = bed
        .balancer
        .endpoints()
        .iter()
        .map(|one| one.in_flight())
        .max();
    assert!(most < Some(14), "{most:?} of {}", busy.len());
}

#[test]
fn keys_stay_with_their_endpoint() {
    for chosen in [Policy::Maglev, Policy::RingHash(HashRing::default())] {
        let name = chosen.name();
        let mut bed = Bed::ready(policy(chosen), servers(10));
        let keys: Vec<u64> = (0..1000u64)
            .map(|key| dovetail_balance::hash(&key.to_le_bytes()))
            .collect();
        let all = |bed: &mut Bed| -> Vec<_> {
            let call = |key: &u64| bed.call(Some(*key), millis(1), Outcome::Succeeded);
            keys.iter().map(call).collect()
        };
        let before = all(&mut bed);
        assert_eq!(before, all(&mut bed), "{name}");
        let lost = bed.endpoint("s3");
        bed.balancer.lost(bed.now, &lost);
        let without = all(&mut bed);
        let moved = before.iter().zip(&without).filter(|(a, b)| a != b);
        let moved: BTreeSet<_> = moved.map(|(before, _)| before.clone()).collect();
        assert_eq!(moved, BTreeSet::from([Some("s3".to_owned())]), "{name}");
        bed.connect();
        assert_eq!(before, all(&mut bed), "{name}");
        bed.balancer.update(bed.now, servers(11), |_| Some(()));
        bed.connect();
        let moved = before.iter().zip(all(&mut bed)).filter(|(a, b)| **a != *b);
        let moved = moved.count();
        assert!(
            (50..250).contains(&moved),
            "{name}: {moved} of 1,000 keys moved"
        );
    }
}

#[test]
fn a_key_that_everybody_asks_for_is_shared_out() {
    let bed = Bed::ready(policy(Policy::RingHash(HashRing::default())), servers(10));
    let open: Vec<_> = (0..100)
        .filter_map(|_| bed.balancer.pick(bed.now, Some(1), &[]))
        .collect();
    let most = bed
        .balancer
        .endpoints()
        .iter()
        .map(|one| one.in_flight())
        .max();
    assert_eq!((open.len(), most), (100, Some(13)));
}

#[test]
fn priorities_and_zones_come_first_while_they_can_be_used() {
    let in_zone = |name: &str, zone: &str| Backend::new(name).zone(zone);
    let list = || {
        vec![
            in_zone("near1", "eu"),
            in_zone("near2", "eu"),
            in_zone("far", "us"),
            in_zone("spare", "eu").priority(1),
        ]
    };
    let settings = Settings {
        zone: Some("eu".to_owned()),
        ..policy(Policy::RoundRobin)
    };
    // The endpoints that are lost, and those that get calls then.
    let rows: &[(&[&str], &[&str])] = &[
        (&[], &["near1", "near2"]),
        (&["near1"], &["far", "near2"]),
        (&["near1", "near2"], &["far"]),
        (&["near1", "near2", "far"], &["spare"]),
        (&["spare"], &["near1", "near2"]),
    ];
    for (lost, expected) in rows {
        let mut bed = Bed::ready(settings.clone(), list());
        let spare = bed.endpoint("spare");
        bed.balancer.ready(bed.now, &spare);
        for name in *lost {
            let endpoint = bed.endpoint(name);
            bed.balancer.lost(bed.now, &endpoint);
        }
        let called: Vec<_> = bed.spread(12).into_keys().collect();
        assert_eq!(called, *expected, "without {lost:?}");
    }
}

#[test]
fn clients_have_parts_of_their_own() {
    let part = |client: u64, count: usize| {
        let settings = Settings {
            subset: Some(Subset::of(20, client)),
            ..Settings::default()
        };
        let all = Bed::new(settings, servers(count)).balancer.endpoints();
        let names = all.iter().map(|one| one.backend().address.clone());
        names.collect::<BTreeSet<_>>()
    };
    assert_eq!(part(1, 10).len(), 10);
    assert_eq!(part(1, 100).len(), 20);
    assert_ne!(part(1, 100), part(2, 100));
    let stayed = part(1, 100).intersection(&part(1, 101)).count();
    assert!(stayed >= 19, "{stayed}");
}

#[test]
fn an_endpoint_that_was_never_measured_is_taken_for_one_of_the_others() {
    let bed = Bed::ready(Settings::default(), servers(5));
    let mut open = Vec::new();
    for _ in 0..500 {
        let picked = bed.balancer.pick(bed.now, None, &[]);
        let picked = picked.expect("an endpoint");
        match picked.backend().address.as_str() {
            // It does not answer.
            "s0" => open.push(picked),
            _ => picked.done(bed.now + millis(2), Outcome::Succeeded),
        }
    }
    assert!(open.len() < 8, "{}", open.len());
}
