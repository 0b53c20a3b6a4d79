//! The way of a call through the rules for its method.

use super::Criticality;
use super::gate::{Gate, Permit, Refused, Way};
use super::line::Waiting;
use super::rule::Rule;
use crate::Status;
use crate::block_on::wait_until;
use crate::peer::intercept::CallHead;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How far a call has come, with its places on the way.
pub(super) struct Passage {
    rules: Arc<[Arc<Rule>]>,
    next: usize,
    permits: Vec<Permit>,
    waiting: Option<(Arc<Gate>, Waiting)>,
}

/// Passages in the context of their call, one for each throttle.
pub(super) struct Held(Mutex<Vec<Passage>>);

impl Held {
    fn lock(&self) -> MutexGuard<'_, Vec<Passage>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the passage of the throttle that was the last to keep one.
    pub(super) fn take_last(held: Option<&Held>) -> Option<Passage> {
        held?.lock().pop()
    }

    /// Gives back all places. Limits that adapt look at the time of a typical call.
    pub(super) fn release(held: Option<&Held>, is_typical: bool) {
        let passages = held.map(|held| std::mem::take(&mut *held.lock()));
        for passage in passages.into_iter().flatten() {
            let permits = passage.permits.into_iter();
            permits.for_each(|permit| permit.release(is_typical));
        }
    }
}

impl Passage {
    pub(super) fn new(rules: Arc<[Arc<Rule>]>) -> Self {
        Passage {
            rules,
            next: 0,
            permits: Vec::new(),
            waiting: None,
        }
    }

    /// Keeps it with its call, if there is something to keep.
    pub(super) fn keep(self, call: &mut CallHead<'_>) {
        if self.permits.is_empty() && self.waiting.is_none() {
            return;
        }
        match call.get::<Held>() {
            Some(held) => held.lock().push(self),
            None => call.insert(Held(Mutex::new(vec![self]))),
        }
    }

    /// Goes on as far as there is no queue. True at the end of the way.
    pub(super) fn proceed(
        &mut self,
        call: &CallHead<'_>,
        criticality: Criticality,
    ) -> Result<bool, Status> {
        while let Some(rule) = self.rules.get(self.next) {
            rule.check_size(call)?;
            let gate = rule.gate(call);
            let way = gate.pass(call.size(), criticality);
            match way.map_err(|refused| rule.refuse(call, &gate, &refused))? {
                Way::Open(permit) => self.permits.extend(permit),
                Way::Wait(waiting) => {
                    self.waiting = Some((gate, waiting));
                    return Ok(false);
                }
            }
            self.next += 1;
        }
        Ok(true)
    }

    /// Goes on to the end.
    pub(super) async fn wait(
        &mut self,
        call: &CallHead<'_>,
        criticality: Criticality,
    ) -> Result<(), Status> {
        while let Some((gate, waiting)) = self.waiting.take() {
            let turn = in_time(waiting).await.map_err(Refused::from);
            if let Some(rule) = self.rules.get(self.next) {
                turn.map_err(|refused| rule.refuse(call, &gate, &refused))?;
            }
            self.permits.push(gate.permit());
            self.next += 1;
            self.proceed(call, criticality)?;
        }
        Ok(())
    }
}

async fn in_time(mut waiting: Waiting) -> Result<(), super::Reason> {
    let until = waiting.until();
    match wait_until(&mut waiting, Some(until)).await {
        Some(turn) => turn,
        None => waiting.give_up(),
    }
}
