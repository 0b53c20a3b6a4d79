//! Client or server is killed while the two share memory: the callers that are left are told what
//! is known, new ones are served at once, and nothing is left behind.

use crate::peer::{AT_ONCE, MODELS, Place, Role, next, next_async, resources, serve, until};
use dovetail::status::Execution;
use dovetail::{Channel, Code, Status, blocking};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

/// The kills of each kind: a thousand in all, and some.
const KILLS: u32 = 170;

/// Kills a process when some time has passed, which is another one in each round.
fn kill(mut child: Child, round: u32) {
    thread::sleep(Duration::from_micros(u64::from(round * 7919 % KILLS) * 20));
    child.kill().unwrap();
    child.wait().unwrap();
}

pub(crate) fn test() {
    let place = Place::new("kills");
    let (listens, calls) = place.addresses();
    let mut longest = Duration::ZERO;
    for model in 0..MODELS.len() {
        let channel = blocking::Channel::builder(&calls).unwrap();
        let channel = channel.backoff(AT_ONCE).build();
        let call = |number| next(&channel, number);
        longest = longest.max(servers_are_killed(model, &listens, &call));

        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().unwrap();
        let channel = Channel::builder(&calls).unwrap();
        let channel = channel.backoff(AT_ONCE).build();
        let call = |number| runtime.block_on(next_async(&channel, number));
        longest = longest.max(servers_are_killed(model, &listens, &call));

        clients_are_killed(model, &place);
    }
    assert_eq!(resources().mappings, 0);
    println!(
        "kills: {} killed, each noticed within {longest:?}",
        6 * KILLS
    );
}

/// Gives how long it took at most until a caller knew.
fn servers_are_killed(
    model: usize,
    listens: &str,
    call: &(dyn Fn(i32) -> Result<i32, Status> + Sync),
) -> Duration {
    let mut longest = Duration::ZERO;
    let mut before = None;
    for round in 0..KILLS {
        let server = Role::Serve.start(model, listens);
        // A caller that finds the last server's socket is told so.
        until("the next server answers", || call(7) == Ok(8));
        let now = resources();
        assert_eq!(*before.get_or_insert(now), now, "round {round}");
        thread::scope(|scope| {
            let calls = scope.spawn(|| {
                let failed = (0..).find_map(|number| call(number).err());
                (failed.unwrap(), Instant::now())
            });
            kill(server, round);
            let killed = Instant::now();
            let (failed, at) = calls.join().unwrap();
            assert_eq!(failed.code(), Code::Unavailable, "{failed}");
            // Between two calls there is nobody to answer the next one, and it was not sent.
            let known = [Execution::MayHaveRun, Execution::NotSent];
            assert!(known.contains(&failed.execution()), "{failed}");
            longest = longest.max(at.saturating_duration_since(killed));
        });
    }
    assert!(longest < Duration::from_secs(5), "{longest:?}");
    longest
}

fn clients_are_killed(model: usize, place: &Place) {
    let (listens, calls) = place.addresses();
    let running = serve(model, &listens);
    let bystander = blocking::Channel::connect(&calls).unwrap();
    let call = |number| next(&bystander, number);
    assert_eq!(call(1), Ok(2));
    let before = resources();
    for round in 0..KILLS {
        kill(Role::Call.start(model, &calls), round);
        assert_eq!(call(1), Ok(2));
        until("nothing is left of it", || {
            running.connections() == 1 && resources() == before
        });
    }
    assert!(running.counters().calls > u64::from(KILLS));
    drop(bystander);
    assert!(running.shutdown(Duration::from_secs(10)));
}
