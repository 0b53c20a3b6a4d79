use crate::fixture::*;
use dovetail_balance::{Backend, Outcome, Policy, State};
use proptest::prelude::*;
use std::time::Duration;

/// Something that happens to a balancer.
#[derive(Clone, Debug)]
enum Event {
    List(Vec<(u8, u32, u32)>),
    Connect,
    Lose(usize),
    Fail(usize),
    Call(Outcome, u64),
    Pass(u64),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let outcome = prop_oneof![
        4 => Just(Outcome::Succeeded),
        2 => Just(Outcome::Failed),
        1 => Just(Outcome::Abandoned),
    ];
    let event = prop_oneof![
        1 => prop::collection::vec((0..6u8, 0..4u32, 0..2u32), 0..6).prop_map(Event::List),
        2 => Just(Event::Connect),
        1 => (0..6usize).prop_map(Event::Lose),
        1 => (0..6usize).prop_map(Event::Fail),
        8 => (outcome, any::<u64>()).prop_map(|(outcome, key)| Event::Call(outcome, key)),
        1 => (0..20_000u64).prop_map(Event::Pass),
    ];
    prop::collection::vec(event, 0..80)
}

fn apply(bed: &mut Bed, event: Event) {
    let all = bed.balancer.endpoints();
    match event {
        Event::List(list) => {
            let backend = |(name, weight, priority): (u8, u32, u32)| {
                Backend::new(format!("s{name}"))
                    .weight(weight)
                    .priority(priority)
            };
            let list = list.into_iter().map(backend).collect();
            bed.balancer.update(bed.now, list, |_| Some(()));
        }
        Event::Connect => bed.connect(),
        Event::Lose(index) => {
            if let Some(endpoint) = all.get(index) {
                bed.balancer.lost(bed.now, endpoint);
            }
        }
        Event::Fail(index) => {
            if let Some(endpoint) = all.get(index) {
                let again = bed.now + Duration::from_secs(1);
                bed.balancer.failed(bed.now, endpoint, again);
            }
        }
        Event::Call(outcome, key) => {
            bed.call(Some(key), millis(key % 100), outcome);
        }
        Event::Pass(time) => bed.pass(millis(time)),
    }
}

proptest! {
    /// A pick finds an endpoint exactly while one of the list is ready and has a weight, and never
    /// another.
    #[test]
    fn picks_find_ready_endpoints(events in events(), policy in 0..5usize) {
        let policy = Policy::all()[policy].clone();
        let mut bed = Bed::new(crate::fixture::policy(policy), servers(3));
        for event in events {
            apply(&mut bed, event);
            let all = bed.balancer.endpoints();
            let usable = |one: &&std::sync::Arc<dovetail_balance::Endpoint<()>>| {
                one.state() == State::Ready && one.backend().weight > 0
            };
            let some = all.iter().filter(usable).count() > 0;
            let picked = bed.balancer.pick(bed.now, Some(1), &[]);
            prop_assert_eq!(picked.is_some(), some);
            if let Some(picked) = &picked {
                prop_assert_eq!(picked.state(), State::Ready);
                prop_assert!(all.iter().any(|one| one.id() == picked.id()));
            }
            drop(picked);
            prop_assert!(all.iter().all(|one| one.in_flight() == 0));
        }
    }
}
