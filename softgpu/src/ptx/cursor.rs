//! A place in a list of tokens, and the small steps from there.

use super::PtxError;
use super::lexer::{Tok, Token};

pub(crate) struct Cursor<'t, 'a> {
    tokens: &'t [Token<'a>],
    at: usize,
}

impl<'t, 'a> Cursor<'t, 'a> {
    /// `tokens` ends with [`Tok::End`], which is never passed.
    pub(crate) fn new(tokens: &'t [Token<'a>]) -> Self {
        Self { tokens, at: 0 }
    }

    pub(crate) fn peek(&self) -> Token<'a> {
        self.peek_at(0)
    }

    pub(crate) fn peek_at(&self, ahead: usize) -> Token<'a> {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    pub(crate) fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    pub(crate) fn ended(&self) -> bool {
        self.peek().tok == Tok::End
    }

    pub(crate) fn is(&self, punct: u8) -> bool {
        self.peek().tok == Tok::Punct(punct)
    }

    pub(crate) fn accept(&mut self, punct: u8) -> bool {
        let found = self.is(punct);
        if found {
            self.next();
        }
        found
    }

    pub(crate) fn expect(&mut self, punct: u8) -> Result<Token<'a>, PtxError> {
        let token = self.peek();
        if !self.is(punct) {
            return Err(token.error(format!("expected `{}`", punct as char)));
        }
        Ok(self.next())
    }

    /// Takes `.word` if it comes next.
    pub(crate) fn accept_dot(&mut self, word: &str) -> bool {
        let found = self.peek().tok == Tok::Dot(word);
        if found {
            self.next();
        }
        found
    }

    pub(crate) fn word(&mut self, what: &str) -> Result<Token<'a>, PtxError> {
        let token = self.peek();
        match token.tok {
            Tok::Word(_) => Ok(self.next()),
            _ => Err(token.error(format!("expected {what}"))),
        }
    }

    pub(crate) fn int(&mut self, what: &str) -> Result<u64, PtxError> {
        let token = self.peek();
        match token.tok {
            Tok::Int(value) => {
                self.next();
                Ok(value)
            }
            _ => Err(token.error(format!("expected {what}"))),
        }
    }

    /// Skips what is left of the line that `token` stands on.
    pub(crate) fn skip_line(&mut self, token: Token<'a>) {
        while !self.ended() && self.peek().pos.line == token.pos.line {
            self.next();
        }
    }
}
