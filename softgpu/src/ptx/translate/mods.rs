//! The dotted words behind an instruction's name. Each must be taken by someone; what is left over is an error.

use super::super::PtxError;
use super::super::lexer::Token;
use super::super::types::Ty;

pub(super) struct Mods<'a> {
    opcode: Token<'a>,
    words: Vec<Option<&'a str>>,
    types: Vec<Ty>,
    taken: usize,
}

impl<'a> Mods<'a> {
    pub(super) fn new(opcode: Token<'a>, words: &[&'a str]) -> Self {
        let types = words.iter().filter_map(|w| Ty::named(w)).collect();
        let words = words.iter().filter(|w| Ty::named(w).is_none()).map(|w| Some(*w)).collect();
        Self { opcode, words, types, taken: 0 }
    }

    pub(super) fn take(&mut self, word: &str) -> bool {
        self.take_if(|w| w == word).is_some()
    }

    pub(super) fn take_if(&mut self, wanted: impl Fn(&str) -> bool) -> Option<&'a str> {
        self.words.iter_mut().find(|w| w.is_some_and(&wanted)).and_then(Option::take)
    }

    pub(super) fn one_of(&mut self, words: &[&str]) -> Option<&'a str> {
        self.take_if(|w| words.contains(&w))
    }

    /// Takes words that change nothing here: caching, ordering that a sequential machine keeps anyway.
    pub(super) fn ignore(&mut self, words: &[&str]) {
        while self.one_of(words).is_some() {}
    }

    /// The first word that nobody took.
    pub(super) fn first(&mut self) -> Option<&'a str> {
        self.take_if(|_| true)
    }

    /// The next type suffix.
    pub(super) fn ty(&mut self) -> Result<Ty, PtxError> {
        let ty = self.types.get(self.taken).copied();
        self.taken += 1;
        ty.ok_or_else(|| self.opcode.error("instruction lacks a type"))
    }

    pub(super) fn peek_ty(&self) -> Option<Ty> {
        self.types.get(self.taken).copied()
    }

    /// Complains of what nobody took.
    pub(super) fn finish(&self) -> Result<(), PtxError> {
        if let Some(word) = self.words.iter().flatten().next() {
            return Err(self.opcode.error(format!("unsupported modifier `.{word}`")));
        }
        if self.taken < self.types.len() {
            return Err(self.opcode.error("too many types"));
        }
        Ok(())
    }
}
