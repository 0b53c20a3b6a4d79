//! Clients that cannot, or must not, share memory with their server: another user's, and those of
//! another network. They stay with TCP.

use crate::peer::{MODELS, Place, Role, next, program, ready, serve};
use dovetail::blocking::Channel;
use rustix::thread::UnshareFlags;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// `nobody`, everywhere.
const NOBODY: u32 = 65_534;

const CALLS: i32 = 20;

pub(crate) fn test() {
    for model in 0..MODELS.len() {
        test_with(model);
    }
}

fn test_with(model: usize) {
    for (whose, of_another_user, elsewhere) in [
        ("the same user's", false, false),
        ("another user's", true, false),
        ("of another network", false, true),
    ] {
        if of_another_user && !rustix::process::geteuid().is_root() {
            println!("elsewhere: skipped, only root can be another user: {whose}");
            continue;
        }
        let running = serve(model, "tcp://127.0.0.1:0");
        let address = running.addresses()[0].to_string();
        let place = Place::new("elsewhere");
        let mut command = match of_another_user {
            true => as_nobody(&place),
            false => Command::new(program()),
        };
        let role = match elsewhere {
            true => Role::CallFromElsewhere,
            false => Role::CallTimes,
        };
        let mut client = role.start_by(&mut command, 0, &address);
        let mut said = String::new();
        let output = client.stdout.as_mut().unwrap();
        output.read_to_string(&mut said).unwrap();
        client.wait().unwrap();
        if said == "forbidden\n" {
            println!("elsewhere: skipped, the system allows no other network: {whose}");
            continue;
        }
        assert_eq!(said, "answered\n", "{whose}");
        let counters = running.counters();
        assert_eq!(counters.calls, CALLS as u64, "{whose}");
        let moved = u64::from(!of_another_user && !elsewhere);
        assert_eq!(counters.local_connections, moved, "{whose}");
        assert!(running.shutdown(Duration::from_secs(10)));
    }
}

/// This program, where another user may read it.
fn as_nobody(place: &Place) -> Command {
    let copy = place.path().join("program");
    fs::copy(program(), &copy).unwrap();
    for path in [place.path(), &copy] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = Command::new(copy);
    command.uid(NOBODY).gid(NOBODY).current_dir("/");
    command
}

/// The client: it calls as often as the server expects, and says how it went.
pub(crate) fn call(address: &str, from_elsewhere: bool) {
    let channel = Channel::connect(address).unwrap();
    ready();
    for number in 0..CALLS {
        assert_eq!(next(&channel, number), Ok(number + 1));
        if number == 0 && from_elsewhere && !leave_the_network() {
            return println!("forbidden");
        }
        // A client that moves has the time for it.
        thread::sleep(Duration::from_millis(5));
    }
    println!("answered");
}

/// Moves this thread, and those that it starts from now on, to a network of their own. Sockets that
/// are open stay.
#[allow(unsafe_code)]
fn leave_the_network() -> bool {
    let flags = match rustix::process::geteuid().is_root() {
        true => UnshareFlags::NEWNET,
        false => UnshareFlags::NEWNET | UnshareFlags::NEWUSER,
    };
    // SAFETY: neither flag gives threads different tables of descriptors.
    unsafe { rustix::thread::unshare_unsafe(flags) }.is_ok()
}
