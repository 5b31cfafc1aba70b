//! Choosing cases by pattern.
//!
//! A matcher of its own: two wildcards over short ASCII names are a screenful, and `*` must cross the slash of
//! `suite/name`, which path globbing crates make an option at best.

use std::convert::Infallible;
use std::str::FromStr;

/// The suite that runs only when a filter names it.
const SELFTEST: &str = "selftest";

/// `*` stands for any run of characters, `?` for any one.
#[derive(Clone, Debug)]
pub struct Glob(String);

impl FromStr for Glob {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Glob(text.to_owned()))
    }
}

impl Glob {
    /// Whether all of `text` fits.
    pub fn matches(&self, text: &str) -> bool {
        let pattern = self.0.as_bytes();
        let text = text.as_bytes();
        let (mut at, mut next) = (0, 0);
        // Where the last `*` stands and how far the text was then: the one place worth going back to.
        let mut star = None;
        while next < text.len() {
            match pattern.get(at) {
                Some(b'*') => {
                    star = Some((at, next));
                    at += 1;
                }
                Some(&c) if c == b'?' || c == text[next] => {
                    at += 1;
                    next += 1;
                }
                _ => {
                    let Some((position, taken)) = star else { return false };
                    star = Some((position, taken + 1));
                    at = position + 1;
                    next = taken + 1;
                }
            }
        }
        pattern[at..].iter().all(|&c| c == b'*')
    }

    fn names_selftest(&self) -> bool {
        self.0.starts_with(SELFTEST)
    }
}

/// Whether a case is chosen: one filter fits its `suite/name` or its suite, or there are no filters. The selftest
/// suite fails on purpose, so a filter must begin with its name to get it.
pub fn chosen(filters: &[Glob], suite: &str, name: &str) -> bool {
    let id = format!("{suite}/{name}");
    let fits = |glob: &Glob| glob.matches(&id) || glob.matches(suite);
    if suite == SELFTEST {
        return filters.iter().any(|glob| glob.names_selftest() && fits(glob));
    }
    filters.is_empty() || filters.iter().any(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glob(text: &str) -> Glob {
        Glob(text.to_owned())
    }

    #[test]
    fn wildcards() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", "buffer/fill", true),
            ("buffer/*", "buffer/fill", true),
            ("buffer/*", "buffers/fill", false),
            ("*wait*", "semaphore/wait_any", true),
            ("*_a?y", "semaphore/wait_any", true),
            ("?", "", false),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("**", "x", true),
            ("abc", "ab", false),
        ] {
            assert_eq!(glob(pattern).matches(text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn many_stars_end() {
        assert!(!glob(&"*a".repeat(40)).matches(&"a".repeat(39)));
        assert!(glob(&"*a".repeat(40)).matches(&"a".repeat(4000)));
    }

    #[test]
    fn filters() {
        assert!(chosen(&[], "buffer", "fill"));
        assert!(chosen(&[glob("buffer")], "buffer", "fill"));
        assert!(!chosen(&[glob("fill")], "buffer", "fill"));
        assert!(chosen(&[glob("no"), glob("*/fill")], "buffer", "fill"));
    }

    #[test]
    fn selftest_must_be_named() {
        assert!(!chosen(&[], "selftest", "fails"));
        assert!(!chosen(&[glob("*")], "selftest", "fails"));
        assert!(chosen(&[glob("selftest")], "selftest", "fails"));
        assert!(chosen(&[glob("selftest/f*")], "selftest", "fails"));
        assert!(!chosen(&[glob("selftest/f*")], "selftest", "passes"));
    }
}
