//! Calls as they were: an administrator captures them while the server runs, into a file that
//! `dovetail capture` shows and `dovetail replay` sends again. `docs/capture.md` has the rules,
//! `docs/spec/capture.md` the format.
//!
//! ```text
//!   call ──► Recording ──► Capture (a queue) ──► its thread: chunks ──► Chunks ──► the administrator's stream
//! ```

#[cfg(feature = "async")]
mod client;
mod dump;
mod filter;
mod format;
mod queue;
mod reader;
mod recorder;
mod recording;
mod shown;

#[cfg(feature = "async")]
pub use client::{capture, dump};
pub(crate) use dump::DumpedParts;
pub use dump::{DumpFilter, Dumped};
pub use filter::CaptureFilter;
pub use format::{
    CaptureHeader, CaptureIndex, CaptureSummary, CapturedCall, CapturedHeader, CapturedItem,
};
pub use reader::Reader;
pub(crate) use recorder::Recorder;
pub(crate) use recording::Recording;
pub use shown::{ShownCall, ShownHeader, ShownItem};
