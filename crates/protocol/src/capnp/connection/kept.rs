//! Results that stay at this end: of a call that the peer makes to answer a call of this end's, a
//! tail call.
//!
//! ```text
//!   this end ── question 1 ───────────────────────────► peer
//!            ◄── question 7, keep the results ─────────
//!            ◄── the answer to 1 is that to 7 ─────────
//!            ─── the answer to 7 stays here ──────────►
//! ```

use super::objects::lend;
use super::{AnswerState, Connection, Exception, Object, Payload};
use crate::capnp::write::TABLE;
use dovetail_wire::Bytes;
use dovetail_wire::capnp::{PointerAt, Segments};

impl Connection {
    /// True for a question of which the results stay at this end.
    pub(super) fn keeps(&self, question: u32) -> bool {
        self.answers
            .get(&question)
            .is_some_and(|answer| answer.keeps)
    }

    /// Keeps the results that begin here in the output, and tells the peer so.
    pub(super) fn keep(
        &mut self,
        question: u32,
        start: usize,
        content: PointerAt,
        objects: Vec<Object>,
    ) {
        let frame = Bytes::copy_from_slice(self.out.get(start..).unwrap_or_default());
        self.out.truncate(start);
        self.send(|out| out.sent_elsewhere(question));
        let segment = frame.slice(TABLE.min(frame.len())..);
        let results = Payload {
            frame,
            message: Segments::single(segment).unwrap_or_default(),
            content: Some(content),
            objects,
        };
        self.settle(question, Ok(results), Vec::new());
    }

    /// The results of a question, which are the answer to one of this end's; `None` where they are
    /// not there yet.
    pub(super) fn take_kept(
        &mut self,
        kept: u32,
        question: u32,
    ) -> Result<Option<Result<Payload, Exception>>, String> {
        let answer = self.answers.get_mut(&kept).filter(|answer| answer.keeps);
        let answer = answer.ok_or_else(|| format!("question {kept} has kept no results"))?;
        match &answer.state {
            AnswerState::Open(_) => {
                answer.taken_by = Some(question);
                Ok(None)
            }
            AnswerState::Done { results, .. } => {
                let results = results.clone();
                self.lend(&results);
                Ok(Some(results))
            }
        }
    }

    /// A question has been answered: with it the one of this end's that waits for its results.
    pub(super) fn hand_on(&mut self, kept: u32) {
        let Some(question) = self.answers.get(&kept).and_then(|answer| answer.taken_by) else {
            return;
        };
        if let Ok(Some(results)) = self.take_kept(kept, question) {
            self.conclude(question, results);
        }
    }

    /// Counts a reference for each object of the peer's: a reader of the results releases one, as
    /// if they had come anew.
    fn lend(&mut self, results: &Result<Payload, Exception>) {
        for object in results.iter().flat_map(|results| &results.objects) {
            lend(&mut self.imports, object);
        }
    }
}

impl Payload {
    /// Bytes of the message.
    pub(super) fn size(&self) -> usize {
        self.message.parts().iter().map(Bytes::len).sum()
    }
}
