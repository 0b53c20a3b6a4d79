//! The cases of neovim.thrift: Neovim as the callee, the methods that it calls back, and as much of
//! an editor as our own client needs.

use crate::case::{Case, Failure, Outcome, case, check, fail, pass};
use crate::connector::{Connector, Kind, ask};
use crate::neovim::{Editor, EditorClient, Host, HostServer, MoveError, Point, Refused};
use dovetail::types::Dynamic;
use dovetail::{Code, Context, Server, Status};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

fn text(text: &str) -> Dynamic {
    Dynamic::from(text)
}

/// The values that variables are set to.
fn values() -> Vec<Dynamic> {
    let list = Dynamic::from_iter([Dynamic::from(1), text("two"), Dynamic::from(2.5)]);
    vec![
        Dynamic::from(true),
        Dynamic::from(0),
        Dynamic::from(-1),
        Dynamic::from(i64::MAX),
        Dynamic::from(i64::MIN),
        Dynamic::from(-0.25),
        text(""),
        text("Grüße, 世界 🚀"),
        Dynamic::NULL,
        Dynamic::from_iter([("one", Dynamic::from(1)), ("more", list.clone())]),
        list,
    ]
}

fn strwidth(connector: &Connector) -> Outcome {
    let editor = connector.editor()?;
    for number in 0..300 {
        let text = "ü".repeat(number);
        check(&ask!(editor.nvim_strwidth(&text))?, &(number as i64))?;
    }
    pass()
}

fn variables(connector: &Connector) -> Outcome {
    let editor = connector.editor()?;
    for value in values() {
        ask!(editor.nvim_set_var("dovetail", &value))?;
        check(&ask!(editor.nvim_get_var("dovetail"))?, &value)?;
    }
    pass()
}

fn lines(connector: &Connector) -> Outcome {
    let editor = connector.editor()?;
    let lines: Vec<String> = (0..1000).map(|number| format!("line {number}")).collect();
    ask!(editor.nvim_buf_set_lines(0, 0, -1, true, &lines))?;
    check(&ask!(editor.nvim_buf_get_lines(0, 0, -1, true))?, &lines)?;
    pass()
}

fn refused<T>(result: Result<T, Status>) -> Result<Status, Failure> {
    let status = result.err();
    status.ok_or_else(|| Failure::Fail("it did not fail".to_owned()))
}

fn missing(connector: &Connector) -> Outcome {
    let editor = connector.editor()?;
    let status = refused(ask!(editor.nvim_get_var("no_such_variable")))?;
    check(&ask!(editor.nvim_strwidth("on"))?, &2)?;
    Ok(status.to_string())
}

fn unknown_method(connector: &Connector) -> Outcome {
    let editor = connector.editor()?;
    let status = refused(ask!(editor.nvim_not_yet()))?;
    match status.code() {
        Code::Unimplemented => Ok(status.to_string()),
        _ => fail(status.to_string()),
    }
}

fn notification(connector: &Connector) -> Outcome {
    let editor = connector.editor()?;
    ask!(editor.nvim_set_var("doomed", &text("x")))?;
    ask!(editor.nvim_del_var("doomed"))?;
    for _ in 0..100 {
        if ask!(editor.nvim_get_var("doomed")).is_err() {
            return pass();
        }
        thread::sleep(Duration::from_millis(20));
    }
    fail("the notification never arrived")
}

/// Neovim calls its caller while that waits for it.
fn called_back(connector: &Connector) -> Outcome {
    let Kind::Async(runtime) = &connector.kind else {
        return Err(Failure::Skip("only the async client can be called back"));
    };
    let services = Server::new().service(HostServer::new(Handler::default()));
    let channel = connector.builder()?;
    let editor = EditorClient::from(channel.serve(services).build());
    runtime.block_on(async {
        let info = editor.nvim_get_api_info().await?;
        let number = info.first().cloned().unwrap_or_default();
        let code = "local number, name = ...; return vim.rpcrequest(number, 'greet', name)";
        match editor.nvim_exec_lua(code, &[number, text("you")]).await {
            Ok(answer) => check(&answer, &text("hello, you"))?,
            Err(status) if status.code() == Code::Unimplemented => {
                return Err(Failure::Skip("this editor runs no Lua"));
            }
            Err(status) => return Err(status.into()),
        }
        pass()
    })
}

pub(crate) fn all() -> Vec<Case> {
    vec![
        case("strwidth", strwidth),
        case("variables", variables),
        case("lines", lines),
        case("missing", missing),
        case("unknown_method", unknown_method),
        case("notification", notification),
        case("called_back", called_back),
    ]
}

/// Handles the calls of Neovim, and has the editor.
#[derive(Default)]
pub(crate) struct Handler(Mutex<State>);

#[derive(Default)]
struct State {
    noted: BTreeSet<i64>,
    variables: BTreeMap<String, Dynamic>,
    lines: Vec<String>,
}

impl Handler {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host for Handler {
    async fn greet(&self, _: Context, name: String) -> Result<String, Status> {
        Ok(format!("hello, {name}"))
    }

    async fn echo(&self, _: Context, value: Dynamic) -> Result<Dynamic, Status> {
        Ok(value)
    }

    async fn r#move(&self, _: Context, mut point: Point, by: i32) -> Result<Point, MoveError> {
        if by == 0 {
            let reason = "it stays where it is".to_owned();
            return Err(Refused {
                reason,
                ..Refused::default()
            }
            .into());
        }
        point.x += by;
        point.y += by;
        Ok(point)
    }

    async fn note(&self, _: Context, token: i64) -> Result<(), Status> {
        self.lock().noted.insert(token);
        Ok(())
    }

    async fn was_noted(&self, _: Context, token: i64) -> Result<bool, Status> {
        Ok(self.lock().noted.contains(&token))
    }
}

impl Editor for Handler {
    async fn nvim_strwidth(&self, _: Context, text: String) -> Result<i64, Status> {
        Ok(text.chars().count() as i64)
    }

    async fn nvim_set_var(&self, _: Context, name: String, value: Dynamic) -> Result<(), Status> {
        self.lock().variables.insert(name, value);
        Ok(())
    }

    async fn nvim_get_var(&self, _: Context, name: String) -> Result<Dynamic, Status> {
        let value = self.lock().variables.get(&name).cloned();
        value.ok_or_else(|| Status::new(Code::NotFound, format!("Key not found: {name}")))
    }

    async fn nvim_del_var(&self, _: Context, name: String) -> Result<(), Status> {
        self.lock().variables.remove(&name);
        Ok(())
    }

    async fn nvim_buf_set_lines(
        &self,
        _: Context,
        _: i64,
        _: i64,
        _: i64,
        _: bool,
        lines: Vec<String>,
    ) -> Result<(), Status> {
        self.lock().lines = lines;
        Ok(())
    }

    async fn nvim_buf_get_lines(
        &self,
        _: Context,
        _: i64,
        _: i64,
        _: i64,
        _: bool,
    ) -> Result<Vec<String>, Status> {
        Ok(self.lock().lines.clone())
    }

    async fn nvim_get_api_info(&self, _: Context) -> Result<Vec<Dynamic>, Status> {
        Ok(Vec::new())
    }

    async fn nvim_exec_lua(
        &self,
        _: Context,
        _: String,
        _: Vec<Dynamic>,
    ) -> Result<Dynamic, Status> {
        Err(Status::new(Code::Unimplemented, "there is no Lua here"))
    }

    async fn nvim_not_yet(&self, _: Context) -> Result<(), Status> {
        Err(Status::new(Code::Unimplemented, "not yet"))
    }
}
