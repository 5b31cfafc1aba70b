//! Faults on demand: rules that make calls fail.
//!
//! Rules come from the environment variable `SOFTGPU_FAULTS`, from [`set_rules`], or from the exported `softgpu_ctl`.
//! They are separated by `;`:
//!
//! | Rule | Meaning |
//! |---|---|
//! | `cuEventRecord:3=700` | the third call returns 700, once |
//! | `cuMemAlloc*:1+=2` | every call from the first on returns 2; `*` stands for any text |
//! | `cuLaunchKernel:2=fail:719` | the second call returns 719 and the current context has failed with it |
//! | `cuLaunchKernel:2=later:719` | the second call succeeds, and the current context has failed with 719 |
//! | `cuLaunchKernel:2=hang` | after the second call, every stream of the current context stands still until the context goes |
//! | `missing:cuStreamCreate` | the in-process resolver and `cuGetProcAddress` do not find the name |
//!
//! A name is an exported symbol (`cuMemAlloc_v2`), or a base name (`cuMemAlloc`), which stands for all its versions.
//! Codes are in the numbering of the ABI they are returned from; what marks a context is a `CUresult`. The call whose rule returns a code does nothing else. Calls count from the moment
//! the rule is set. The first rule that applies wins; the others still count the call.

use crate::abi::Entry;
use crate::driver::{Error, context};
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Return(i32),
    Fail(i32),
    Later(i32),
    Hang,
    Missing,
}

#[derive(Debug)]
struct Rule {
    pattern: String,
    first: u64,
    repeats: bool,
    action: Action,
    calls: AtomicU64,
}

const UNREAD: u8 = 0;
const NONE: u8 = 1;
const SOME: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(UNREAD);
static RULES: RwLock<Vec<Arc<Rule>>> = RwLock::new(Vec::new());

/// Why a rule was not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "fault rule `{0}` is none of `name:nth=code`, `name:nth+=code`, `name:nth=fail:code`, `name:nth=later:code`, `name:nth=hang`, `missing:name`"
)]
pub struct RuleError(String);

/// Replaces all rules; an empty text removes them.
pub fn set_rules(text: &str) -> Result<(), RuleError> {
    let rules = parse(text)?;
    let mut current = RULES.write();
    STATE.store(if rules.is_empty() { NONE } else { SOME }, Ordering::Release);
    *current = rules;
    Ok(())
}

/// How often the function named by each rule was called since the rule was set, in the order of the rules.
pub fn calls() -> Vec<u64> {
    RULES.read().iter().map(|rule| rule.calls.load(Ordering::Relaxed)).collect()
}

/// What the rules make of a call.
pub(crate) enum Hook {
    /// Return the code instead of running it.
    Return(i32),
    /// Run it, then call [`after`].
    After(After),
}

/// What a rule does once the call has run.
#[derive(Clone, Copy)]
pub(crate) enum After {
    /// The current context fails with the code.
    Fail(i32),
    /// The streams of the current context stand still.
    Hang,
}

/// What the rules make of a call, if anything.
pub(crate) fn hook(entry: &Entry) -> Option<Hook> {
    if !active() {
        return None;
    }
    match matching(entry)? {
        Action::Return(code) => Some(Hook::Return(code)),
        Action::Fail(code) => {
            mark_context(entry, code);
            Some(Hook::Return(code))
        }
        Action::Later(code) => Some(Hook::After(After::Fail(code))),
        Action::Hang => Some(Hook::After(After::Hang)),
        Action::Missing => None,
    }
}

/// Whether a rule hides an entry point from look-ups.
pub(crate) fn is_missing(entry: &Entry) -> bool {
    active() && RULES.read().iter().any(|rule| rule.action == Action::Missing && rule.is_for(entry))
}

impl Rule {
    fn is_for(&self, entry: &Entry) -> bool {
        matches(&self.pattern, entry.symbol) || matches(&self.pattern, entry.base)
    }
}

fn active() -> bool {
    match STATE.load(Ordering::Acquire) {
        NONE => false,
        SOME => true,
        _ => {
            let text = std::env::var("SOFTGPU_FAULTS").unwrap_or_default();
            // There is nobody to tell: a driver does not print, and rules it cannot read are no rules.
            if set_rules(&text).is_err() {
                STATE.store(NONE, Ordering::Release);
            }
            STATE.load(Ordering::Acquire) == SOME
        }
    }
}

fn matching(entry: &Entry) -> Option<Action> {
    let mut action = None;
    for rule in RULES.read().iter() {
        if rule.action == Action::Missing || !rule.is_for(entry) {
            continue;
        }
        let call = rule.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let applies = call == rule.first || rule.repeats && call > rule.first;
        if applies && action.is_none() {
            action = Some(rule.action);
        }
    }
    action
}

/// Does what a rule wants done after the call has run.
pub(crate) fn after(entry: &Entry, what: After) {
    match what {
        After::Fail(code) => mark_context(entry, code),
        After::Hang => {
            if let Ok(context) = context::current() {
                context.hang();
            }
        }
    }
}

/// Makes the current context fail.
fn mark_context(entry: &Entry, code: i32) {
    let symbol = entry.symbol;
    if let Ok(context) = context::current() {
        context
            .fail(Error(code), || format!("a fault rule for `{symbol}` made the context fail with {code}"));
    }
}

fn parse(text: &str) -> Result<Vec<Arc<Rule>>, RuleError> {
    let rules = text.split(';').map(str::trim).filter(|rule| !rule.is_empty());
    rules.map(|rule| parse_one(rule).map(Arc::new).ok_or_else(|| RuleError(rule.to_owned()))).collect()
}

fn parse_one(text: &str) -> Option<Rule> {
    let rule = |pattern: &str, first, repeats, action| {
        (!pattern.is_empty()).then(|| Rule {
            pattern: pattern.to_owned(),
            first,
            repeats,
            action,
            calls: AtomicU64::new(0),
        })
    };
    if let Some(name) = text.strip_prefix("missing:") {
        return rule(name.trim(), 0, true, Action::Missing);
    }
    let (name, rest) = text.split_once(':')?;
    let (when, what) = rest.split_once('=')?;
    let (when, repeats) = match when.trim().strip_suffix('+') {
        Some(when) => (when, true),
        None => (when.trim(), false),
    };
    let first = when.parse().ok().filter(|&n| n > 0)?;
    let action = match what.trim().split_once(':') {
        Some(("fail", code)) => Action::Fail(code.parse().ok()?),
        Some(("later", code)) => Action::Later(code.parse().ok()?),
        Some(_) => return None,
        None if what.trim() == "hang" => Action::Hang,
        None => Action::Return(what.trim().parse().ok()?),
    };
    rule(name.trim(), first, repeats, action)
}

/// Whether `name` is `pattern`, where `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    if !pattern.contains('*') {
        return rest.is_empty();
    }
    let mut parts: Vec<&str> = parts.collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("cuInit", "cuInit", true),
            ("cuInit", "cuInit2", false),
            ("cuMemAlloc*", "cuMemAlloc_v2", true),
            ("*Alloc*Async", "cuMemAllocFromPoolAsync", true),
            ("*Alloc*Async", "cuMemAlloc_v2", false),
            ("*", "anything", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn rules_that_are_none_are_named() {
        for bad in [
            "cuInit",
            "cuInit=1",
            "cuInit:0=1",
            "cuInit:x=1",
            "cuInit:1=y",
            "cuInit:1=soon:1",
            ":1=1",
            "missing:",
        ] {
            assert_eq!(parse(bad).err(), Some(RuleError(bad.to_owned())), "{bad}");
        }
        let rules = parse(" cuA:2+=7 ; ;cuB:1=later:700;missing:cuC;cuD:1= hang ").unwrap();
        assert_eq!(rules.len(), 4);
        assert!(rules[0].repeats && rules[0].first == 2 && rules[0].action == Action::Return(7));
        assert_eq!(rules[1].action, Action::Later(700));
        assert_eq!(rules[2].action, Action::Missing);
        assert_eq!(rules[3].action, Action::Hang);
    }
}
