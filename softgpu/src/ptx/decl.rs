//! Variables, their initial values, and formal parameters.

use super::PtxError;
use super::ast::{Formal, Space, Var};
use super::cursor::Cursor;
use super::lexer::{Tok, Token};
use super::types::Ty;

/// No variable may be larger; a torn number must not make the process ask for terabytes.
const MAX_VARIABLE: u64 = 1 << 28;

pub(crate) fn space_named(word: &str) -> Option<Space> {
    Some(match word {
        "global" => Space::Global,
        "const" => Space::Const,
        "shared" | "shared::cta" => Space::Shared,
        "local" => Space::Local,
        "param" | "param::entry" | "param::func" => Space::Param,
        _ => return None,
    })
}

/// Reads what follows `.shared` and its like, up to the `;`.
pub(crate) fn variables<'a>(
    c: &mut Cursor<'_, 'a>,
    space: Space,
    external: bool,
    out: &mut Vec<Var<'a>>,
) -> Result<(), PtxError> {
    let (ty, lanes, align) = shape(c)?;
    loop {
        out.push(variable(c, space, external, ty, lanes, align)?);
        if !c.accept(b',') {
            break;
        }
    }
    c.expect(b';')?;
    Ok(())
}

/// Reads a formal parameter: `.param .u64 .ptr .global .align 4 name`, `.param .align 8 .b8 name[16]`, `.reg .u32 r`.
pub(crate) fn formal<'a>(c: &mut Cursor<'_, 'a>) -> Result<Formal<'a>, PtxError> {
    if c.accept_dot("reg") {
        let ty = ty(c)?;
        return Ok(Formal::Register(c.word("a register name")?, ty));
    }
    let at = c.peek();
    if !c.accept_dot("param") {
        return Err(at.error("expected `.param`"));
    }
    let (ty, lanes, align) = shape(c)?;
    variable(c, Space::Param, false, ty, lanes, align).map(Formal::Memory)
}

pub(crate) fn ty(c: &mut Cursor<'_, '_>) -> Result<Ty, PtxError> {
    let token = c.peek();
    match token.tok {
        Tok::Dot(word) => match Ty::named(word) {
            Some(ty) => {
                c.next();
                Ok(ty)
            }
            None => Err(token.error("unknown type")),
        },
        _ => Err(token.error("expected a type")),
    }
}

/// Type, elements of a vector, alignment.
fn shape(c: &mut Cursor<'_, '_>) -> Result<(Ty, u64, u64), PtxError> {
    let (mut found, mut lanes, mut align) = (None, 1, 0);
    loop {
        let token = c.peek();
        let Tok::Dot(word) = token.tok else { break };
        if let Some(ty) = Ty::named(word) {
            found = Some(ty);
        } else {
            match word {
                "v2" => lanes = 2,
                "v4" => lanes = 4,
                "align" => {
                    c.next();
                    let at = c.peek();
                    align = c.int("an alignment")?;
                    if !align.is_power_of_two() || align > 4096 {
                        return Err(at.error("alignment must be a power of two of at most 4096"));
                    }
                    continue;
                }
                // Says where a pointer points; the pointer itself is a plain number.
                "ptr" | "global" | "shared" | "local" | "const" => {}
                _ => return Err(token.error("unknown attribute of a variable")),
            }
        }
        c.next();
    }
    let ty = found.ok_or_else(|| c.peek().error("expected a type"))?;
    if ty == Ty::Pred {
        return Err(c.peek().error("a variable in memory can be no predicate"));
    }
    let natural = u64::from(ty.bytes()) * lanes;
    Ok((ty, lanes, if align == 0 { natural } else { align }))
}

fn variable<'a>(
    c: &mut Cursor<'_, 'a>,
    space: Space,
    external: bool,
    ty: Ty,
    lanes: u64,
    align: u64,
) -> Result<Var<'a>, PtxError> {
    let name = c.word("the name of a variable")?;
    let element = u64::from(ty.bytes()) * lanes;
    let mut count: Option<u64> = Some(1);
    let mut rest: u64 = 1;
    let mut first = true;
    while c.accept(b'[') {
        if first && c.accept(b']') {
            count = None;
        } else {
            let at = c.peek();
            let n = c.int("an array length")?;
            rest = rest
                .checked_mul(n)
                .filter(|n| *n <= MAX_VARIABLE)
                .ok_or_else(|| at.error("array too large"))?;
            c.expect(b']')?;
        }
        first = false;
    }
    let mut init = Vec::new();
    let module_level = matches!(space, Space::Global | Space::Const);
    if c.is(b'=') {
        let at = c.next();
        if !module_level || external {
            return Err(at.error("only `.global` and `.const` variables can have initial values"));
        }
        initial(c, ty, &mut init)?;
    }
    let size = match count {
        Some(_) => element.checked_mul(rest),
        None => Some(init.len() as u64),
    };
    let size = size.filter(|s| *s <= MAX_VARIABLE).ok_or_else(|| name.error("variable too large"))?;
    let open = count.is_none() && init.is_empty();
    if open && !(external && space == Space::Shared) {
        return Err(name.error("array without a length"));
    }
    if external && module_level {
        return Err(name.error("variable of another module; modules are not linked together"));
    }
    if init.len() as u64 > size {
        return Err(name.error("more initial values than elements"));
    }
    if module_level {
        init.resize(size as usize, 0);
    }
    Ok(Var { name, space, size, align, open, init })
}

/// Reads `5`, `{1, 2}` or `{{1, 2}, {3, 4}}`; nested lists are taken as one, which is what full rows mean.
fn initial(c: &mut Cursor<'_, '_>, ty: Ty, out: &mut Vec<u8>) -> Result<(), PtxError> {
    let mut depth = 0u32;
    loop {
        if c.accept(b'{') {
            depth += 1;
            continue;
        }
        if !c.is(b'}') {
            scalar(c, ty, out)?;
        }
        while depth > 0 && c.accept(b'}') {
            depth -= 1;
        }
        if depth == 0 {
            return Ok(());
        }
        c.expect(b',')?;
    }
}

fn scalar(c: &mut Cursor<'_, '_>, ty: Ty, out: &mut Vec<u8>) -> Result<(), PtxError> {
    let negative = c.accept(b'-');
    let token = c.next();
    let bits = literal(token, negative, ty)
        .ok_or_else(|| token.error("initial value is no number of the variable's type"))?;
    out.extend_from_slice(&bits.to_le_bytes()[..ty.bytes() as usize]);
    Ok(())
}

/// The bits of a literal as a value of `ty`, or `None` if it is none.
pub(crate) fn literal(token: Token<'_>, negative: bool, ty: Ty) -> Option<u64> {
    let value = match (token.tok, ty) {
        (Tok::Int(v), Ty::F32 | Ty::F64) => {
            let v = if negative { -(v as f64) } else { v as f64 };
            return Some(if ty == Ty::F32 { u64::from((v as f32).to_bits()) } else { v.to_bits() });
        }
        (Tok::Int(v), _) => return Some(if negative { v.wrapping_neg() } else { v }),
        (Tok::Single(bits), Ty::F32 | Ty::B32) => {
            return Some(u64::from(bits ^ if negative { 1 << 31 } else { 0 }));
        }
        (Tok::Single(bits), Ty::F64) => f64::from(f32::from_bits(bits)),
        (Tok::Double(v), Ty::F32 | Ty::F64 | Ty::B64) => v,
        _ => return None,
    };
    let value = if negative { -value } else { value };
    Some(if ty == Ty::F32 { u64::from((value as f32).to_bits()) } else { value.to_bits() })
}
