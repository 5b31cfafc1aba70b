//! Edges against their definition, on random lists: none is missing, and none is too many.

use super::super::edges::{Item, Place, Plan, Use, plan};
use crate::oracle::random::Random;
use hal_core::{Accesses, Barrier, Scope, Stages};
use smallvec::{SmallVec, smallvec};

fn known(start: u64, end: u64, access: Accesses) -> Use {
    Use { place: Place::Known { start, end }, access }
}

fn slot(slot: u32, start: u64, end: u64, access: Accesses) -> Use {
    Use { place: Place::Slot { slot, start, end }, access }
}

fn copy(uses: impl IntoIterator<Item = Use>) -> Item {
    Item::Work { stage: Stages::TRANSFER, uses: uses.into_iter().collect() }
}

const FULL: Item = Item::Barrier(Barrier::FULL);

/// For each command, the commands it directly comes after, whether through a join or not.
fn edges(plan: &Plan) -> Vec<Vec<usize>> {
    let step_of = |node: usize| plan.nodes[node].step;
    let mut edges = Vec::new();
    for planned in &plan.nodes {
        let Some(step) = planned.step else { continue };
        assert_eq!(step, edges.len(), "commands keep their order");
        let mut before = Vec::new();
        for &node in &planned.after {
            match step_of(node) {
                Some(step) => before.push(step),
                None => before.extend(plan.nodes[node].after.iter().map(|&node| step_of(node).unwrap())),
            }
        }
        before.sort_unstable();
        edges.push(before);
    }
    edges
}

fn edges_of(items: impl IntoIterator<Item = Item>) -> Vec<Vec<usize>> {
    edges(&plan(items))
}

#[test]
fn commands_that_share_nothing_are_left_alone() {
    let apart = edges_of([
        copy([known(0, 8, Accesses::WRITE)]),
        copy([known(8, 16, Accesses::WRITE)]),
        FULL,
        copy([known(0, 8, Accesses::WRITE)]),
        copy([known(8, 16, Accesses::WRITE)]),
        copy([known(16, 24, Accesses::WRITE)]),
        copy([known(7, 9, Accesses::READ)]),
    ]);
    assert_eq!(apart, [vec![], vec![], vec![0], vec![1], vec![], vec![0, 1]]);
}

#[test]
fn without_a_barrier_there_is_no_order_and_readers_never_wait_for_each_other() {
    let uses = || copy([known(0, 8, Accesses::WRITE)]);
    assert_eq!(edges_of([uses(), uses()]), [vec![], vec![0; 0]]);
    let reads = || copy([known(0, 8, Accesses::READ)]);
    assert_eq!(edges_of([reads(), FULL, reads()]), [vec![], vec![0; 0]]);
}

#[test]
fn what_a_write_covers_is_forgotten_only_behind_a_barrier() {
    let write = || copy([known(0, 8, Accesses::WRITE)]);
    // The third and the fourth stand side by side: both come after the first.
    assert_eq!(edges_of([write(), FULL, write(), write()]), [vec![], vec![0], vec![0]]);
    assert_eq!(edges_of([write(), FULL, write(), FULL, write()]), [vec![], vec![0], vec![1]]);
}

#[test]
fn slots_may_be_anything_but_themselves() {
    let found = edges_of([
        copy([slot(0, 0, 8, Accesses::WRITE)]),
        FULL,
        copy([slot(0, 8, 16, Accesses::WRITE)]),
        copy([slot(1, 0, 8, Accesses::READ)]),
        copy([known(0, 8, Accesses::READ)]),
    ]);
    assert_eq!(found, [vec![], vec![], vec![0], vec![0]]);
}

#[test]
fn a_barrier_orders_what_it_has_in_scope() {
    let dispatch = |access| Item::Work { stage: Stages::DISPATCH, uses: smallvec![known(0, 8, access)] };
    let transfers = Scope::new(Stages::TRANSFER, Accesses::ALL);
    let dispatches = Scope::new(Stages::DISPATCH, Accesses::ALL);
    let barrier = |before, after| Item::Barrier(Barrier { before, after });
    let found = edges_of([
        copy([known(0, 8, Accesses::WRITE)]),
        dispatch(Accesses::WRITE),
        barrier(transfers, dispatches),
        dispatch(Accesses::READ),
        copy([known(0, 8, Accesses::READ)]),
    ]);
    assert_eq!(found, [vec![], vec![], vec![0], vec![]]);
    // Writes before reads: an overwriting command is not held back by readers.
    let written = Scope::new(Stages::ALL, Accesses::WRITE);
    let read = Scope::new(Stages::ALL, Accesses::READ);
    let found = edges_of([
        copy([known(0, 8, Accesses::WRITE)]),
        barrier(written, read),
        copy([known(0, 8, Accesses::READ)]),
        barrier(written, read),
        copy([known(0, 8, Accesses::WRITE)]),
    ]);
    assert_eq!(found, [vec![], vec![0], vec![]]);
}

/// Many before many takes the sum of both, not their product.
#[test]
fn many_commands_after_the_same_many_join() {
    let all = |n: usize| (0..n).map(|_| copy([known(0, 8, Accesses::WRITE)]));
    let plan = plan(all(1000).chain([FULL]).chain(all(1000)));
    let links: usize = plan.nodes.iter().map(|node| node.after.len()).sum();
    assert_eq!((plan.nodes.len(), links), (2001, 2000));
    let edges = edges(&plan);
    assert!(edges[1000..].iter().all(|before| before.len() == 1000));
}

struct List {
    items: Vec<Item>,
    /// For each command: its stage, its uses, and the barriers before it.
    commands: Vec<(Stages, SmallVec<[Use; 4]>, usize)>,
    barriers: Vec<Barrier>,
}

fn list(random: &mut Random) -> List {
    let mut list = List { items: Vec::new(), commands: Vec::new(), barriers: Vec::new() };
    let partial = random.one_in(3);
    for _ in 0..random.below(30) {
        if random.one_in(4) {
            let mut scope = || {
                let stages = [Stages::ALL, Stages::TRANSFER, Stages::DISPATCH][random.below(3) as usize];
                let accesses = [Accesses::ALL, Accesses::READ, Accesses::WRITE][random.below(3) as usize];
                Scope::new(stages, accesses)
            };
            let barrier = if partial { Barrier { before: scope(), after: scope() } } else { Barrier::FULL };
            list.barriers.push(barrier);
            list.items.push(Item::Barrier(barrier));
            continue;
        }
        let stage = [Stages::TRANSFER, Stages::DISPATCH][random.below(2) as usize];
        let uses: SmallVec<[Use; 4]> = (0..1 + random.below(3))
            .map(|_| {
                let access = [Accesses::ALL, Accesses::READ, Accesses::WRITE][random.below(3) as usize];
                let start = random.below(12) * 4;
                let end = start + 4 + random.below(4) * 4;
                match random.below(4) {
                    0 => slot(random.below(2) as u32, start, end, access),
                    _ => known(start, end, access),
                }
            })
            .collect();
        list.commands.push((stage, uses.clone(), list.barriers.len()));
        list.items.push(Item::Work { stage, uses });
    }
    list
}

/// As it is defined: some barrier between them has two conflicting uses in scope.
fn must_wait(list: &List, first: usize, second: usize) -> bool {
    let ((before, had, from), (after, has, to)) = (&list.commands[first], &list.commands[second]);
    let both = [Accesses::READ, Accesses::WRITE];
    list.barriers[*from..*to].iter().any(|barrier| {
        barrier.before.stages.contains(*before)
            && barrier.after.stages.contains(*after)
            && had.iter().any(|a| {
                has.iter().any(|b| {
                    a.place.may_overlap(b.place)
                        && both.iter().any(|x| {
                            both.iter().any(|y| {
                                (*x, *y) != (Accesses::READ, Accesses::READ)
                                    && a.access.contains(*x)
                                    && b.access.contains(*y)
                                    && barrier.before.accesses.contains(*x)
                                    && barrier.after.accesses.contains(*y)
                            })
                        })
                })
            })
    })
}

#[test]
fn random_lists_have_every_edge_and_no_other() {
    let (mut ordered, mut apart) = (0, 0);
    for seed in 1..=5_000 {
        let list = list(&mut Random::new(seed));
        let edges = edges_of(list.items.iter().cloned());
        assert_eq!(edges.len(), list.commands.len());
        // By command, all that it comes after in any number of steps.
        let mut reaches: Vec<u64> = Vec::new();
        for (second, before) in edges.iter().enumerate() {
            reaches.push(before.iter().fold(0, |set, &first| set | 1 << first | reaches[first]));
            for first in 0..second {
                let needed = must_wait(&list, first, second);
                assert!(
                    !needed || reaches[second] >> first & 1 == 1,
                    "seed {seed}: {second} may run before {first}"
                );
                assert!(
                    needed || !before.contains(&first),
                    "seed {seed}: {second} waits for {first} for nothing"
                );
                if needed {
                    ordered += 1;
                } else {
                    apart += 1;
                }
            }
        }
    }
    assert!(ordered > 50_000 && apart > 50_000, "{ordered} {apart}");
}
