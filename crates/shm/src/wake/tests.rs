use super::*;
use std::cell::RefCell;

/// Writes down what the kernel is asked for.
#[derive(Default)]
struct Calls(RefCell<Vec<&'static str>>);

impl Bell for Calls {
    fn wake(&self, _: &Word) {
        self.0.borrow_mut().push("futex");
    }

    fn signal(&self) {
        self.0.borrow_mut().push("line");
    }
}

/// A publisher asks the kernel for nothing while nobody sleeps, and once for each sleep.
#[test]
fn calls_for_each_sleep() {
    let rows: [(&[Sleep], &[&str]); 6] = [
        (&[], &[]),
        (&[Sleep::Awake], &[]),
        (&[Sleep::Futex], &["futex"]),
        (&[Sleep::Line], &["line"]),
        (&[Sleep::Futex, Sleep::Line], &["futex", "line"]),
        (
            &[Sleep::Futex, Sleep::Awake, Sleep::Futex],
            &["futex", "futex"],
        ),
    ];
    for (sleeps, expected) in rows {
        let (word, bell, calls) = (Word::default(), Word::default(), Calls::default());
        let (mut sleeper, ringer) = (Sleeper::default(), Ringer::default());
        for sleep in sleeps {
            match sleep {
                Sleep::Awake => sleeper.end(&word),
                sleep => sleeper.begin(&word, *sleep),
            }
            for _ in 0..3 {
                ringer.ring(&word, &bell, &calls);
            }
        }
        assert_eq!(*calls.0.borrow(), expected, "{sleeps:?}");
        let futexes = expected.iter().filter(|call| **call == "futex").count();
        assert_eq!(bell.observe() as usize, futexes, "{sleeps:?}");
    }
}

/// A word that no end writes as the rules say.
#[test]
fn sleeps_that_cannot_be() {
    for value in [3, u32::MAX] {
        let (word, bell, calls) = (Word::default(), Word::default(), Calls::default());
        word.publish(value);
        Ringer::default().ring(&word, &bell, &calls);
        assert!(calls.0.borrow().is_empty());
    }
}
