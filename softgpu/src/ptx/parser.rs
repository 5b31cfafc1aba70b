//! A module's outline: directives, variables and functions.

use super::PtxError;
use super::ast::{Formal, Function, Space, Var};
use super::cursor::Cursor;
use super::decl;
use super::lexer::{Tok, Token};
use super::stmt;

#[derive(Debug, Default)]
pub(crate) struct Outline<'a> {
    pub vars: Vec<Var<'a>>,
    pub functions: Vec<Function<'a>>,
}

/// Reads a whole module. Nothing here recurses, so no nesting can exhaust the stack.
pub(crate) fn parse<'a>(tokens: &[Token<'a>]) -> Result<Outline<'a>, PtxError> {
    let mut c = Cursor::new(tokens);
    header(&mut c)?;
    let mut out = Outline::default();
    while !c.ended() {
        item(&mut c, &mut out)?;
    }
    Ok(out)
}

fn header(c: &mut Cursor<'_, '_>) -> Result<(), PtxError> {
    let at = c.peek();
    if !c.accept_dot("version") {
        return Err(at.error("not PTX: expected `.version`"));
    }
    let at = c.next();
    match at.tok {
        Tok::Double(version) if (1.0..10.0).contains(&version) => {}
        _ => return Err(at.error("unsupported PTX version; 1.0 to 9.x are read")),
    }
    let at = c.peek();
    if !c.accept_dot("target") {
        return Err(at.error("expected `.target`"));
    }
    loop {
        c.word("a target such as `sm_52`")?;
        if !c.accept(b',') {
            break;
        }
    }
    if c.accept_dot("address_size") {
        let at = c.peek();
        if c.int("64")? != 64 {
            return Err(at.error("only `.address_size 64` is supported"));
        }
    }
    Ok(())
}

fn item<'a>(c: &mut Cursor<'_, 'a>, out: &mut Outline<'a>) -> Result<(), PtxError> {
    let mut external = false;
    loop {
        let token = c.next();
        let Tok::Dot(word) = token.tok else {
            return Err(token.error("expected a directive such as `.entry` or `.global`"));
        };
        match word {
            "visible" | "weak" | "common" => {}
            "extern" => external = true,
            "entry" | "func" => {
                let function = function(c, word == "entry")?;
                out.functions.push(function);
                return Ok(());
            }
            "file" | "loc" => {
                c.skip_line(token);
                return Ok(());
            }
            "section" => return section(c),
            "pragma" => return pragma(c),
            "attribute" => {
                c.expect(b'(')?;
                while !c.accept(b')') {
                    if c.ended() {
                        return Err(c.peek().error("expected `)`"));
                    }
                    c.next();
                }
            }
            _ => match decl::space_named(word) {
                Some(Space::Param) | None => return Err(token.error("unknown directive")),
                Some(space) => {
                    return decl::variables(c, space, external, &mut out.vars);
                }
            },
        }
    }
}

/// Debug data: skipped to its closing brace.
pub(crate) fn section(c: &mut Cursor<'_, '_>) -> Result<(), PtxError> {
    while !c.is(b'{') {
        if c.ended() {
            return Err(c.peek().error("expected `{`"));
        }
        c.next();
    }
    while !c.accept(b'}') {
        if c.ended() {
            return Err(c.peek().error("expected `}`"));
        }
        c.next();
    }
    Ok(())
}

pub(crate) fn pragma(c: &mut Cursor<'_, '_>) -> Result<(), PtxError> {
    loop {
        let token = c.next();
        if token.tok != Tok::Str {
            return Err(token.error("expected a string"));
        }
        if !c.accept(b',') {
            break;
        }
    }
    c.expect(b';')?;
    Ok(())
}

fn formals<'a>(c: &mut Cursor<'_, 'a>) -> Result<Vec<Formal<'a>>, PtxError> {
    let mut list = Vec::new();
    if !c.accept(b'(') || c.accept(b')') {
        return Ok(list);
    }
    loop {
        list.push(decl::formal(c)?);
        if !c.accept(b',') {
            break;
        }
    }
    c.expect(b')')?;
    Ok(list)
}

fn function<'a>(c: &mut Cursor<'_, 'a>, entry: bool) -> Result<Function<'a>, PtxError> {
    c.accept_dot("noreturn");
    let results = formals(c)?;
    let name = c.word("the name of a function")?;
    let params = formals(c)?;
    let mut function =
        Function { name, entry, results, params, max_threads: None, body: None, end: name.pos };
    if entry && !function.results.is_empty() {
        return Err(name.error("an entry returns nothing"));
    }
    loop {
        let token = c.peek();
        match token.tok {
            Tok::Punct(b';') if !entry => {
                c.next();
                return Ok(function);
            }
            Tok::Punct(b'{') => {
                c.next();
                let (body, end) = stmt::body(c)?;
                function.body = Some(body);
                function.end = end;
                return Ok(function);
            }
            Tok::Dot(word) => {
                c.next();
                match word {
                    "maxntid" | "reqntid" => function.max_threads = Some(extent(c)?),
                    "minnctapersm" | "maxnctapersm" | "maxnreg" | "maxclusterrank" => {
                        c.int("a number")?;
                    }
                    "reqnctapercluster" => {
                        extent(c)?;
                    }
                    "noreturn" | "explicitcluster" => {}
                    "pragma" => pragma(c)?,
                    _ => return Err(token.error("unknown directive of a function")),
                }
            }
            _ => return Err(token.error("expected a function body")),
        }
    }
}

/// `x`, `x, y` or `x, y, z`, multiplied.
fn extent(c: &mut Cursor<'_, '_>) -> Result<u32, PtxError> {
    let mut product = 1u32;
    loop {
        let at = c.peek();
        let n = c.int("a number")?;
        product = u32::try_from(n)
            .ok()
            .and_then(|n| product.checked_mul(n))
            .filter(|p| *p > 0)
            .ok_or_else(|| at.error("thread counts must be positive and multiply to 32 bits"))?;
        if !c.accept(b',') {
            return Ok(product);
        }
    }
}
