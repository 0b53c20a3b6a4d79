//! Services.

use super::{Parsed, Parser};
use crate::proto::descriptor::{Method, Service};
use crate::proto::lexer::Tok;

impl Parser<'_> {
    pub(super) fn service(&mut self, place: usize) -> Parsed<Service> {
        self.advance();
        let mut service = Service {
            name: self.part(1, |p| p.name("the name of the service"))?,
            ..Service::default()
        };
        let open = self.span();
        self.end_of(Tok::OpenBrace, "`{`", Some(place))?;
        self.block(open, |p| match p.word_ahead(0) {
            Some("option") => p.option_statement(3),
            Some("rpc") => {
                let index = service.methods.len() as i32;
                let method = p.located(&[2, index], Self::method)?;
                service.methods.push(method);
                Ok(())
            }
            Some("stream") => {
                Err(p.unexpected("`rpc`", "write `rpc Name(stream In) returns (stream Out);`"))
            }
            _ => Err(p.unexpected("`rpc`", "methods are written `rpc Name(In) returns (Out);`")),
        })?;
        Ok(service)
    }

    fn method(&mut self, place: usize) -> Parsed<Method> {
        self.advance();
        let name = self.part(1, |p| p.name("the name of the method"))?;
        let (client_streaming, input) =
            self.direction(5, 2, "the message that the caller sends")?;
        self.expect_word("returns")?;
        let (server_streaming, output) =
            self.direction(6, 3, "the message that the server sends")?;
        let has_block = self.tok() == Tok::OpenBrace;
        match self.tok() {
            Tok::OpenBrace => {
                let open = self.span();
                self.end_of(Tok::OpenBrace, "`{`", Some(place))?;
                self.block(open, |p| match p.is_word("option") {
                    true => p.option_statement(4),
                    false => {
                        Err(p.unexpected("`option`", "the block of a method has only options"))
                    }
                })?;
            }
            _ => self.end_of(Tok::Semicolon, "`;`", Some(place))?,
        }
        Ok(Method {
            name,
            input,
            output,
            client_streaming,
            server_streaming,
            has_block,
            ..Method::default()
        })
    }

    /// `(Name)` or `(stream Name)`.
    fn direction(&mut self, stream_tag: i32, type_tag: i32, what: &str) -> Parsed<(bool, String)> {
        self.expect(Tok::OpenParen, "`(`")?;
        // A message called so is written `.stream`.
        let stream = self.is_word("stream");
        if stream {
            self.part(stream_tag, |p| {
                p.advance();
                Ok(())
            })?;
        }
        let name = self.part(type_tag, |p| p.message_name(what))?;
        self.expect(Tok::CloseParen, "`)`")?;
        Ok((stream, name))
    }
}
