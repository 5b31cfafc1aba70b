//! Which call fails, with what, when, and for how long.

use std::collections::HashMap;

/// Whether a call returns its failure itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timing {
    /// It does, and nothing has happened.
    Immediate,
    /// It succeeds, and the next query of its stream tells; of any stream, if it has none.
    Deferred,
}

/// How far a failure reaches beyond its first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    Once,
    /// Every later call of the same name, or every later query of the stream.
    SameCall,
    /// Every later call.
    AllCalls,
}

/// One call to fail.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Injection {
    /// Which one, counting from 1. Repeated looks at the same unchanged work count once.
    pub(crate) nth: u64,
    pub(crate) code: i64,
    pub(crate) timing: Timing,
    pub(crate) reach: Reach,
}

/// What is to be done with a call.
pub(super) enum Verdict {
    Pass,
    Fail(i64),
    /// It succeeds, and a query will fail.
    Defer(i64, Reach),
}

#[derive(Debug, Default)]
pub(super) struct Faults {
    named: Vec<Named>,
    patterns: HashMap<u32, (i64, Timing)>,
    injection: Option<Injection>,
    /// The call that was hit, once one was.
    hit: Option<&'static str>,
    /// Every call returns this.
    pub(super) sticky: Option<i64>,
    pub(super) counted: u64,
    pub(super) delivered: u64,
    pub(super) first_failed: Option<&'static str>,
    /// The last counted call was `enter`.
    entered: bool,
}

#[derive(Debug)]
struct Named {
    call: &'static str,
    countdown: u32,
    code: i64,
    forever: bool,
}

impl Faults {
    pub(super) fn fail(&mut self, call: &'static str, countdown: u32, code: i64, forever: bool) {
        self.named.push(Named { call, countdown, code, forever });
    }

    pub(super) fn fail_pattern(&mut self, pattern: u32, code: i64, timing: Timing) {
        self.patterns.insert(pattern, (code, timing));
    }

    pub(super) fn pattern(&self, pattern: u32) -> Option<(i64, Timing)> {
        self.patterns.get(&pattern).copied()
    }

    pub(super) fn inject(&mut self, injection: Injection) {
        self.injection = Some(injection);
        self.counted = 0;
    }

    /// Looks at a call. `repeated`: it is a look at work that has been looked at before.
    pub(super) fn judge(&mut self, call: &'static str, repeated: bool) -> Verdict {
        let again = call == "enter" && self.entered;
        let counts = !repeated && !again;
        if counts {
            self.counted += 1;
            self.entered = call == "enter";
        }
        if let Some(code) = self.sticky {
            self.deliver(call);
            return Verdict::Fail(code);
        }
        if let Some(code) = self.named(call) {
            return Verdict::Fail(code);
        }
        self.injected(call, counts)
    }

    pub(super) fn deliver(&mut self, call: &'static str) {
        self.delivered += 1;
        self.first_failed.get_or_insert(call);
    }

    /// Whether the injected failure is more than a single one.
    pub(super) fn stays(&self) -> bool {
        self.injection.is_some_and(|injection| injection.reach != Reach::Once)
    }

    fn named(&mut self, call: &'static str) -> Option<i64> {
        self.named.iter_mut().find_map(|fault| {
            if fault.call != call || fault.countdown == 0 {
                return None;
            }
            fault.countdown -= 1;
            if fault.countdown > 0 {
                return None;
            }
            if fault.forever {
                fault.countdown = 1;
            }
            Some(fault.code)
        })
    }

    fn injected(&mut self, call: &'static str, counts: bool) -> Verdict {
        let Some(injection) = self.injection else { return Verdict::Pass };
        let hit = match (self.hit, injection.reach) {
            (None, _) => counts && self.counted == injection.nth,
            // A deferred one goes on in its stream.
            (Some(_), _) if injection.timing == Timing::Deferred => false,
            (Some(_), Reach::Once) => false,
            (Some(hit), Reach::SameCall) => hit == call,
            (Some(_), Reach::AllCalls) => true,
        };
        if !hit {
            return Verdict::Pass;
        }
        self.hit.get_or_insert(call);
        match injection.timing {
            Timing::Immediate => {
                self.deliver(call);
                Verdict::Fail(injection.code)
            }
            Timing::Deferred => Verdict::Defer(injection.code, injection.reach),
        }
    }
}
