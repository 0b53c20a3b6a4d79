use super::Config;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};
use std::{fs, io};

/// How often the signal and the files are looked at.
const PAUSE: Duration = Duration::from_millis(250);

/// Reloads a configuration when its file or one that it names changes, and on SIGHUP, until this is
/// dropped.
#[must_use = "dropped, it ends"]
#[derive(Debug)]
pub struct Watch {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Config {
    /// Reloads the configuration when its file, or one that it names, changes, and on SIGHUP. What
    /// comes of it is told by `tracing`. An error if the signal cannot be had or no thread can be
    /// made.
    pub fn watch(&self) -> io::Result<Watch> {
        let (over, hangup) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicBool::new(false)),
        );
        signal_hook::flag::register(signal_hook::consts::SIGHUP, hangup.clone())?;
        let (config, ended) = (self.clone(), over.clone());
        // Before the thread is there: it may be late, and files may change until then.
        let mut seen = times(&config.files());
        let thread = thread::Builder::new()
            .name("dovetail config".to_owned())
            .spawn(move || {
                let mut before = seen.clone();
                while !ended.load(Ordering::Relaxed) {
                    thread::park_timeout(PAUSE);
                    let now = times(&config.files());
                    // A file that changes right now may be half written.
                    let changed = now != seen && now == before;
                    if hangup.swap(false, Ordering::Relaxed) || changed {
                        reload(&config);
                        seen.clone_from(&now);
                    }
                    before = now;
                }
            })?;
        Ok(Watch {
            over,
            thread: Some(thread),
        })
    }
}

fn times(files: &[PathBuf]) -> Vec<Option<SystemTime>> {
    let time = |file: &PathBuf| fs::metadata(file).and_then(|data| data.modified()).ok();
    files.iter().map(time).collect()
}

fn reload(config: &Config) {
    match config.reload() {
        Ok(reloaded) => {
            tracing::info!(changed = ?reloaded.changed, "the configuration was read again");
            if !reloaded.restart.is_empty() {
                tracing::warn!(keys = ?reloaded.restart, "these changes take a restart");
            }
        }
        Err(error) => tracing::error!("the configuration stays as it was:\n{error}"),
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It does not panic, and nobody could be told.
            let _ = thread.join();
        }
    }
}
