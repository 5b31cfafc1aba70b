//! Two threads that wake each other: the least that any hand-over between threads costs on this machine.

use crate::fit;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

struct Table {
    /// Rallies so far, of which the even ones end with the caller.
    ball: Mutex<u64>,
    hit: Condvar,
}

impl Table {
    fn play(&self, wanted: u64) {
        let mut ball = self.ball.lock().unwrap_or_else(PoisonError::into_inner);
        while *ball != wanted {
            ball = self.hit.wait(ball).unwrap_or_else(PoisonError::into_inner);
        }
        *ball += 1;
        drop(ball);
        self.hit.notify_one();
    }
}

/// Median and 99th percentile of there and back, in nanoseconds.
pub fn round_trip(rounds: u64) -> [f64; 2] {
    let table = Table { ball: Mutex::new(0), hit: Condvar::new() };
    let mut samples = Vec::with_capacity(rounds as usize);
    std::thread::scope(|scope| {
        scope.spawn(|| (0..rounds).for_each(|round| table.play(2 * round + 1)));
        for round in 0..rounds {
            let begin = Instant::now();
            table.play(2 * round);
            let mut ball = table.ball.lock().unwrap_or_else(PoisonError::into_inner);
            while *ball != 2 * round + 2 {
                ball = table.hit.wait(ball).unwrap_or_else(PoisonError::into_inner);
            }
            drop(ball);
            samples.push(begin.elapsed().as_nanos() as f64);
        }
    });
    [fit::quantile(&mut samples, 0.5), fit::quantile(&mut samples, 0.99)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_threads_end() {
        let [median, high] = round_trip(1_000);
        assert!(0.0 < median && median <= high);
    }
}
