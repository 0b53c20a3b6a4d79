//! The handlers of the server.

use crate::interop::{
    ANSWER, Base, Choice, Colour, Containers, Empty, Everything, Interop, Keyed, MayFailError,
    MayFailVoidError, Nested, NotFound, Older, Presence, Refused, Tree, Wide,
};
use crate::shared::Origin;
use crate::values::{self, Book};
use dovetail::types::Bytes;
use dovetail::{Code, Context, Status};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

#[derive(Default)]
pub(crate) struct Handler {
    notified: Mutex<BTreeSet<i64>>,
}

impl Base for Handler {
    async fn ping(&self, _: Context) -> Result<(), Status> {
        Ok(())
    }

    async fn whoami(&self, _: Context) -> Result<String, Status> {
        Ok("dovetail".to_owned())
    }
}

macro_rules! echo {
    ($($name:ident: $kind:ty),* $(,)?) => {
        $(async fn $name(&self, _: Context, value: $kind) -> Result<$kind, Status> {
            Ok(value)
        })*
    };
}

macro_rules! known {
    ($($name:ident: $kind:ty = $value:ident),* $(,)?) => {
        $(async fn $name(&self, _: Context) -> Result<$kind, Status> {
            Ok(values::$value())
        })*
    };
}

impl Interop for Handler {
    echo! {
        echo_bool: bool,
        echo_byte: i8,
        echo_i16: i16,
        echo_i32: i32,
        echo_i64: i64,
        echo_double: f64,
        echo_string: String,
        echo_binary: Bytes,
        echo_enum: Colour,
        echo_typedef: i64,
        echo_empty: Empty,
        echo_everything: Everything,
        echo_presence: Presence,
        echo_containers: Containers,
        echo_nested: Nested,
        echo_keyed: Keyed,
        echo_tree: Tree,
        echo_choice: Choice,
        echo_wide: Wide,
        echo_included: Origin,
        echo_bools: Vec<bool>,
        echo_list: Vec<Everything>,
        echo_map: Book,
    }

    known! {
        known_bools: Vec<bool> = bools,
        known_bytes: Vec<i8> = bytes,
        known_i16s: Vec<i16> = i16s,
        known_i32s: Vec<i32> = i32s,
        known_i64s: Vec<i64> = i64s,
        known_doubles: Vec<f64> = doubles,
        known_special_doubles: Vec<f64> = special_doubles,
        known_strings: Vec<String> = strings,
        known_special_strings: Vec<String> = special_strings,
        known_binaries: Vec<Bytes> = binaries,
        known_everythings: Vec<Everything> = everythings,
        known_containers: Vec<Containers> = containers,
        known_nested: Nested = nested,
        known_wide: Wide = wide,
        known_choices: Vec<Choice> = choices,
        known_presence: Presence = presence_least,
    }

    /// The peers' case for an older program wants it to forget what it does not know, as theirs do.
    async fn echo_evolving(&self, _: Context, value: Older) -> Result<Older, Status> {
        Ok(Older {
            first: value.first,
            last: value.last,
            ..Older::default()
        })
    }

    async fn join(
        &self,
        _: Context,
        first: i32,
        second: String,
        third: i64,
        fourth: String,
    ) -> Result<String, Status> {
        Ok(format!("{first},{second},{third},{fourth}"))
    }

    async fn may_fail(&self, _: Context, how: String) -> Result<i32, MayFailError> {
        match how.as_str() {
            "not_found" => {
                let subject = "it".to_owned();
                Err(NotFound {
                    subject,
                    searched: 3,
                    ..NotFound::default()
                }
                .into())
            }
            "refused" => {
                let helper = Some(values::origin());
                Err(Refused {
                    reason: "no".to_owned(),
                    helper,
                    ..Refused::default()
                }
                .into())
            }
            "internal" => Err(Status::new(Code::Internal, "undeclared failure").into()),
            _ => Ok(ANSWER),
        }
    }

    async fn may_fail_void(&self, _: Context, fails: bool) -> Result<(), MayFailVoidError> {
        match fails {
            true => Err(NotFound {
                subject: "nothing".to_owned(),
                ..NotFound::default()
            }
            .into()),
            false => Ok(()),
        }
    }

    async fn notify(&self, _: Context, token: i64) -> Result<(), Status> {
        self.notified
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(token);
        Ok(())
    }

    async fn was_notified(&self, _: Context, token: i64) -> Result<bool, Status> {
        Ok(self
            .notified
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(&token))
    }

    async fn slow(&self, _: Context, milliseconds: i32) -> Result<i32, Status> {
        std::thread::sleep(Duration::from_millis(milliseconds.try_into().unwrap_or(0)));
        Ok(milliseconds)
    }

    async fn make_bytes(&self, _: Context, count: i32) -> Result<Bytes, Status> {
        Ok(values::pattern(count.try_into().unwrap_or(0)))
    }
}
