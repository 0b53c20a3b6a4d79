//! Client and server in processes of their own, which share memory: one of them is killed, breaks
//! the rules, is another user's, or idle; one that keeps its sessions; and servers of one name. A
//! program: it is its own peer.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[cfg(not(all(feature = "grpc", feature = "shm", target_os = "linux")))]
fn main() {}

#[cfg(all(feature = "grpc", feature = "shm", target_os = "linux"))]
mod elsewhere;
#[cfg(all(feature = "grpc", feature = "shm", target_os = "linux"))]
mod fleet;
#[cfg(all(feature = "grpc", feature = "shm", target_os = "linux"))]
mod hostile;
#[cfg(all(feature = "grpc", feature = "shm", target_os = "linux"))]
mod idle;
#[cfg(all(feature = "grpc", feature = "shm", target_os = "linux"))]
mod kills;
#[cfg(all(feature = "grpc", feature = "shm", target_os = "linux"))]
mod peer;
#[cfg(all(feature = "grpc", feature = "shm", target_os = "linux"))]
mod sessions;

#[cfg(all(feature = "grpc", feature = "shm", target_os = "linux"))]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, model, address] = &arguments[..]
        && let Some(role) = peer::Role::named(role)
    {
        return role.play(model.parse().unwrap(), address);
    }
    let tests: [(&str, fn()); 6] = [
        ("kills", kills::test),
        ("hostile", hostile::test),
        ("idle", idle::test),
        ("elsewhere", elsewhere::test),
        ("sessions", sessions::test),
        ("fleet", fleet::test),
    ];
    let mut names = arguments.iter().filter(|each| !each.starts_with('-'));
    let wanted = names.next();
    for (name, test) in tests {
        // It takes a minute; `cargo xtask check` leaves it to `cargo xtask test`.
        if name == "fleet" && wanted.is_none() && std::env::var_os("DOVETAIL_QUICK").is_some() {
            println!("fleet: left out");
            continue;
        }
        // `cargo test … --test processes -- hostile` runs that one alone.
        if wanted.is_none_or(|wanted| wanted == name) {
            test();
        }
    }
    println!("test result: ok.");
}
