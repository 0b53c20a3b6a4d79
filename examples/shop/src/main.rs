//! A small shop, as one would run it. README.md beside it has the calls to try.
//!
//! ```text
//! cargo run -p example-shop                    # with shop.toml beside this folder
//! cargo run -p example-shop -- other.toml
//! ```

mod access_log;
mod carts;
mod certificate;
mod orders;

use access_log::AccessLog;
use carts::Carts;
use contract::shop::{Basket, CartServer, OrdersServer};
use dovetail::Server;
use dovetail::admin::Admin;
use dovetail::config::Config;
use dovetail::reflection::Reflection;
use dovetail::sessions::Sessions;
use orders::Shop;
use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

#[allow(dead_code, missing_docs, unreachable_pub)]
mod contract {
    dovetail::include_contract!("shop");
}

/// The contract for gRPC's reflection.
const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/shop.descriptors"));

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let file = env::args().nth(1);
    let file = file.map_or_else(|| here.join("shop.toml"), PathBuf::from);
    certificate::make(&here.join("../../target/shop"))?;

    let config = Config::load(file)?.interceptor("access-log", AccessLog);
    config.install_log()?;
    let admin = Admin::new();
    let shop = Shop::default();
    let carts = config.sessions("carts", Sessions::builder(|_| Ok(Basket::default())))?;
    let running = Server::from_config(&config)?
        .service(OrdersServer::new(shop.clone()))
        .service(CartServer::new(Carts::new(shop, carts.clone())))
        .sessions("shop.Cart", &carts)
        .administered(&admin)
        .reflection(&Reflection::of(DESCRIPTORS)?)
        .start()?;
    let console = match Server::admin_from_config(&config, &admin)? {
        Some(console) => Some(console.start()?),
        None => None,
    };
    // Tokens, roles and certificates can change while it runs.
    let watch = config.watch()?;
    for address in running.addresses() {
        println!("listening on {address}");
    }
    for address in console.iter().flat_map(|console| console.addresses()) {
        println!("administration on {address}");
    }
    let drain = admin.wait_for_drain();
    running.shutdown(drain);
    drop(watch);
    Ok(())
}
