//! Cases of a test beside each other, where `cargo xtask fault` tries many: most of a case is waiting.

use std::{
    sync::{Condvar, Mutex, PoisonError},
    thread,
};

use crate::Effort;

/// Cases at work at any moment, of all tests of a process together.
const AT_ONCE: usize = 8;

/// How many more may begin.
static FREE: Mutex<usize> = Mutex::new(AT_ONCE);
static FREED: Condvar = Condvar::new();

/// What each case comes to. In the ordinary tests they follow each other: other tests run beside them there.
pub fn several<C: Send, T: Send>(cases: impl Iterator<Item = C> + Send, case: impl Fn(C) -> T + Sync) -> Vec<T> {
    if !Effort::is_asked() {
        return cases.map(case).collect();
    }
    let (cases, results) = (Mutex::new(cases), Mutex::new(Vec::new()));
    let next = || cases.lock().expect("no panic with it").next();
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let _turn = Turn::wait();
                    let Some(taken) = next() else { break };
                    let result = case(taken);
                    results.lock().expect("no panic with it").push(result);
                }
            });
        }
    });
    results.into_inner().expect("no panic with it")
}

/// The right to be one of those at work; it ends with the case, also with a panic.
struct Turn;

impl Turn {
    fn wait() -> Turn {
        let free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        *FREED.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner) -= 1;
        Turn
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *FREE.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        FREED.notify_one();
    }
}
