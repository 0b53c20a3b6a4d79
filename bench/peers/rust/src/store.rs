//! The data that every server answers with.

use crate::harness::workload;
use crate::records::{Bytes, Row, Student};
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

pub(crate) struct Store {
    blobs: Mutex<HashMap<i32, Bytes>>,
    pub(crate) students: Vec<Student>,
    rows: Vec<Row>,
}

impl Store {
    pub(crate) fn new() -> Self {
        Store {
            blobs: Mutex::default(),
            students: workload::students(),
            rows: (0..100).map(workload::row).collect(),
        }
    }

    pub(crate) fn blob(&self, size: i32) -> Bytes {
        let mut blobs = self.blobs.lock().unwrap_or_else(|e| e.into_inner());
        let blob = blobs.entry(size).or_insert_with(|| workload::blob(size));
        blob.clone()
    }

    /// Returns `count` rows, after `wait_ms` milliseconds.
    pub(crate) async fn rows(&self, count: i32, wait_ms: i32) -> &[Row] {
        if let wait @ 1.. = wait_ms {
            tokio::time::sleep(Duration::from_millis(wait.unsigned_abs().into())).await;
        }
        if let ms @ ..0 = wait_ms {
            // On a thread that may block, as tokio has it.
            let time = Duration::from_millis(ms.unsigned_abs().into());
            let _ = tokio::task::spawn_blocking(move || workload::compute(time)).await;
        }
        let count = usize::try_from(count).unwrap_or(0);
        &self.rows[..count.min(self.rows.len())]
    }
}
