use crate::fixture::*;
use dovetail_balance::{
    Backend, Balancer, HashRing, Health, LeastRequest, Outcome, Policy, Settings, State,
};
use std::time::{Duration, Instant};

#[test]
fn a_list_that_changes_keeps_those_that_stay() {
    let mut bed = Bed::ready(policy(Policy::RoundRobin), servers(3));
    bed.spread(30);
    let (stays, number) = (bed.endpoint("s1"), bed.endpoint("s1").id());
    let list = vec![
        Backend::new("s1").weight(3),
        Backend::new("s9"),
        Backend::new("s9"),
    ];
    bed.balancer.update(bed.now, list, |_| Some(()));
    assert_eq!(bed.states(), [State::Ready, State::Idle]);
    assert_eq!((bed.endpoint("s1").id(), stays.picks()), (number, 10));
    bed.connect();
    let counts = bed.spread(40);
    assert_eq!(counts["s1"], 30);
    assert_eq!(stays.picks(), 40);
    bed.balancer.update(bed.now, Vec::new(), |_| Some(()));
    assert_eq!(bed.call(None, millis(1), Outcome::Succeeded), None);
}

#[test]
fn one_that_became_ready_warms_up() {
    let settings = Settings {
        slow_start: Duration::from_secs(10),
        ..policy(Policy::RoundRobin)
    };
    let mut bed = Bed::ready(settings, servers(2));
    bed.pass(Duration::from_secs(20));
    bed.spread(1);
    let again = bed.endpoint("s1");
    bed.balancer.lost(bed.now, &again);
    bed.connect();
    // Seconds after that, and its part of a thousand calls.
    for (seconds, expected) in [(0, 91), (5, 333), (10, 500)] {
        let start = bed.now;
        bed.pass(Duration::from_secs(seconds));
        bed.spread(1);
        let part = bed.spread(1000)["s1"];
        assert!(part.abs_diff(expected) < 10, "after {seconds} s: {part}");
        bed.now = start;
    }
}

#[test]
fn pick_first_tries_one_after_the_other() {
    let mut bed = Bed::new(policy(Policy::PickFirst), servers(3));
    let wanted = |bed: &Bed| -> Vec<_> {
        let wanted = bed.balancer.to_connect(bed.now);
        wanted
            .iter()
            .map(|one| one.backend().address.clone())
            .collect()
    };
    assert_eq!(wanted(&bed), ["s0"]);
    assert_eq!(wanted(&bed), [""; 0]);
    bed.pass(millis(250));
    assert_eq!(wanted(&bed), ["s1"]);
    let again = bed.now + Duration::from_secs(1);
    bed.balancer.failed(bed.now, &bed.endpoint("s1"), again);
    assert_eq!(wanted(&bed), ["s2"]);
    bed.balancer.ready(bed.now, &bed.endpoint("s2"));
    bed.pass(Duration::from_secs(2));
    assert_eq!(wanted(&bed), [""; 0]);
    assert_eq!(bed.spread(3)["s2"], 3);
    bed.balancer.lost(bed.now, &bed.endpoint("s2"));
    assert_eq!(wanted(&bed), ["s1"]);
}

#[test]
fn a_failed_endpoint_is_left_alone_for_a_while() {
    let mut bed = Bed::new(policy(Policy::RoundRobin), servers(2));
    assert_eq!(bed.balancer.to_connect(bed.now).len(), 2);
    let again = bed.now + Duration::from_secs(1);
    for name in ["s0", "s1"] {
        bed.balancer.failed(bed.now, &bed.endpoint(name), again);
    }
    assert_eq!(bed.balancer.to_connect(bed.now).len(), 0);
    let next = bed.balancer.next_connect().expect("an instant");
    assert!(again.duration_since(next) < millis(1));
    bed.pass(Duration::from_secs(1));
    assert_eq!(bed.balancer.to_connect(bed.now).len(), 2);
}

#[test]
fn lower_priorities_are_connected_to_when_they_are_needed() {
    let list = vec![Backend::new("first"), Backend::new("spare").priority(1)];
    let bed = Bed::new(policy(Policy::RoundRobin), list);
    let names = |bed: &Bed| -> Vec<_> {
        let wanted = bed.balancer.to_connect(bed.now);
        wanted
            .iter()
            .map(|one| one.backend().address.clone())
            .collect()
    };
    assert_eq!(names(&bed), ["first"]);
    let again = bed.now + Duration::from_secs(1);
    bed.balancer.failed(bed.now, &bed.endpoint("first"), again);
    assert_eq!(names(&bed), ["spare"]);
}

#[test]
fn a_retry_goes_elsewhere() {
    for policy in Policy::all() {
        let name = policy.name();
        let bed = Bed::ready(crate::fixture::policy(policy.clone()), servers(4));
        let first = bed
            .balancer
            .pick(bed.now, Some(9), &[])
            .expect("an endpoint");
        let second = bed.balancer.pick(bed.now, Some(9), &[first.id()]);
        let second = second.expect("an endpoint");
        assert_eq!(
            first.id() == second.id(),
            policy == Policy::PickFirst,
            "{name}"
        );
    }
}

#[test]
fn threads_pick_while_lists_change() {
    let start = Instant::now();
    let balancer = Balancer::new(Settings::default(), start);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20_000 {
                    if let Some(picked) = balancer.pick(start, None, &[]) {
                        picked.done(start + millis(1), Outcome::Succeeded);
                    }
                }
            });
        }
        for round in 0..200 {
            balancer.update(start, servers(round % 7), |_| Some(()));
            for endpoint in balancer.to_connect(start) {
                balancer.ready(start, &endpoint);
            }
        }
    });
    balancer.update(start, servers(3), |_| Some(()));
    assert!(balancer.endpoints().iter().all(|one| one.in_flight() == 0));
}

/// With every policy; the servers of the next priority take over where all are down.
#[test]
fn an_unhealthy_endpoint_gets_no_calls() {
    let list = || (0..3).map(|number| Backend::new(format!("s{number}")).priority(number / 2));
    for chosen in [
        Policy::LeastRequest(LeastRequest::of(2)),
        Policy::RoundRobin,
        Policy::PickFirst,
        Policy::RingHash(HashRing::default()),
        Policy::Maglev,
    ] {
        let mut bed = Bed::new(policy(chosen.clone()), list());
        bed.connect();
        let mark = |bed: &Bed, address: &str, health| {
            bed.balancer
                .checked(bed.now, &bed.endpoint(address), health);
            bed.connect();
        };
        mark(&bed, "s0", Health::Unknown);
        mark(&bed, "s0", Health::Unhealthy);
        let reached = |bed: &mut Bed| bed.spread(50).into_keys().collect::<Vec<_>>();
        assert_eq!(reached(&mut bed), ["s1"], "{chosen:?}");
        mark(&bed, "s1", Health::Unhealthy);
        assert_eq!(reached(&mut bed), ["s2"], "{chosen:?}");
        mark(&bed, "s2", Health::Unhealthy);
        assert_eq!(reached(&mut bed), [""], "{chosen:?}");
        mark(&bed, "s0", Health::Healthy);
        assert_eq!(reached(&mut bed), ["s0"], "{chosen:?}");
    }
}
