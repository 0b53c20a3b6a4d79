//! The suite with client and server on hosts of their own: two agents, and the coordinator.

mod hosts;

use hosts::{Agent, Host, Token, suite};
use serde_json::Value;

fn names<'a>(report: &'a Value, field: &str) -> Vec<&'a str> {
    let rows = report["rows"].as_array().map_or(&[][..], Vec::as_slice);
    rows.iter().filter_map(|row| row[field].as_str()).collect()
}

/// Two agents on loopback, and what a suite with these options reports.
fn report(options: &[&str]) -> Value {
    let token = Token::new("a secret");
    let agents = [(); 2].map(|()| Agent::start(&Host::Loopback, "127.0.0.1:0", &token));
    match suite(&Host::Loopback, &agents, &token, options) {
        Ok(report) => report,
        Err(error) => panic!("{options:?}: {error}"),
    }
}

#[test]
fn cases() {
    let report = report(&[
        "--only",
        "^get_answer - (dovetail-tcp|dovetail-unix|direct|floor-tcp)$",
    ]);
    // Systems that need one host are left out.
    assert_eq!(names(&report, "system"), ["dovetail-tcp", "floor-tcp"]);
    assert_eq!(report["rows"][0]["rounds"], 3);
    assert!(report["rows"][0]["server_cpu_us"].as_f64() > Some(0.0));
    let places = report["machine"]["places"].as_str().unwrap_or_default();
    assert!(
        places.starts_with("servers beside the agent at 127.0.0.1:"),
        "{places}"
    );
}

#[test]
fn profiles() {
    // Profile, systems that can do it, rows of each.
    let rows = [
        ("ramp", &["dovetail-tcp", "dovetail-tcp-async"][..], 6),
        ("burst", &["dovetail-tcp", "dovetail-tcp-async"], 4),
        ("mixed", &["dovetail-tcp", "dovetail-tcp-async"], 7),
        ("fan-out", &["dovetail-tcp-async"], 4),
    ];
    for (profile, systems, cases) in rows {
        let only = "(dovetail-tcp|dovetail-tcp-async)$";
        let report = report(&["--profile", profile, "--step", "0.1", "--only", only]);
        assert_eq!(
            names(&report, "system"),
            systems.repeat(cases),
            "{profile}: {report:#}"
        );
        assert!(
            names(&report, "workload")
                .iter()
                .all(|workload| *workload == profile)
        );
        assert!(names(&report, "case")[0].starts_with("step 1: "));
    }
}

#[test]
fn only_those_who_know_the_token_are_served() {
    let [ours, other] = ["ours", "other"].map(Token::new);
    let agents = [(); 2].map(|()| Agent::start(&Host::Loopback, "127.0.0.1:0", &ours));
    let refused = suite(&Host::Loopback, &agents, &other, &[])
        .err()
        .unwrap_or_default();
    assert!(refused.contains("UNAUTHENTICATED"), "{refused}");
}

#[test]
fn agents_need_an_address_and_a_token() {
    let rows = [
        ("0.0.0.0:0", "secret", "clients cannot connect to 0.0.0.0"),
        ("127.0.0.1:0", " \n", "an empty token"),
        ("somewhere", "secret", "invalid value 'somewhere'"),
    ];
    for (address, token, expected) in rows {
        let error = hosts::refusal(address, &Token::new(token));
        assert!(error.contains(expected), "{address}: {error}");
    }
}

/// Two network namespaces with a cable between them that loses and delays packets, as far as the
/// kernel has that.
#[test]
fn between_namespaces() {
    let cable = match hosts::Cable::between_namespaces() {
        Ok(cable) => cable,
        Err(lacks) => return eprintln!("skipped: {lacks}"),
    };
    let delayed = cable.impair("delay 10ms loss 1%");
    if let Err(lacks) = &delayed {
        eprintln!("without delay and loss: {lacks}");
    }
    let token = Token::new("a secret");
    let ends = cable.ends();
    let agents = ends
        .each_ref()
        .map(|(host, ip)| Agent::start(host, &format!("{ip}:0"), &token));
    let only = "(dovetail-tcp|floor-tcp)$";
    let options = ["--profile", "mixed", "--step", "0.2", "--only", only];
    let report = suite(&ends[1].0, &agents, &token, &options).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        names(&report, "system"),
        ["dovetail-tcp", "floor-tcp"].repeat(7),
        "{report:#}"
    );
    let fastest = report["rows"].as_array().into_iter().flatten();
    let fastest = fastest
        .filter_map(|row| row["p50_us"].as_f64())
        .fold(f64::MAX, f64::min);
    // There and back.
    assert!(delayed.is_err() || fastest >= 20_000.0, "{fastest} µs");
}
