//! A server whose sessions are in a folder is killed amid calls: the next one goes on with them,
//! and no call that was answered is forgotten.

use crate::peer::{AT_ONCE, MODELS, Place, Role, until};
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, HandlerFuture};
use dovetail::sessions::{FileStore, HEADER, Sessions};
use dovetail::types::UnknownFields;
use dovetail::{Context, Running, Server, Service, Status, blocking, descriptor, message};
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Enough to meet a write now and then; that is where the server is most of the time.
const KILLS: u64 = 25;

#[derive(Clone, Debug, Default, PartialEq)]
struct Steps {
    /// 0, 1, 2 …
    taken: Vec<i32>,
    unknown_fields: UnknownFields,
}

message!(Steps {
    1 taken: Vec<i32>,
    ..unknown_fields
});

descriptor!(static WALK = "Walk" {
    step() -> i32;
    taken() -> Vec<i32>;
});

struct Walk(Sessions<Steps>);

impl Service for Walk {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &WALK
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        match method {
            0 => call.unary((), |context: Context, ()| async move {
                let mut steps = self.0.enter(&context)?;
                let next = steps.taken.len() as i32;
                steps.taken.push(next);
                steps.save()?;
                Ok::<i32, Status>(next)
            }),
            _ => call.unary((), |context: Context, ()| async move {
                Ok::<Vec<i32>, Status>(self.0.enter(&context)?.taken.clone())
            }),
        }
    }
}

/// Serves `unix:…/socket`, with the sessions in `…/sessions`.
pub(crate) fn serve(model: usize, address: &str) -> Running {
    let socket = Path::new(address.trim_start_matches("unix:"));
    let store = FileStore::open(socket.with_file_name("sessions")).unwrap();
    let sessions = Sessions::builder(|_| Ok(Steps::default()));
    let sessions = sessions.build_with(store).unwrap();
    let server = Server::new().service(Walk(sessions.clone()));
    let server = server.sessions("Walk", &sessions).model(MODELS[model]);
    server.listen(address).unwrap().start().unwrap()
}

pub(crate) fn test() {
    let mut steps = 0;
    for model in 0..MODELS.len() {
        steps += walk(model);
    }
    println!(
        "sessions: {} servers killed, {steps} steps",
        KILLS * MODELS.len() as u64
    );
}

fn walk(model: usize) -> usize {
    let place = Place::new("sessions");
    let (address, _) = place.addresses();
    let channel = blocking::Channel::builder(&address).unwrap();
    let channel = channel.backoff(AT_ONCE).build();
    let mut session: Option<String> = None;
    let mut answered = 0;
    for round in 0..KILLS {
        let mut server = Role::Sessions.start(model, &address);
        let handle = session
            .get_or_insert_with(|| channel.call_by_name("begin_session", ("Walk",)).unwrap());
        let channel = channel.with_header(HEADER, handle.clone().into_bytes());
        let taken = || -> Result<Vec<i32>, Status> { channel.call(&WALK.methods[1], ()) };
        until("the next server answers", || taken().is_ok());
        let found = taken().unwrap();
        let whole: Vec<_> = (0..found.len() as i32).collect();
        assert_eq!(found, whole, "round {round}");
        // The call that was under way may have run or not.
        let possible = answered..=answered + 1;
        assert!(
            possible.contains(&found.len()),
            "{} {answered}",
            found.len()
        );
        answered = found.len();
        let killer = thread::spawn(move || {
            thread::sleep(Duration::from_micros(5_000 + round * 7919 % 10_000));
            server.kill().unwrap();
            server.wait().unwrap();
        });
        while let Ok(step) = channel.call::<_, i32, Status>(&WALK.methods[0], ()) {
            assert_eq!(step as usize, answered);
            answered += 1;
        }
        killer.join().unwrap();
    }
    answered
}
