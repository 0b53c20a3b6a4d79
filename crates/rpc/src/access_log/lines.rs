use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Lines that may wait for the writer.
const WAITING: usize = 10_000;

/// How often the place of a file is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Lines on their way to a writer, which has a thread.
pub(super) struct Lines {
    /// `None` once the log is dropped.
    queue: Option<SyncSender<String>>,
    left_out: Arc<AtomicU64>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Lines {
    pub(super) fn to(writer: Box<dyn Write + Send>) -> io::Result<Self> {
        let (queue, waiting) = sync_channel(WAITING);
        let left_out = Arc::new(AtomicU64::new(0));
        let counted = left_out.clone();
        let thread = Builder::new().name("dovetail log".to_owned());
        let thread = thread.spawn(move || write(&waiting, writer, &counted))?;
        Ok(Lines {
            queue: Some(queue),
            left_out,
            thread: Mutex::new(Some(thread)),
        })
    }

    pub(super) fn push(&self, line: String) {
        let pushed = self.queue.as_ref().map(|queue| queue.try_send(line));
        if !matches!(pushed, Some(Ok(()))) {
            self.left_out.fetch_add(1, Relaxed);
        }
    }

    pub(super) fn left_out(&self) -> u64 {
        self.left_out.load(Relaxed)
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.queue = None;
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            // It has nobody to tell that it has panicked.
            let _ = thread.join();
        }
    }
}

/// Writes lines until the log is dropped; those that come together leave together.
fn write(waiting: &Receiver<String>, writer: Box<dyn Write + Send>, left_out: &AtomicU64) {
    let mut writer = BufWriter::new(writer);
    let mut fails = false;
    while let Ok(line) = waiting.recv() {
        let mut written = writer.write_all(line.as_bytes());
        let mut lines = 1;
        while let Ok(line) = waiting.try_recv() {
            written = written.and_then(|()| writer.write_all(line.as_bytes()));
            lines += 1;
        }
        match written.and_then(|()| writer.flush()) {
            Ok(()) => fails = false,
            Err(error) => {
                left_out.fetch_add(lines, Relaxed);
                if !std::mem::replace(&mut fails, true) {
                    tracing::error!("the access log cannot be written: {error}");
                }
            }
        }
    }
}

/// A file that is opened again when another one has its name.
pub(crate) struct Rotating {
    path: PathBuf,
    file: File,
    looked: Instant,
}

impl Rotating {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Rotating {
            path: path.to_owned(),
            file: append(path)?,
            looked: Instant::now(),
        })
    }

    /// Opens the file anew where it was renamed or removed.
    fn look(&mut self) -> io::Result<()> {
        if self.looked.elapsed() >= LOOK {
            self.looked = Instant::now();
            if !is_at(&self.file, &self.path)? {
                self.file = append(&self.path)?;
            }
        }
        Ok(())
    }
}

impl Write for Rotating {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.look()?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let open = file.metadata()?;
    let named = fs::metadata(path);
    Ok(named.is_ok_and(|named| (named.dev(), named.ino()) == (open.dev(), open.ino())))
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> io::Result<bool> {
    Ok(fs::metadata(path).is_ok())
}
