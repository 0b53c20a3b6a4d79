use super::{Span, SpanRecorder};
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Keeps the spans that were recorded last. Clones are the same.
#[derive(Clone)]
pub struct Recent(Arc<Inner>);

struct Inner {
    most: usize,
    spans: Mutex<VecDeque<Span>>,
}

impl Recent {
    /// Keeps so many spans.
    pub fn new(most: usize) -> Self {
        Recent(Arc::new(Inner {
            most,
            spans: Mutex::default(),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Span>> {
        self.0.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the spans, the oldest first.
    pub fn spans(&self) -> Vec<Span> {
        self.lock().iter().cloned().collect()
    }
}

impl SpanRecorder for Recent {
    fn record(&self, span: Span) {
        let mut spans = self.lock();
        let oldest = match spans.len() >= self.0.most {
            true => spans.pop_front(),
            false => None,
        };
        if self.0.most > 0 {
            spans.push_back(span);
        }
        drop((spans, oldest));
    }
}

impl fmt::Debug for Recent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recent")
            .field("spans", &self.lock().len())
            .finish()
    }
}
