use super::Recording;
use super::filter::Filter;
use super::format::{
    CaptureHeader, CaptureIndex, CaptureSummary, END, Kind, MAGIC, chunk, encoded,
};
use super::recording::micros;
use crate::method::Method;
use crate::reflection::ServiceDescription;
use dovetail_wire::Bytes;
use dovetail_wire::description::Masks;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Bytes of calls that become a chunk.
const CHUNK: usize = 256 << 10;

/// Bytes of calls that wait for the administrator. Further calls are left out.
const WAITING: usize = 64 << 20;

/// The longest time that a call waits for its chunk to be full.
const PAUSE: Duration = Duration::from_millis(200);

/// The form in which calls leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As the parts of a file.
    File,
    /// As calls with messages in JSON, each behind its length.
    Text,
}

/// The calls of a capture, on their way to the administrator.
pub(crate) struct Queue {
    filter: Filter,
    form: Form,
    began: Instant,
    next: AtomicU64,
    /// The calls that run.
    open: Mutex<HashMap<u64, Weak<Recording>>>,
    /// The sensitive fields of the methods that have been called, by their addresses.
    masks: Mutex<HashMap<usize, Option<Arc<Masks>>>>,
    state: Mutex<State>,
    /// There is work for the thread that makes chunks.
    filled: Condvar,
}

#[derive(Default)]
struct State {
    /// Calls, each behind its length.
    calls: Vec<u8>,
    entry: CaptureIndex,
    /// Bytes of all calls so far.
    bytes: u64,
    left_out: i64,
    /// Why there are no more calls.
    over: Option<&'static str>,
    /// The chunks that nobody has taken yet.
    chunks: VecDeque<Bytes>,
    waiting: usize,
    /// The bytes of all chunks so far.
    offset: usize,
    index: Vec<CaptureIndex>,
    /// All chunks are there.
    whole: bool,
    reader: Option<Waker>,
}

impl State {
    fn push(&mut self, chunk: Vec<u8>) {
        self.offset += chunk.len();
        self.waiting += chunk.len();
        self.chunks.push_back(chunk.into());
    }

    /// Takes a call, if there is room.
    fn keep(&mut self, call: &[u8], (first, last): (i64, i64)) {
        if self.waiting + self.calls.len() + call.len() > WAITING {
            self.left_out += 1;
            return;
        }
        let length = u32::try_from(call.len()).unwrap_or(u32::MAX);
        self.calls.extend(length.to_le_bytes());
        self.calls.extend_from_slice(call);
        self.bytes += call.len() as u64;
        let entry = &mut self.entry;
        entry.first = match entry.calls {
            0 => first,
            _ => entry.first.min(first),
        };
        entry.last = entry.last.max(last);
        entry.calls += 1;
    }

    /// Appends the summary and the end of a file.
    fn summarize(&mut self) {
        let index = std::mem::take(&mut self.index);
        let summary = CaptureSummary {
            calls: index.iter().map(|entry| entry.calls).sum(),
            left_out: self.left_out,
            reason: self.over.unwrap_or_default().to_owned(),
            index,
        };
        let mut last = chunk(Kind::Summary, &encoded(&summary));
        last.extend((self.offset as u64).to_le_bytes());
        last.extend_from_slice(END);
        self.push(last);
    }
}

impl Queue {
    pub(super) fn new(
        filter: Filter,
        form: Form,
        services: impl FnOnce() -> Vec<ServiceDescription>,
    ) -> Self {
        let mut state = State::default();
        if form == Form::File {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let header = CaptureHeader {
                began: now.map_or(0, micros),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                services: services(),
                filter: filter.asked.clone(),
            };
            let mut first = MAGIC.to_vec();
            first.extend(chunk(Kind::Header, &encoded(&header)));
            state.push(first);
        }
        Queue {
            filter,
            form,
            began: Instant::now(),
            next: AtomicU64::new(0),
            open: Mutex::default(),
            masks: Mutex::default(),
            state: Mutex::new(state),
            filled: Condvar::new(),
        }
    }

    pub(super) fn filter(&self) -> &Filter {
        &self.filter
    }

    pub(super) fn form(&self) -> Form {
        self.form
    }

    pub(super) fn began(&self) -> Instant {
        self.began
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, Weak<Recording>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the sensitive fields of a method's messages, if it has any.
    pub(super) fn masks(&self, method: &'static Method) -> Option<Arc<Masks>> {
        let mut known = self.masks.lock().unwrap_or_else(PoisonError::into_inner);
        let masks = known.entry(std::ptr::from_ref(method).addr());
        masks
            .or_insert_with(|| method.masks().map(Arc::new))
            .clone()
    }

    /// Makes the recording of a call that begins.
    pub(super) fn record(self: &Arc<Self>, make: impl FnOnce(u64) -> Recording) -> Arc<Recording> {
        let number = self.next.fetch_add(1, Relaxed);
        let recording = Arc::new(make(number));
        self.open().insert(number, Arc::downgrade(&recording));
        recording
    }

    /// A call has ended.
    pub(super) fn closed(&self, number: u64) {
        self.open().remove(&number);
    }

    /// Takes a call that has ended, with the times of its beginning and its end, until the capture
    /// is over.
    pub(super) fn push(&self, call: &[u8], times: (i64, i64)) {
        let mut state = self.lock();
        if state.over.is_some() {
            return;
        }
        state.keep(call, times);
        if state.bytes >= self.filter.bytes() {
            state.over.get_or_insert("bytes");
        }
        if state.over.is_some() || state.calls.len() >= CHUNK {
            self.filled.notify_one();
        }
    }

    /// Takes a call that goes on longer than the capture.
    pub(super) fn push_cut(&self, call: &[u8], times: (i64, i64)) {
        let mut state = self.lock();
        if !state.whole {
            state.keep(call, times);
        }
    }

    /// Ends the capture for this reason.
    pub(super) fn end(&self, reason: &'static str) {
        self.lock().over.get_or_insert(reason);
        self.filled.notify_one();
    }

    /// Makes chunks until the capture is over.
    pub(super) fn run(&self) {
        while !self.fill() {
            self.make_chunk();
        }
        let open: Vec<_> = self.open().drain().collect();
        let open = open.iter().filter_map(|(_, call)| call.upgrade());
        // The end of such a call would be needed to know whether it is kept.
        let cut = open.filter(|_| !self.filter.waits_for_ends());
        cut.for_each(|call| call.cut());
        self.make_chunk();
        self.finish();
    }

    /// Waits for calls that are worth a chunk. Returns true once the capture is over.
    fn fill(&self) -> bool {
        let begun = Instant::now();
        let mut state = self.lock();
        loop {
            if self.began.elapsed() >= self.filter.time() {
                state.over.get_or_insert("time");
            }
            if state.over.is_some() {
                return true;
            }
            let left = PAUSE.saturating_sub(begun.elapsed());
            if state.calls.len() >= CHUNK || left.is_zero() {
                return false;
            }
            let left = left.min(self.filter.time().saturating_sub(self.began.elapsed()));
            let waited = self.filled.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn make_chunk(&self) {
        let (calls, mut entry) = {
            let mut state = self.lock();
            let calls = std::mem::take(&mut state.calls);
            state.waiting += calls.len();
            (calls, std::mem::take(&mut state.entry))
        };
        if calls.is_empty() {
            return;
        }
        let length = calls.len();
        let chunk = match self.form {
            Form::File => chunk(Kind::Calls, &calls),
            Form::Text => calls,
        };
        let mut state = self.lock();
        state.waiting -= length;
        entry.offset = whole(state.offset);
        state.index.push(entry);
        state.push(chunk);
        wake(state);
    }

    fn finish(&self) {
        let mut state = self.lock();
        if self.form == Form::File {
            state.summarize();
        }
        state.whole = true;
        wake(state);
    }

    /// Returns how many calls have been left out so far.
    pub(super) fn left_out(&self) -> i64 {
        self.lock().left_out
    }

    /// Returns the next chunk; `None` behind the last one.
    pub(super) fn poll(&self, context: &Context<'_>) -> Poll<Option<Bytes>> {
        let mut state = self.lock();
        match state.chunks.pop_front() {
            Some(chunk) => {
                state.waiting -= chunk.len();
                Poll::Ready(Some(chunk))
            }
            None if state.whole => Poll::Ready(None),
            None => {
                state.reader = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// Wakes the reader, once the state is free.
fn wake(mut state: MutexGuard<'_, State>) {
    let reader = state.reader.take();
    drop(state);
    reader.into_iter().for_each(Waker::wake);
}

fn whole(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
