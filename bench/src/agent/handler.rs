use super::contract::{
    Agent, Failed, FiguresError, GoError, Host, Load, Server, StartClientError, StartServerError,
    StopError, Usage, UsageError,
};
use crate::harness::Request;
use crate::suite::local::Local;
use crate::suite::process::{Deadline, Talking};
use crate::suite::report::Missing;
use crate::suite::{Result, machine};
use dovetail::{Address, Context, Status};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Starts programs, and keeps them until they are stopped or their time is over.
pub(super) struct Handler {
    programs: Local,
    missing: Vec<Missing>,
    running: Mutex<Running>,
}

#[derive(Default)]
struct Running {
    last: i64,
    processes: HashMap<i64, Arc<Mutex<Talking>>>,
}

impl Handler {
    pub(super) fn new(programs: Local, missing: Vec<Missing>) -> Self {
        Handler {
            programs,
            missing,
            running: Mutex::default(),
        }
    }

    /// Kills the programs whose time is over: their coordinator is gone.
    pub(super) fn sweep(&self) {
        // One that is busy has a call that waits for it, and which does not wait longer.
        let is_overdue =
            |process: &Mutex<Talking>| process.try_lock().is_ok_and(|p| p.is_overdue());
        lock(&self.running)
            .processes
            .retain(|_, process| !is_overdue(process));
    }

    fn keep(&self, process: Talking) -> i64 {
        let mut running = lock(&self.running);
        running.last += 1;
        let id = running.last;
        running.processes.insert(id, Arc::new(Mutex::new(process)));
        id
    }

    fn with<T>(&self, id: i64, work: impl FnOnce(&mut Talking) -> Result<T>) -> Result<T, Failed> {
        let process = lock(&self.running).processes.get(&id).cloned();
        let process = process.ok_or_else(|| no_process(id))?;
        work(&mut lock(&process)).map_err(failed)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failed(why: impl ToString) -> Failed {
    Failed {
        why: why.to_string(),
        ..Failed::default()
    }
}

fn no_process(id: i64) -> Failed {
    failed(format!("no process {id}: its time was over"))
}

/// From now on.
fn deadline(limit_ms: i32) -> Deadline {
    Deadline::after(Duration::from_millis(limit_ms.max(0).unsigned_abs().into()))
}

/// Nothing but what a client of ours can be told goes into a command line.
fn check(load: &Load) -> Result<(), Failed> {
    let (workload, case) = (&load.workload, &load.variant);
    if Request::new(workload, case).is_none() {
        return Err(failed(format!(
            "no workload `{workload}` with the case `{case}`"
        )));
    }
    for server in &load.servers {
        server.parse::<Address>().map_err(failed)?;
    }
    Ok(())
}

impl Agent for Handler {
    async fn describe(&self, _: Context) -> Result<Host, Status> {
        let systems = self.programs.systems();
        Ok(Host {
            systems: systems
                .iter()
                .map(|(name, about)| (name.clone(), about.into()))
                .collect(),
            missing: self.missing.iter().map(Missing::pair).collect(),
            machine: machine::facts(),
            ..Host::default()
        })
    }

    async fn start_server(
        &self,
        _: Context,
        system: String,
        limit_ms: i32,
    ) -> Result<Server, StartServerError> {
        let started = self.programs.server(&system, deadline(limit_ms));
        let (process, address) = started.map_err(failed)?;
        Ok(Server {
            process: self.keep(process),
            address,
            ..Server::default()
        })
    }

    async fn start_client(
        &self,
        _: Context,
        system: String,
        load: Load,
        limit_ms: i32,
    ) -> Result<i64, StartClientError> {
        check(&load)?;
        let client = self.programs.client(&system, &load, deadline(limit_ms));
        Ok(self.keep(client.map_err(failed)?))
    }

    async fn go(&self, _: Context, process: i64) -> Result<(), GoError> {
        Ok(self.with(process, Talking::go)?)
    }

    async fn figures(&self, _: Context, process: i64) -> Result<String, FiguresError> {
        Ok(self.with(process, Talking::figures)?)
    }

    async fn usage(&self, _: Context, process: i64) -> Result<Usage, UsageError> {
        Ok(self.with(process, |process| process.usage())?)
    }

    async fn stop(&self, _: Context, process: i64) -> Result<i64, StopError> {
        let switches = self.with(process, Talking::stop)?;
        lock(&self.running).processes.remove(&process);
        Ok(switches.cast_signed())
    }
}
