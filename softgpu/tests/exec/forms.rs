//! Instructions that the compilers' output at hand does not contain, in PTX written for the purpose.

use super::device::Device;
use crate::params;

/// A kernel `k(out)` around some instructions; `%r0` is the thread's number, `%r9` is stored to `out[thread]`.
fn results(threads: u32, body: &str) -> Vec<u32> {
    let text = format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n\
         .entry k(.param .u64 out) {{\n\
         .reg .b16 %h<10>; .reg .b32 %r<10>; .reg .f32 %f<10>; .reg .b64 %d<10>; .reg .pred %p<10>;\n\
         .shared .align 8 .b32 s[64];\n\
         mov.u32 %r0, %tid.x;\n{body}\n\
         ld.param.u64 %d0, [out]; mad.wide.u32 %d0, %r0, 4, %d0; st.global.u32 [%d0], %r9; ret; }}"
    );
    let mut device = Device::new(&text);
    let out = device.alloc(&vec![0u32; threads as usize]);
    device.go("k", 1, threads, &params![out]);
    device.read(out)
}

#[test]
fn branch_tables() {
    let got = results(
        8,
        "ts: .branchtargets A, B, C;\n rem.u32 %r1, %r0, 3;\n brx.idx %r1, ts;\n\
         A: mov.u32 %r9, 10; bra.uni E;\n B: add.u32 %r9, %r0, 20; bra E;\n C: mov.u32 %r9, 30;\n E:",
    );
    assert_eq!(got, [10, 21, 30, 10, 24, 30, 10, 27]);
}

#[test]
fn packing_and_vectors() {
    let got = results(
        4,
        "cvt.u16.u32 %h1, %r0; mov.b32 %r1, {%h1, 7}; mov.b64 %d1, {%r1, %r0}; mov.b64 {%h2, %h3, %h4, _}, %d1;\n\
         mov.u32 %r2, s; shl.b32 %r3, %r0, 3; add.u32 %r2, %r2, %r3; st.shared.v2.b32 [%r2], {%r1, %r0};\n\
         ld.shared.v4.u16 {%h5, %h6, %h7, %h8}, [%r2]; add.u16 %h9, %h2, %h3; add.u16 %h9, %h9, %h7;\n\
         cvt.u32.u16 %r9, %h9;",
    );
    assert_eq!(got, [7, 9, 11, 13]);
}

#[test]
fn addresses_go_through_the_generic_space() {
    let got = results(
        4,
        "cvta.shared.u64 %d1, s; mad.wide.u32 %d1, %r0, 4, %d1; st.u32 [%d1], %r0; cvta.to.shared.u64 %d2, %d1;\n\
         ld.shared.u32 %r1, [%d2]; isspacep.shared %p1, %d1; isspacep.global %p2, %d1; selp.u32 %r2, 100, 0, %p1;\n\
         selp.u32 %r3, 1000, 0, %p2; add.u32 %r9, %r1, %r2; add.u32 %r9, %r9, %r3;\n\
         mov.b64 %d3, out; cvta.param.u64 %d3, %d3; ld.u64 %d4, [%d3]; ld.param.u64 %d5, [out];\n\
         setp.ne.u64 %p3, %d4, %d5; @%p3 trap;",
    );
    assert_eq!(got, [100, 101, 102, 103]);
}

#[test]
fn warps_hand_over_with_arrive_and_sync() {
    // The second warp writes and only arrives; the first one waits for it.
    let got = results(
        64,
        "setp.lt.u32 %p1, %r0, 32; mov.u32 %r9, 0;\n @%p1 bra WAIT;\n st.shared.u32 [s], 77; bar.arrive 1, 64;\n\
         bra END;\n WAIT: bar.sync 1, 64; ld.shared.u32 %r9, [s];\n END:",
    );
    assert_eq!(got, [vec![77; 32], vec![0; 32]].concat());
}

#[test]
fn warps_spin_on_each_other() {
    let got = results(
        64,
        "setp.ge.u32 %p1, %r0, 32; setp.ne.u32 %p3, %r0, 63; mov.u32 %r9, 5;\n @%p1 bra SET;\n\
         LOOP: ld.volatile.shared.u32 %r1, [s]; setp.ne.u32 %p2, %r1, 123; @%p2 bra LOOP;\n mov.u32 %r9, %r1;\n\
         bra END;\n SET: @%p3 bra END; nanosleep.u32 20; st.volatile.shared.u32 [s], 123;\n END:",
    );
    assert_eq!(got, [vec![123; 32], vec![5; 32]].concat());
}

#[test]
fn lanes_wait_for_each_other_at_synchronising_shuffles() {
    // Odd lanes take a detour; the shuffle still sees all of them.
    let got = results(
        32,
        "and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 1; mov.u32 %r2, %r0;\n @!%p1 bra JOIN;\n\
         add.u32 %r2, %r2, 100; bra JOIN;\n JOIN: shfl.sync.bfly.b32 %r9|%p2, %r2, 1, 31, -1;",
    );
    let want: Vec<u32> = (0..32).map(|i| if i % 2 == 0 { i + 101 } else { i - 1 }).collect();
    assert_eq!(got, want);
}

#[test]
fn selections_and_properties() {
    let got = results(
        3,
        "sub.s32 %r1, %r0, 1; slct.u32.s32 %r2, 7, 9, %r1; set.lt.u32.s32 %r3, %r1, 0; and.b32 %r3, %r3, 100;\n\
         mov.f32 %f1, 0f7F800000; testp.infinite.f32 %p1, %f1; selp.u32 %r4, 1000, 0, %p1;\n\
         setp.eq.and.s32 %p2|%p3, %r0, 0, %p1; selp.u32 %r5, 10000, 0, %p3; add.u32 %r9, %r2, %r3;\n\
         add.u32 %r9, %r9, %r4; add.u32 %r9, %r9, %r5;",
    );
    assert_eq!(got, [9 + 100 + 1000, 7 + 1000 + 10000, 7 + 1000 + 10000]);
}

#[test]
fn flushing_and_saturation() {
    let got = results(
        1,
        "mov.f32 %f1, 0f00000001; add.ftz.f32 %f2, %f1, 0f00000000; add.f32 %f3, %f1, 0f00000000;\n\
         mul.sat.f32 %f4, 0f40000000, 0f3F800000; mov.b32 %r1, %f2; mov.b32 %r2, %f3; mov.b32 %r3, %f4;\n\
         shr.u32 %r3, %r3, 8; shl.b32 %r2, %r2, 4; or.b32 %r9, %r1, %r2; or.b32 %r9, %r9, %r3;",
    );
    assert_eq!(got, [16 | (0x3f80_0000 >> 8)]);
}

#[test]
fn functions_take_registers_in_older_texts() {
    let text = ".version 3.0\n.target sm_52\n.address_size 64\n\
        .func (.reg .u32 r) twice (.reg .u32 a) { add.u32 r, a, a; ret; }\n\
        .entry k(.param .u64 out) { .reg .u32 %r<3>; .reg .u64 %d; mov.u32 %r1, 21; call (%r2), twice, (%r1);\n\
        ld.param.u64 %d, [out]; st.global.u32 [%d], %r2; }";
    let mut device = Device::new(text);
    let out = device.alloc(&[0u32]);
    device.go("k", 1, 1, &params![out]);
    assert_eq!(device.read::<u32>(out), [42]);
}
