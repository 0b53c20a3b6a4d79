//! Client or server is killed while the two share memory: the callers that are left are told what is known, new ones
//! are served at once, and nothing is left behind. A program: it is its own peer, in a process of its own.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[cfg(not(all(feature = "async", feature = "shm", target_os = "linux")))]
fn main() {}

#[cfg(all(feature = "async", feature = "shm", target_os = "linux"))]
fn main() {
    program::main();
}

#[cfg(all(feature = "async", feature = "shm", target_os = "linux"))]
mod program {
    use dovetail::{
        Backoff, Call, Channel, Code, Context, Execution, HandlerFuture, Model, Running, Server,
        Service, ServiceDescriptor, Status, blocking, descriptor,
    };
    use std::fs;
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    /// Of each kind.
    const KILLS: u32 = 100;

    const MODELS: [Model; 2] = [Model::ThreadPerConnection, Model::EventLoops(Some(2))];

    descriptor!(static COUNTER = "Counter" {
        next(1 number: i32) -> i32;
    });

    struct Counter;

    impl Service for Counter {
        fn descriptor(&self) -> &'static ServiceDescriptor {
            &COUNTER
        }

        fn call<'a>(&'a self, _: usize, call: Call) -> HandlerFuture<'a> {
            call.unary((0,), |_: Context, (number,)| async move {
                Ok::<i32, Status>(number + 1)
            })
        }
    }

    pub(super) fn main() {
        let arguments: Vec<String> = std::env::args().collect();
        match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [_, "serve", model, path] => {
                wait_beside(&serve(MODELS[usize::from(model == "1")], path))
            }
            [_, "call", _, path] => call_for_ever(path),
            _ => test(),
        }
    }

    fn serve(model: Model, path: &str) -> Running {
        let server = Server::new().service(Counter).model(model);
        let server = server.listen(&format!("unix:{path}")).unwrap();
        server.start().unwrap()
    }

    fn wait_beside(_: &Running) {
        println!("ready");
        thread::sleep(Duration::from_secs(600));
    }

    fn call_for_ever(path: &str) {
        let channel = blocking::Channel::connect(&format!("shm:{path}")).unwrap();
        let call =
            |number: i32| -> Result<i32, Status> { channel.call(&COUNTER.methods[0], (&number,)) };
        call(0).unwrap();
        println!("ready");
        while call(1).is_ok() {}
    }

    /// Another process of this program, once it is ready.
    fn start(role: &str, model: usize, path: &str) -> Child {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([role, &model.to_string(), path])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = child.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        child
    }

    /// Kills a process when some time has passed, which is another one in each round.
    fn kill(mut child: Child, round: u32) {
        thread::sleep(Duration::from_micros(u64::from(round * 7919 % KILLS) * 20));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    fn test() {
        let directory = std::env::temp_dir().join(format!("dovetail-kills-{}", std::process::id()));
        fs::create_dir(&directory).unwrap();
        let path = directory.join("socket");
        let path = path.to_str().unwrap();
        let mut longest = Duration::ZERO;
        for model in 0..MODELS.len() {
            let channel = blocking::Channel::builder(&format!("shm:{path}")).unwrap();
            let channel = channel.backoff(AT_ONCE).build();
            let call = |number| channel.call(&COUNTER.methods[0], (&number,));
            longest = longest.max(servers_are_killed(model, path, &call));

            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.enable_all().build().unwrap();
            let channel = Channel::builder(&format!("shm:{path}")).unwrap();
            let channel = channel.backoff(AT_ONCE).build();
            let call =
                |number: i32| runtime.block_on(channel.call(&COUNTER.methods[0], (&number,)));
            longest = longest.max(servers_are_killed(model, path, &call));

            clients_are_killed(model, path);
        }
        assert_eq!(resources().mappings, 0);
        fs::remove_dir_all(directory).unwrap();
        println!(
            "test result: ok. {} killed, each noticed within {longest:?}",
            6 * KILLS
        );
    }

    const AT_ONCE: Backoff = Backoff {
        first: Duration::from_micros(1),
        most: Duration::from_micros(1),
    };

    /// Gives how long it took at most until a caller knew.
    fn servers_are_killed(
        model: usize,
        path: &str,
        call: &(dyn Fn(i32) -> Result<i32, Status> + Sync),
    ) -> Duration {
        let mut longest = Duration::ZERO;
        let mut before = None;
        for round in 0..KILLS {
            let server = start("serve", model, path);
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

    fn clients_are_killed(model: usize, path: &str) {
        let running = serve(MODELS[model], path);
        let bystander = blocking::Channel::connect(&format!("shm:{path}")).unwrap();
        let call = |number: i32| bystander.call(&COUNTER.methods[0], (&number,));
        assert_eq!(call(1), Ok::<i32, Status>(2));
        let before = resources();
        for round in 0..KILLS {
            kill(start("call", model, path), round);
            assert_eq!(call(1), Ok(2));
            until("nothing is left of it", || {
                running.connections() == 1 && resources() == before
            });
        }
        assert!(running.counters().calls > u64::from(KILLS));
        drop(bystander);
        assert!(running.shutdown(Duration::from_secs(10)));
    }

    fn until(what: &str, condition: impl Fn() -> bool) {
        let start = Instant::now();
        while !condition() {
            assert!(start.elapsed() < Duration::from_secs(20), "never: {what}");
            thread::sleep(Duration::from_micros(200));
        }
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Resources {
        descriptors: usize,
        mappings: usize,
    }

    fn resources() -> Resources {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        Resources {
            descriptors: fs::read_dir("/proc/self/fd").unwrap().count(),
            mappings: maps.matches("memfd:dovetail").count(),
        }
    }
}
