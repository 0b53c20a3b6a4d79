//! The handlers of the server.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use thrift::OrderedFloat;

use crate::interop::{
    BaseSyncHandler, Choice, Colour, Containers, Empty, Everything, InteropSyncHandler, Keyed, Nested,
    NotFound, Older, Presence, Refused, SecondSyncHandler, Ticket, Token, Tree, Wide, ANSWER,
};
use crate::shared::shared::Origin;
use crate::values::{self, Book};

#[derive(Default)]
pub struct Handler {
    notified: Mutex<BTreeSet<i64>>,
}

impl BaseSyncHandler for Handler {
    fn handle_ping(&self) -> thrift::Result<()> {
        Ok(())
    }

    fn handle_whoami(&self) -> thrift::Result<String> {
        Ok("rust".into())
    }
}

macro_rules! echo {
    ($($name:ident: $kind:ty),* $(,)?) => {
        $(fn $name(&self, value: $kind) -> thrift::Result<$kind> {
            Ok(value)
        })*
    };
}

macro_rules! known {
    ($($name:ident: $kind:ty = $value:ident),* $(,)?) => {
        $(fn $name(&self) -> thrift::Result<$kind> {
            Ok(values::$value())
        })*
    };
}

impl InteropSyncHandler for Handler {
    echo! {
        handle_echo_bool: bool,
        handle_echo_byte: i8,
        handle_echo_i16: i16,
        handle_echo_i32: i32,
        handle_echo_i64: i64,
        handle_echo_double: OrderedFloat<f64>,
        handle_echo_string: String,
        handle_echo_binary: Vec<u8>,
        handle_echo_enum: Colour,
        handle_echo_typedef: Ticket,
        handle_echo_empty: Empty,
        handle_echo_everything: Everything,
        handle_echo_presence: Presence,
        handle_echo_containers: Containers,
        handle_echo_nested: Nested,
        handle_echo_keyed: Keyed,
        handle_echo_tree: Tree,
        handle_echo_choice: Choice,
        handle_echo_wide: Wide,
        handle_echo_included: Origin,
        handle_echo_bools: Vec<bool>,
        handle_echo_list: Vec<Everything>,
        handle_echo_map: Book,
        handle_echo_evolving: Older,
    }

    known! {
        handle_known_bools: Vec<bool> = bools,
        handle_known_bytes: Vec<i8> = bytes,
        handle_known_i16s: Vec<i16> = i16s,
        handle_known_i32s: Vec<i32> = i32s,
        handle_known_i64s: Vec<i64> = i64s,
        handle_known_doubles: Vec<OrderedFloat<f64>> = doubles,
        handle_known_special_doubles: Vec<OrderedFloat<f64>> = special_doubles,
        handle_known_strings: Vec<String> = strings,
        handle_known_special_strings: Vec<String> = special_strings,
        handle_known_binaries: Vec<Vec<u8>> = binaries,
        handle_known_everythings: Vec<Everything> = everythings,
        handle_known_containers: Vec<Containers> = containers,
        handle_known_nested: Nested = nested,
        handle_known_wide: Wide = wide,
        handle_known_choices: Vec<Choice> = choices,
        handle_known_presence: Presence = presence_least,
    }

    fn handle_join(&self, first: i32, second: String, third: i64, fourth: String) -> thrift::Result<String> {
        Ok(format!("{first},{second},{third},{fourth}"))
    }

    fn handle_may_fail(&self, how: String) -> thrift::Result<i32> {
        match how.as_str() {
            "not_found" => Err(NotFound::new("it".to_owned(), 3).into()),
            "refused" => Err(Refused::new("no".to_owned(), values::origin()).into()),
            "internal" => Err("undeclared failure".into()),
            _ => Ok(ANSWER),
        }
    }

    fn handle_may_fail_void(&self, fails: bool) -> thrift::Result<()> {
        if fails {
            return Err(NotFound::new("nothing".to_owned(), 0).into());
        }
        Ok(())
    }

    fn handle_notify(&self, token: Token) -> thrift::Result<()> {
        self.notified.lock().unwrap().insert(token);
        Ok(())
    }

    fn handle_was_notified(&self, token: Token) -> thrift::Result<bool> {
        Ok(self.notified.lock().unwrap().contains(&token))
    }

    fn handle_slow(&self, milliseconds: i32) -> thrift::Result<i32> {
        std::thread::sleep(Duration::from_millis(milliseconds as u64));
        Ok(milliseconds)
    }

    fn handle_make_bytes(&self, count: i32) -> thrift::Result<Vec<u8>> {
        Ok(values::pattern(count as usize))
    }
}

pub struct Second;

impl SecondSyncHandler for Second {
    fn handle_greet(&self, name: String) -> thrift::Result<String> {
        Ok(format!("hello, {name}"))
    }

    fn handle_echo_i32(&self, value: i32) -> thrift::Result<i32> {
        Ok(value + 1000)
    }
}
