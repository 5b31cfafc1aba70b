//! Text to tokens.

use super::PtxError;

/// Where a token begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Pos {
    pub line: u32,
    pub column: u32,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tok<'a> {
    /// An identifier, `%` and `$` included.
    Word(&'a str),
    /// `.name`, without the dot.
    Dot(&'a str),
    Int(u64),
    /// `0f3F800000`
    Single(u32),
    /// `0d…` or a decimal with a point or an exponent.
    Double(f64),
    Str,
    Punct(u8),
    End,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub tok: Tok<'a>,
    pub text: &'a str,
    pub pos: Pos,
    /// Whether it follows the token before it without a blank, as `.x` does in `%tid.x`.
    pub glued: bool,
}

impl Token<'_> {
    pub(crate) fn error(&self, message: impl Into<String>) -> PtxError {
        PtxError {
            line: self.pos.line,
            column: self.pos.column,
            token: if self.tok == Tok::End { "end of text".into() } else { shorten(self.text) },
            message: message.into(),
        }
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: u32,
    line_start: usize,
}

/// Splits a text; the last token is always [`Tok::End`].
pub(crate) fn lex(text: &str) -> Result<Vec<Token<'_>>, PtxError> {
    // Drivers get texts with their terminating zero.
    let text = text.trim_end_matches('\0');
    let mut lexer = Lexer { text, bytes: text.as_bytes(), at: 0, line: 1, line_start: 0 };
    let mut tokens = Vec::with_capacity(text.len() / 4);
    loop {
        let before = lexer.at;
        lexer.skip_blank()?;
        let token = lexer.token(lexer.at == before)?;
        tokens.push(token);
        if token.tok == Tok::End {
            return Ok(tokens);
        }
    }
}

impl<'a> Lexer<'a> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn pos(&self) -> Pos {
        Pos { line: self.line, column: (self.at - self.line_start + 1) as u32 }
    }

    fn newline(&mut self) {
        self.line += 1;
        self.line_start = self.at + 1;
    }

    fn error(&self, from: usize, pos: Pos, message: &str) -> PtxError {
        let text = self.text.get(from..self.at.max(from + 1).min(self.text.len())).unwrap_or("?");
        Token { tok: Tok::Str, text, pos, glued: false }.error(message)
    }

    fn skip_blank(&mut self) -> Result<(), PtxError> {
        while self.at < self.bytes.len() {
            match self.peek(0) {
                b'\n' => self.newline(),
                b' ' | b'\t' | b'\r' => {}
                b'/' if self.peek(1) == b'/' => {
                    while self.at < self.bytes.len() && self.peek(0) != b'\n' {
                        self.at += 1;
                    }
                    continue;
                }
                b'/' if self.peek(1) == b'*' => {
                    let (from, pos) = (self.at, self.pos());
                    self.at += 2;
                    while !(self.peek(0) == b'*' && self.peek(1) == b'/') {
                        if self.at >= self.bytes.len() {
                            self.at = from + 2;
                            return Err(self.error(from, pos, "comment never ends"));
                        }
                        if self.peek(0) == b'\n' {
                            self.newline();
                        }
                        self.at += 1;
                    }
                    self.at += 1;
                }
                _ => break,
            }
            self.at += 1;
        }
        Ok(())
    }

    fn token(&mut self, glued: bool) -> Result<Token<'a>, PtxError> {
        let (from, pos) = (self.at, self.pos());
        let tok = match self.peek(0) {
            _ if self.at >= self.bytes.len() => Tok::End,
            b'0'..=b'9' => self.number(from, pos)?,
            b'"' => self.string(from, pos)?,
            b'.' if is_word(self.peek(1)) => {
                self.at += 1;
                self.word();
                // `.shared::cta`, `.L2::128B`
                while self.peek(0) == b':' && self.peek(1) == b':' && is_word(self.peek(2)) {
                    self.at += 2;
                    self.word();
                }
                Tok::Dot(&self.text[from + 1..self.at])
            }
            c if is_word(c) || c == b'%' => {
                self.at += 1;
                self.word();
                Tok::Word(&self.text[from..self.at])
            }
            c if c.is_ascii_graphic() => {
                self.at += 1;
                Tok::Punct(c)
            }
            _ => {
                // Step over a whole character so that the message can show it.
                self.at += self.text[from..].chars().next().map_or(1, char::len_utf8);
                return Err(self.error(from, pos, "unexpected character"));
            }
        };
        Ok(Token { tok, text: &self.text[from..self.at], pos, glued })
    }

    fn word(&mut self) {
        while is_word(self.peek(0)) {
            self.at += 1;
        }
    }

    fn string(&mut self, from: usize, pos: Pos) -> Result<Tok<'a>, PtxError> {
        self.at += 1;
        loop {
            match self.peek(0) {
                b'"' => break,
                b'\\' => self.at += 1,
                b'\n' => return Err(self.error(from, pos, "string never ends")),
                _ => {}
            }
            self.at += 1;
            if self.at >= self.bytes.len() {
                self.at = self.bytes.len();
                return Err(self.error(from, pos, "string never ends"));
            }
        }
        self.at += 1;
        Ok(Tok::Str)
    }

    fn number(&mut self, from: usize, pos: Pos) -> Result<Tok<'a>, PtxError> {
        self.word();
        let bad = |me: &Self| me.error(from, pos, "malformed number");
        let text = &self.text[from..self.at];
        match text.as_bytes().get(1).map(u8::to_ascii_lowercase) {
            Some(b'f') if text.starts_with('0') && text.len() == 10 => {
                return u32::from_str_radix(&text[2..], 16).map(Tok::Single).map_err(|_| bad(self));
            }
            Some(b'd') if text.starts_with('0') && text.len() == 18 => {
                let bits = u64::from_str_radix(&text[2..], 16).map_err(|_| bad(self))?;
                return Ok(Tok::Double(f64::from_bits(bits)));
            }
            _ => {}
        }
        let point = self.peek(0) == b'.' && self.peek(1).is_ascii_digit();
        if point {
            self.at += 1;
            self.word();
        }
        let hex = text.starts_with("0x") || text.starts_with("0X");
        if matches!(self.peek(0), b'+' | b'-') && !hex && self.text[from..self.at].ends_with(['e', 'E']) {
            self.at += 1;
            self.word();
        }
        let text = &self.text[from..self.at];
        if point || (!hex && text.contains(['e', 'E'])) {
            return text.parse().map(Tok::Double).map_err(|_| bad(self));
        }
        let digits = text.trim_end_matches('U');
        let (digits, radix) = match digits.as_bytes() {
            [b'0', b'x' | b'X', ..] => (&digits[2..], 16),
            [b'0', b'b' | b'B', ..] => (&digits[2..], 2),
            [b'0', _, ..] => (&digits[1..], 8),
            _ => (digits, 10),
        };
        u64::from_str_radix(digits, radix).map(Tok::Int).map_err(|_| bad(self))
    }
}

fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'_' || c == b'$'
}
