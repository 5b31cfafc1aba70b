//! Makes a failing program smaller: what can be left out and still leaves a failing program, is.

use super::program::{Op, Program};

/// `fails` is asked whether a program still fails.
pub(super) fn shrink(mut program: Program, fails: impl Fn(&Program) -> bool) -> Program {
    let mut size = program.ops.len();
    while size > 0 {
        let mut start = 0;
        while start < program.ops.len() {
            let mut smaller = program.clone();
            smaller.ops.drain(start..(start + size).min(program.ops.len()));
            match fails(&smaller) {
                true => program = smaller,
                false => start += size,
            }
        }
        size /= 2;
    }
    for index in 0..program.ops.len() {
        for part in 0.. {
            let mut smaller = program.clone();
            let Op::Submit(submit) = &mut smaller.ops[index] else { break };
            let (waits, signals) = (submit.waits.len(), submit.signals.len());
            // From the last, so that what is left keeps its number.
            match part {
                part if part < waits => drop(submit.waits.remove(waits - 1 - part)),
                part if part < waits + signals => drop(submit.signals.remove(waits + signals - 1 - part)),
                _ if submit.fills > 0 && submit.fails.is_none() => submit.fills = 0,
                _ => break,
            }
            let emptied = part >= waits + signals;
            if fails(&smaller) {
                program = smaller;
            }
            if emptied {
                break;
            }
        }
    }
    program
}
