//! A plugin and its host, which are the same program here:
//!
//! ```text
//! cargo run -p example-plugin -- host "some text"     # starts the plugin and asks it
//! cargo run -p example-plugin -- plugin               # what the host starts: serves on its stdin and stdout
//! ```
//!
//! Any Thrift client that can speak over pipes may be the host. The plugin is found by no port and
//! no path, its life ends with its host's, and a plugin that crashes takes nothing along: the next
//! call starts another.

use dovetail::blocking::Channel;
use dovetail::server::Model;
use dovetail::transport::Program;
use dovetail::{Context, Server, Status};
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

#[allow(dead_code, missing_docs, unreachable_pub)]
mod contract {
    dovetail::include_contract!("filter");
}

use contract::filter::{ApplyError, Filter, FilterBlockingClient, FilterServer, Refused};

struct Shouting;

impl Filter for Shouting {
    async fn apply(&self, _: Context, text: String) -> Result<String, ApplyError> {
        if text.is_empty() {
            // Output of a plugin does no harm to the conversation: it goes to standard error.
            println!("there was nothing to filter");
            return Err(ApplyError::from(Refused {
                why: "there is no text".to_owned(),
                ..Refused::default()
            }));
        }
        Ok(text.to_uppercase())
    }

    async fn process(&self, _: Context) -> Result<i32, Status> {
        Ok(std::process::id().cast_signed())
    }

    async fn crash(&self, _: Context) -> Result<(), Status> {
        std::process::abort()
    }
}

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
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["host", text] => host(text),
        ["plugin"] => plugin(),
        _ => Err("usage: example-plugin host TEXT, or example-plugin plugin".into()),
    }
}

fn host(text: &str) -> Result<(), Box<dyn Error>> {
    let program = Program::new(std::env::current_exe()?).arg("plugin");
    let filter = FilterBlockingClient::from(Channel::through(Arc::new(program)).build());
    println!("{}", filter.apply(text)?);
    Ok(())
}

fn plugin() -> Result<(), Box<dyn Error>> {
    let server = Server::new().service(FilterServer::new(Shouting));
    Ok(server.model(Model::ThreadPerConnection).serve_stdio()?)
}
