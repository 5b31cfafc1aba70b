//! docs/softgpu-coverage.md says what the table of entry points says.
//!
//! The table (`entries!`) drives what is exported and what `cuGetProcAddress` and `hipGetProcAddress` answer. The page is
//! written from it, from the lists of what the vendors declare (`vendor/`), and from what is known to be missing of
//! functions that are there. `SOFTGPU_BLESS=1 cargo test -p softgpu --test coverage` writes it anew.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use softgpu::abi::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

const CUDA: &str = include_str!("../vendor/cuda.txt");
const HIP: &str = include_str!("../vendor/hip.txt");
const PARTIAL: &str = include_str!("../vendor/partial.txt");

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty())
}

fn partial() -> BTreeMap<&'static str, &'static str> {
    lines(PARTIAL).map(|line| line.split_once(": ").expect(line)).collect()
}

fn symbols(tables: &'static [&'static [Entry]]) -> BTreeMap<&'static str, i32> {
    tables.iter().copied().flatten().rev().map(|entry| (entry.symbol, entry.since)).collect()
}

fn section(text: &mut String, title: &str, names: &[&'static str], have: &BTreeMap<&str, i32>) {
    let partial = partial();
    let count = |state: &str| names.iter().filter(|name| self::state(name, have, &partial) == state).count();
    let (done, some, none) = (count("done"), count("partial"), count("absent"));
    writeln!(text, "## {title}\n\n{} functions: {done} done, {some} partial, {none} absent.\n", names.len())
        .unwrap();
    writeln!(text, "| Function | State | Since | What is missing |\n|---|---|---|---|").unwrap();
    for name in names {
        let since = have.get(name).map(ToString::to_string).unwrap_or_default();
        let missing = partial.get(name).copied().unwrap_or_default();
        writeln!(text, "| `{name}` | {} | {since} | {missing} |", state(name, have, &partial)).unwrap();
    }
    text.push('\n');
}

fn state(name: &str, have: &BTreeMap<&str, i32>, partial: &BTreeMap<&str, &str>) -> &'static str {
    match (have.contains_key(name), partial.contains_key(name)) {
        (true, false) => "done",
        (true, true) => "partial",
        (false, _) => "absent",
    }
}

fn page() -> String {
    let mut text = "# What softgpu covers\n\n\
        Written by `softgpu/tests/coverage.rs` from the table of entry points; do not edit. *Done* means that calls \
        behave as the vendor documents, *partial* that something is missing, which the last column names, *absent* that \
        the symbol does not exist: `dlsym` and the look-up functions do not find it. *Since* is the first version of the \
        vendor's API whose look-up function finds it; a driver that is set to report an older version hides it.\n\n"
        .to_owned();
    let cuda: Vec<&str> = lines(CUDA).collect();
    let hip: Vec<&str> = lines(HIP).collect();
    section(&mut text, "CUDA driver API", &cuda, &symbols(softgpu::cuda::tables()));
    section(&mut text, "HIP runtime API", &hip, &symbols(softgpu::hip::tables()));
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

#[test]
fn the_page_is_what_the_table_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/softgpu-coverage.md");
    let page = page();
    if std::env::var_os("SOFTGPU_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = page.lines().zip(written.lines()).find(|(new, old)| new != old);
    assert!(
        page == written,
        "docs/softgpu-coverage.md is stale, first at {differs:?}; see the head of this test"
    );
}

#[test]
fn every_entry_point_is_one_that_the_vendor_declares_and_every_note_has_one() {
    let have: BTreeSet<&str> = symbols(softgpu::cuda::tables())
        .into_keys()
        .chain(symbols(softgpu::hip::tables()).into_keys())
        .collect();
    let declared: BTreeSet<&str> = lines(CUDA).chain(lines(HIP)).collect();
    let invented: Vec<_> = have.difference(&declared).collect();
    assert!(invented.is_empty(), "not declared by the vendor: {invented:?}");
    let notes: BTreeSet<&str> = partial().into_keys().collect();
    let stray: Vec<_> = notes.difference(&have).collect();
    assert!(stray.is_empty(), "notes on what is not there: {stray:?}");
}
