//! An encoding of one's own. Three steps, none of them inside Dovetail:
//!
//! 1. [`codec`] turns values into CBOR and back. The types know nothing of it: each has one
//!    description of itself, which walks past any [`Writer`](dovetail::encoding::Writer) and any
//!    [`Reader`](dovetail::encoding::Reader).
//! 2. [`protocol`] says how a message begins, so that a server can tell it from all others.
//! 3. `Server::protocol(&CborProtocol)` adds it to a server, beside all the wires that are built
//!    in, and `Channel::builder(…)?.wire(WIRE)` chooses it for a client. `main.rs` does both.

pub mod codec;
pub mod protocol;

/// The contract `library.thrift` in Rust.
#[allow(missing_docs)]
pub mod contract {
    dovetail::include_contract!("library");

    pub use library::*;
}

use contract::{Book, FindError, Library, NotHere};
use dovetail::{Context, Status};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Answers the library's calls, over whatever wire they come.
#[derive(Debug, Default)]
pub struct Librarian {
    books: Mutex<BTreeMap<String, Book>>,
    reservations: Mutex<BTreeMap<String, i32>>,
}

impl Library for Librarian {
    async fn find(&self, _: Context, title: String) -> Result<Book, FindError> {
        let found = lock(&self.books).get(&title).cloned();
        found.ok_or_else(|| {
            NotHere {
                message: format!("nobody has given us {title} yet"),
                title,
                ..Default::default()
            }
            .into()
        })
    }

    async fn give(&self, _: Context, book: Book) -> Result<i32, Status> {
        let mut books = lock(&self.books);
        books.insert(book.title.clone(), book);
        Ok(books.len().try_into().unwrap_or(i32::MAX))
    }

    async fn reserve(&self, _: Context, title: String) -> Result<(), Status> {
        *lock(&self.reservations).entry(title).or_default() += 1;
        Ok(())
    }

    async fn waiting(&self, _: Context, title: String) -> Result<i32, Status> {
        Ok(lock(&self.reservations).get(&title).copied().unwrap_or(0))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A book with something in every field, for programs and tests that need one.
pub fn walden() -> Book {
    Book {
        title: "Walden".to_owned(),
        authors: vec!["Henry David Thoreau".to_owned()],
        year: Some(1854),
        copies: [7, 1 << 40].into(),
        ratings: [("Ralph".to_owned(), 4.5)].into(),
        cover: vec![0x89, b'P', b'N', b'G'].into(),
        edition: dovetail::types::Uuid::from_u128(0x9780_1404_3944_9000_0000_0000_0000_0001),
        lent: true,
        parts: vec![Book {
            title: "Civil Disobedience".to_owned(),
            year: Some(1849),
            ..Default::default()
        }],
        ..Default::default()
    }
}
