//! A transport of one's own: three small traits, implemented outside Dovetail.
//!
//! | trait | what it stands for | here |
//! |---|---|---|
//! | [`Stream`](dovetail::transport::Stream) | a connection | passes bytes on in pieces, until it is lost |
//! | [`Connector`](dovetail::transport::Connector) | how a client connects | wraps each new connection |
//! | [`Listener`](dovetail::transport::Listener) | how a server is connected to | the same |
//!
//! The one in [`faults`] carries nothing itself; it wraps any other transport and damages it, so
//! that a program can test what it does when the network fails. A client takes it with
//! `Channel::through`, a server with `Server::listener`; `main.rs` does both.

pub mod faults;

/// The contract `account.thrift` in Rust.
#[allow(missing_docs)]
pub mod contract {
    dovetail::include_contract!("account");

    pub use account::*;
}

use contract::{Account, Overdrawn, WithdrawError};
use dovetail::{Context, Status};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An account of one's own. It knows nothing of the transport.
#[derive(Debug, Default)]
pub struct Book(Mutex<Page>);

#[derive(Debug, Default)]
struct Page {
    cents: i64,
    notes: Vec<String>,
}

impl Book {
    fn page(&self) -> MutexGuard<'_, Page> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Account for Book {
    async fn deposit(&self, _: Context, cents: i64) -> Result<i64, Status> {
        let mut page = self.page();
        page.cents = page.cents.saturating_add(cents);
        Ok(page.cents)
    }

    async fn withdraw(&self, _: Context, cents: i64) -> Result<i64, WithdrawError> {
        let mut page = self.page();
        let left = page.cents.saturating_sub(cents);
        if left < 0 {
            return Err(Overdrawn {
                missing: left.saturating_neg(),
                message: format!("there are only {} cents", page.cents),
                ..Default::default()
            }
            .into());
        }
        page.cents = left;
        Ok(left)
    }

    async fn balance(&self, _: Context) -> Result<i64, Status> {
        Ok(self.page().cents)
    }

    async fn note(&self, _: Context, text: String) -> Result<(), Status> {
        self.page().notes.push(text);
        Ok(())
    }

    async fn notes(&self, _: Context) -> Result<Vec<String>, Status> {
        Ok(self.page().notes.clone())
    }
}
