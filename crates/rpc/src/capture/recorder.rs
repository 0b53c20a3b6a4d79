use super::filter::Filter;
use super::queue::{Form, Queue};
use super::shown::ShownCalls;
use super::{CaptureFilter, Recording};
use crate::method::ServiceDescriptor;
use crate::peer::intercept::CallHead;
use crate::reflection::describe;
use crate::{Code, Status};
use arc_swap::ArcSwapOption;
use dovetail_wire::Bytes;
use futures_core::Stream;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::thread;

/// Captures the calls of a server, when it is asked to.
#[derive(Default)]
pub(crate) struct Recorder {
    services: OnceLock<Vec<&'static ServiceDescriptor>>,
    running: ArcSwapOption<Queue>,
}

impl Recorder {
    /// Notes the services of the server. The first ones count.
    pub(crate) fn serves(&self, services: &[&'static ServiceDescriptor]) {
        let _ = self.services.set(services.to_vec());
    }

    /// Returns the services of the server.
    pub(crate) fn services(&self) -> &[&'static ServiceDescriptor] {
        self.services.get().map(Vec::as_slice).unwrap_or_default()
    }

    /// Begins a capture, if none runs. Returns the parts of its file.
    pub(crate) fn start(self: &Arc<Self>, filter: &CaptureFilter) -> Result<Chunks, Status> {
        self.begin_as(filter, Form::File)
    }

    /// Begins a capture, if none runs. Returns its calls, with messages in JSON.
    pub(crate) fn show(self: &Arc<Self>, filter: &CaptureFilter) -> Result<ShownCalls, Status> {
        self.begin_as(filter, Form::Text).map(ShownCalls::new)
    }

    fn begin_as(self: &Arc<Self>, filter: &CaptureFilter, form: Form) -> Result<Chunks, Status> {
        let services = || {
            let services = self.services().iter();
            services.map(|service| describe(service)).collect()
        };
        let queue = Arc::new(Queue::new(Filter::new(filter)?, form, services));
        let before = self
            .running
            .compare_and_swap(&None::<Arc<Queue>>, Some(queue.clone()));
        if before.is_some() {
            let what = "a capture runs already: wait for its end";
            return Err(Status::new(Code::FailedPrecondition, what));
        }
        let chunks = Chunks {
            queue,
            recorder: self.clone(),
        };
        let (queue, recorder) = (chunks.queue.clone(), self.clone());
        let thread = thread::Builder::new().name("dovetail capture".to_owned());
        let started = thread.spawn(move || {
            queue.run();
            recorder.stop(&queue);
        });
        match started {
            Ok(_) => Ok(chunks),
            Err(error) => {
                self.stop(&chunks.queue);
                let what = format!("the thread of the capture cannot be started: {error}");
                Err(Status::new(Code::ResourceExhausted, what))
            }
        }
    }

    fn stop(&self, queue: &Arc<Queue>) {
        self.running.compare_and_swap(queue, None);
    }

    /// Records a call that begins, if a capture wants it.
    pub(crate) fn begin(&self, head: &mut CallHead<'_>) {
        // Most of the time there is none.
        let Some(queue) = &*self.running.load() else {
            return;
        };
        if queue.filter().begins(head) {
            let recording = queue.record(|number| Recording::begin(queue, number, head));
            head.record(recording);
        }
    }
}

/// The parts of the file of a capture, which ends when this is dropped.
pub(crate) struct Chunks {
    queue: Arc<Queue>,
    recorder: Arc<Recorder>,
}

impl Chunks {
    /// Returns how many calls have been left out so far.
    pub(super) fn left_out(&self) -> i64 {
        self.queue.left_out()
    }
}

impl Stream for Chunks {
    type Item = Result<Bytes, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.queue.poll(context).map(|chunk| chunk.map(Ok))
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        self.queue.end("server");
        self.recorder.stop(&self.queue);
    }
}
