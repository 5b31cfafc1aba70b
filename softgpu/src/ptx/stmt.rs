//! Statements of a function body.

use super::PtxError;
use super::ast::{Instr, Operand, OperandKind, Space, Stmt};
use super::cursor::Cursor;
use super::decl;
use super::lexer::{Pos, Tok, Token};
use super::parser;

/// Reads from behind the opening brace to the closing one, which it also returns.
pub(crate) fn body<'a>(c: &mut Cursor<'_, 'a>) -> Result<(Vec<Stmt<'a>>, Pos), PtxError> {
    let mut out = Vec::new();
    let mut depth = 0usize;
    loop {
        let token = c.peek();
        match token.tok {
            Tok::Punct(b'{') => {
                c.next();
                depth += 1;
                out.push(Stmt::Open);
            }
            Tok::Punct(b'}') => {
                c.next();
                if depth == 0 {
                    return Ok((out, token.pos));
                }
                depth -= 1;
                out.push(Stmt::Close);
            }
            Tok::Punct(b';') => {
                c.next();
            }
            Tok::Dot(word) => {
                c.next();
                directive(c, token, word, &mut out)?;
            }
            Tok::Word(_) if c.peek_at(1).tok == Tok::Punct(b':') => {
                c.next();
                c.next();
                let targets = c.peek();
                match targets.tok {
                    Tok::Dot("branchtargets") => {
                        c.next();
                        out.push(Stmt::Targets { name: token, labels: words(c)? });
                    }
                    Tok::Dot("callprototype" | "calltargets") => {
                        return Err(targets.error("indirect calls are not supported"));
                    }
                    _ => out.push(Stmt::Label(token)),
                }
            }
            Tok::Word(_) | Tok::Punct(b'@') => out.push(Stmt::Instr(instruction(c)?)),
            _ => return Err(token.error("expected an instruction, a label or a directive")),
        }
    }
}

fn directive<'a>(
    c: &mut Cursor<'_, 'a>,
    token: Token<'a>,
    word: &str,
    out: &mut Vec<Stmt<'a>>,
) -> Result<(), PtxError> {
    match word {
        "reg" => registers(c, out),
        "loc" | "file" => {
            c.skip_line(token);
            Ok(())
        }
        "pragma" => parser::pragma(c),
        "section" => parser::section(c),
        _ => match decl::space_named(word) {
            Some(space @ (Space::Shared | Space::Local | Space::Param)) => {
                let mut vars = Vec::new();
                decl::variables(c, space, false, &mut vars)?;
                out.extend(vars.into_iter().map(Stmt::Var));
                Ok(())
            }
            _ => Err(token.error("unknown directive in a function body")),
        },
    }
}

fn registers<'a>(c: &mut Cursor<'_, 'a>, out: &mut Vec<Stmt<'a>>) -> Result<(), PtxError> {
    let ty = decl::ty(c)?;
    loop {
        let name = c.word("a register name")?;
        let mut count = None;
        if c.accept(b'<') {
            count = Some(c.int("a number of registers")?);
            c.expect(b'>')?;
        }
        out.push(Stmt::Reg { name, ty, count });
        if !c.accept(b',') {
            break;
        }
    }
    c.expect(b';')?;
    Ok(())
}

fn words<'a>(c: &mut Cursor<'_, 'a>) -> Result<Vec<Token<'a>>, PtxError> {
    let mut list = vec![c.word("a label")?];
    while c.accept(b',') {
        list.push(c.word("a label")?);
    }
    c.expect(b';')?;
    Ok(list)
}

fn instruction<'a>(c: &mut Cursor<'_, 'a>) -> Result<Instr<'a>, PtxError> {
    let mut guard = None;
    if c.accept(b'@') {
        let negated = c.accept(b'!');
        guard = Some((c.word("a predicate")?, negated));
    }
    let opcode = c.word("an instruction")?;
    let mut mods = Vec::new();
    while let Tok::Dot(word) = c.peek().tok {
        if !c.peek().glued {
            return Err(c.peek().error("blank inside an instruction's name"));
        }
        mods.push(word);
        c.next();
    }
    let mut operands = Vec::new();
    if !c.is(b';') {
        loop {
            operands.push(operand(c)?);
            if !c.accept(b',') {
                break;
            }
        }
    }
    let end = c.peek();
    if !c.accept(b';') {
        return Err(end.error("expected `,` or `;`"));
    }
    Ok(Instr { guard, opcode, mods, operands })
}

fn operand<'a>(c: &mut Cursor<'_, 'a>) -> Result<Operand<'a>, PtxError> {
    let at = c.peek();
    let kind = match at.tok {
        Tok::Punct(b'{') => {
            c.next();
            OperandKind::Vector(simple_list(c, b'}')?)
        }
        Tok::Punct(b'(') => {
            c.next();
            OperandKind::List(simple_list(c, b')')?)
        }
        Tok::Punct(b'[') => return address(c),
        _ => return simple(c),
    };
    Ok(Operand { at, kind })
}

fn simple_list<'a>(c: &mut Cursor<'_, 'a>, close: u8) -> Result<Vec<Operand<'a>>, PtxError> {
    let mut list = Vec::new();
    if c.accept(close) {
        return Ok(list);
    }
    loop {
        list.push(simple(c)?);
        if !c.accept(b',') {
            break;
        }
    }
    c.expect(close)?;
    Ok(list)
}

fn address<'a>(c: &mut Cursor<'_, 'a>) -> Result<Operand<'a>, PtxError> {
    c.expect(b'[')?;
    let at = c.next();
    if !matches!(at.tok, Tok::Word(_) | Tok::Int(_)) {
        return Err(at.error("expected a register, a variable or a number"));
    }
    let offset = offset(c)?;
    c.expect(b']')?;
    Ok(Operand { at, kind: OperandKind::Address { offset } })
}

fn offset(c: &mut Cursor<'_, '_>) -> Result<i64, PtxError> {
    let mut sum = 0i64;
    loop {
        let mut negative = if c.accept(b'+') {
            false
        } else if c.accept(b'-') {
            true
        } else {
            return Ok(sum);
        };
        // Compilers write `[%rd1+-8]`.
        if c.accept(b'-') {
            negative = !negative;
        }
        let value = c.int("an offset")? as i64;
        sum = if negative { sum.wrapping_sub(value) } else { sum.wrapping_add(value) };
    }
}

fn simple<'a>(c: &mut Cursor<'_, 'a>) -> Result<Operand<'a>, PtxError> {
    let at = c.next();
    let kind = match at.tok {
        Tok::Int(v) => OperandKind::Int(v),
        Tok::Single(v) => OperandKind::Single(v),
        Tok::Double(v) => OperandKind::Double(v),
        Tok::Punct(b'-') => {
            let number = c.next();
            match number.tok {
                Tok::Int(v) => OperandKind::Int(v.wrapping_neg()),
                Tok::Single(v) => OperandKind::Single(v ^ (1 << 31)),
                Tok::Double(v) => OperandKind::Double(-v),
                _ => return Err(number.error("expected a number")),
            }
        }
        Tok::Punct(b'!') => {
            let name = c.word("a predicate")?;
            return Ok(Operand { at: name, kind: OperandKind::Not });
        }
        Tok::Word(_) => {
            if c.accept(b'|') {
                OperandKind::Pair(c.word("a predicate")?)
            } else {
                let mut suffix = None;
                if let Token { tok: Tok::Dot(word), glued: true, .. } = c.peek() {
                    suffix = Some(word);
                    c.next();
                }
                OperandKind::Name { suffix, offset: offset(c)? }
            }
        }
        _ => return Err(at.error("expected an operand")),
    };
    Ok(Operand { at, kind })
}
