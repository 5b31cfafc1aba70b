//! Texts that are not PTX, or not whole, are refused with their place; nothing panics.

use softgpu::ptx::{PtxError, parse};

const HEAD: &str = ".version 7.0\n.target sm_70\n.address_size 64\n";

fn refuse(body: &str) -> PtxError {
    parse(&format!("{HEAD}{body}")).unwrap_err()
}

#[test]
fn a_text_torn_anywhere_is_refused_or_whole() {
    for text in [include_str!("../ptx/clang16_sm52.ptx"), include_str!("../ptx/nvrtc12_sm70.ptx")] {
        let whole = parse(text).unwrap().kernels.len();
        // Every place in the first kernels, then some in the rest; each costs a parse of all before it.
        let ends = (0..5000).chain((5000..text.len()).step_by(97));
        for end in ends.filter(|end| text.is_char_boundary(*end)) {
            if let Ok(module) = parse(&text[..end]) {
                assert!(module.kernels.len() <= whole);
            }
        }
        // Inside a function nothing is whole.
        let inside = text.find("ret;").unwrap();
        assert_eq!(parse(&text[..inside]).unwrap_err().token, "end of text");
    }
}

#[test]
fn bytes_changed_anywhere_do_not_panic() {
    let text = include_str!("../ptx/nvrtc11_sm52.ptx").get(..6000).unwrap();
    for (at, _) in text.char_indices().step_by(7) {
        for with in ["}", "{", ";", "0", "-", "\"", "%r1", "9999999999999999999", "é", "<"] {
            let _ = parse(&format!("{}{with}{}", &text[..at], &text[at + 1..]));
        }
    }
}

#[test]
fn an_unknown_instruction_is_named_with_its_place() {
    let e = refuse(".entry k() {\n  .reg .b32 %r<3>;\n  frobnicate.u32 %r1, %r2;\n ret; }");
    assert_eq!((e.line, e.column, e.token.as_str()), (6, 3, "frobnicate"));
    assert_eq!(e.to_string(), "line 6, column 3: unknown instruction at `frobnicate`");
    let e = refuse(".entry k() {\n  .reg .b32 %r<3>;\n  add.odd.u32 %r1, %r2, %r2;\n ret; }");
    assert!(e.message.contains("`.odd`"), "{e}");
}

#[test]
fn undefined_names_are_refused() {
    for (body, token) in [
        (".entry k() { bra $nowhere; }", "$nowhere"),
        (".entry k() { .reg .b32 %r<2>; mov.u32 %r2, 1; }", "%r2"),
        (".entry k() { .reg .b32 %r<2>; mov.u32 %r01, 1; }", "%r01"),
        (".entry k() { .reg .b32 %r<2>; ld.shared.u32 %r1, [x]; }", "x"),
        (".entry k() { call f, (); }", "f"),
        (".entry k() { .reg .b32 a; { .reg .b32 b; } mov.u32 a, b; }", "b"),
        (".entry k() { { L: } bra L; }", "L"),
    ] {
        assert_eq!(refuse(body).token, token, "{body}");
    }
}

#[test]
fn registers_must_fit_the_instruction() {
    for body in [
        ".entry k() { .reg .b32 %r<2>; .reg .b64 %d<2>; add.s32 %r1, %d1, %r0; }",
        ".entry k() { .reg .b32 %r<2>; .reg .b64 %d<2>; add.s64 %r1, %d1, %d0; }",
        ".entry k() { .reg .b32 %r<2>; .reg .pred %p; add.s32 %r1, %p, %r0; }",
        ".entry k() { .reg .b32 %r<2>; @%r1 ret; }",
        ".entry k() { .reg .b32 %r<2>; .reg .b64 %d; ld.global.v2.u64 {%r1, %r0}, [%d]; }",
        ".entry k(.param .u32 p) { .reg .b64 %d; ld.param.u64 %d, [p]; }",
        ".entry k(.param .u32 p) { .reg .b32 %r; st.param.u32 [p], %r; }",
        ".const .u32 c; .entry k() { st.const.u32 [c], 1; }",
        ".shared .u32 c; .entry k() { st.global.u32 [c], 1; }",
    ] {
        refuse(body);
    }
}

#[test]
fn sizes_beyond_reason_are_refused() {
    for body in [
        ".global .b8 x[18446744073709551615];",
        ".global .b64 x[9223372036854775807];",
        ".global .b8 x[99999999][99999999];",
        ".entry k() { .shared .b8 s[999999]; .reg .b64 %d; mov.u64 %d, s; }",
        ".entry k() { .local .b8 s[9999999]; }",
        ".entry k(.param .b8 p[99999]) { ret; }",
        ".entry k() .maxntid 4294967295, 2 { ret; }",
    ] {
        refuse(body);
    }
    // Registers take nothing until they are used.
    parse(&format!("{HEAD}.entry k() {{ .reg .b32 %r<18446744073709551615>; mov.u32 %r123456789012, 1; }}"))
        .unwrap();
}

#[test]
fn nesting_exhausts_no_stack() {
    let deep = "{".repeat(200_000);
    refuse(&format!(".entry k() {deep}"));
    parse(&format!("{HEAD}.entry k() {{ {deep}{} }}", "}".repeat(200_000))).unwrap();
    let _ = parse(&format!("{HEAD}.global .u32 x[4] = {deep}"));
}

#[test]
fn long_chains_of_calls_are_walked_and_circles_refused() {
    let mut text = String::from(HEAD);
    for n in (0..3000).rev() {
        let call = if n < 2999 { format!("call f{}, ();", n + 1) } else { String::new() };
        text.push_str(&format!(".func f{n}() {{ {call} ret; }}\n"));
    }
    parse(&format!("{text}.entry k() {{ call f0, (); ret; }}")).unwrap();
    let e = refuse(
        ".func f();\n.func g() { call f, (); ret; }\n.func f() { call g, (); ret; }\n.entry k() { call f, (); }",
    );
    assert!(e.message.contains("recursive"), "{e}");
}

#[test]
fn other_things_than_ptx_are_refused() {
    for text in
        ["", "\0", "\x7fELF\u{2}\u{1}", "{", "hello", ".version", ".version 99.0\n.target sm_52", "/*", "\""]
    {
        parse(text).unwrap_err();
    }
    assert!(refuse(".entry k() { ret;").to_string().contains("end of text"));
    parse(&format!("{HEAD}.entry k() {{ ret; }}\0")).unwrap();
}

#[test]
fn the_projects_kernels_are_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../kernels/ptx");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "ptx") {
            let module = parse(&std::fs::read_to_string(&path).unwrap());
            assert!(!module.unwrap_or_else(|e| panic!("{}: {e}", path.display())).kernels.is_empty());
            count += 1;
        }
    }
    assert!(count > 0);
}
