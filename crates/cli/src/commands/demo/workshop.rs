//! The contract of the demo, and the handler behind it: what a program with Dovetail looks like.

// The demo shows generated code, and does not use all of it.
#[allow(dead_code, missing_docs, unreachable_pub)]
mod contract {
    dovetail::include_contract!("demo");
}

pub(crate) use contract::workshop::{
    Board, OrderId, OutOfStock, Quote, QuoteError, Wood, Workshop, WorkshopBlockingClient,
    WorkshopClient, WorkshopServer,
};
pub(crate) use contract::workshop::{Order, Stock, StockServer};

use dovetail::{Context, Status};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The contract as it is written.
pub(crate) const CONTRACT: &str = include_str!("../../../demo/demo.thrift");

/// The contract for gRPC's reflection.
pub(crate) const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/demo.descriptors"));

/// Answers the workshop's calls.
#[derive(Clone, Default)]
pub(crate) struct Joiner {
    notes: Arc<Notes>,
}

/// The notes that have been left, for those who want to know that theirs has arrived.
#[derive(Default)]
pub(crate) struct Notes {
    texts: Mutex<Vec<String>>,
    arrived: Condvar,
}

/// The newest notes that are kept.
const MAX_NOTES: usize = 100;

impl Joiner {
    pub(crate) fn notes(&self) -> Arc<Notes> {
        self.notes.clone()
    }
}

impl Notes {
    /// Waits until a note has arrived; false if it does not.
    pub(crate) fn wait_for(&self, text: &str, longest: Duration) -> bool {
        let texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = |texts: &mut Vec<String>| !texts.iter().any(|known| known == text);
        let waited = self.arrived.wait_timeout_while(texts, longest, missing);
        waited.is_ok_and(|(_, timeout)| !timeout.timed_out())
    }

    fn add(&self, text: String) {
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if texts.len() == MAX_NOTES {
            texts.remove(0);
        }
        texts.push(text);
        self.arrived.notify_all();
    }
}

impl Stock for Joiner {
    async fn metres(&self, _: Context, wood: Wood) -> Result<i32, Status> {
        Ok(match wood {
            Wood::ASH => 40,
            Wood::OAK => 120,
            _ => 0,
        })
    }
}

impl Workshop for Joiner {
    async fn ping(&self, _: Context) -> Result<(), Status> {
        Ok(())
    }

    async fn quote(&self, _: Context, order: Order) -> Result<Quote, QuoteError> {
        if let Some(board) = order.boards.iter().find(|board| board.wood == Wood::WALNUT) {
            let message = "no walnut before spring".to_owned();
            return Err(OutOfStock {
                wood: board.wood,
                message,
                ..Default::default()
            }
            .into());
        }
        // A cent for each square centimetre, and twenty for the hand that cuts it.
        let area = |board: &Board| i64::from(board.length) * i64::from(board.width) / 100;
        Ok(Quote {
            id: order.id,
            cents: 2000 + order.boards.iter().map(area).sum::<i64>(),
            days: 3 + order.boards.len() as i32,
            ..Default::default()
        })
    }

    async fn note(&self, _: Context, text: String) -> Result<(), Status> {
        self.notes.add(text);
        Ok(())
    }
}

/// An order of one board.
pub(crate) fn order(id: OrderId, wood: Wood) -> Order {
    Order {
        id,
        customer: "Ada Lovelace".to_owned(),
        boards: vec![Board {
            length: 1200,
            width: 300,
            wood,
            ..Default::default()
        }],
        ..Default::default()
    }
}
