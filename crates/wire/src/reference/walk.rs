//! Walks over graphs that neither go round in circles nor take stack in proportion to their depth.
//!
//! Dropping, comparing and showing a value meets the references in it one inside the other, and
//! the traits for that leave no way to hand anything down. So only the outermost one does the work,
//! and what is met on the way waits in a list that each thread has for itself.

use std::any::Any;
use std::cell::RefCell;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

/// The state that a kind of walk keeps; `None` outside of any.
type Kept<T> = RefCell<Option<T>>;

#[derive(Default)]
struct Walks {
    dropping: Kept<Vec<Arc<dyn Any>>>,
    comparing: Kept<Comparison>,
    showing: Kept<Shown>,
}

thread_local! {
    static WALKS: Walks = Walks::default();
}

/// One of the kinds.
type Walk<T> = fn(&Walks) -> &Kept<T>;

/// Ends the walk, also where a value's own code panics.
struct Outermost<T>(Walk<T>);

impl<T> Drop for Outermost<T> {
    fn drop(&mut self) {
        // The kept state may hold values, whose end is a walk again.
        let ended = WALKS.try_with(|walks| (self.0)(walks).borrow_mut().take());
        drop(ended);
    }
}

/// Begins a walk; `None` inside of one, and where the thread is about to end.
fn begin<T: Default>(walk: Walk<T>) -> Option<Outermost<T>> {
    let begun = WALKS.try_with(|walks| {
        let mut kept = walk(walks).borrow_mut();
        let outermost = kept.is_none();
        kept.get_or_insert_default();
        outermost
    });
    (begun == Ok(true)).then(|| Outermost(walk))
}

/// Does something with what a walk keeps, if it has begun.
fn with<T, R>(walk: Walk<T>, act: impl FnOnce(&mut T) -> R) -> Option<R> {
    WALKS
        .try_with(|walks| walk(walks).borrow_mut().as_mut().map(act))
        .ok()
        .flatten()
}

/// Drops a pointer, and then those that its value held.
pub(super) fn drop_node<T: 'static>(node: Arc<T>) {
    let Some(_outermost) = begin(|walks| &walks.dropping) else {
        let mut node = Some(node);
        with(
            |walks| &walks.dropping,
            |waiting| waiting.extend(node.take().map(erase)),
        );
        return;
    };
    drop(node);
    while let Some(next) = with(|walks| &walks.dropping, Vec::pop).flatten() {
        drop(next);
    }
}

fn erase<T: 'static>(node: Arc<T>) -> Arc<dyn Any> {
    node
}

/// The pairs that are compared, so that each is compared once.
#[derive(Default)]
struct Comparison {
    /// By address, with owners, so that no address is used again.
    pairs: BTreeMap<(usize, usize), [Arc<dyn Any>; 2]>,
    waiting: Vec<Box<dyn FnOnce() -> bool>>,
}

/// Whether two graphs look the same from here. Inside of a comparison the answer is yes, and the
/// comparison as a whole looks at this pair later.
pub(super) fn equal<T: PartialEq + 'static>(left: Arc<T>, right: Arc<T>) -> bool {
    if Arc::ptr_eq(&left, &right) {
        return true;
    }
    let outermost = begin(|walks| &walks.comparing);
    let pair = (Arc::as_ptr(&left).addr(), Arc::as_ptr(&right).addr());
    with(
        |walks| &walks.comparing,
        |comparison| {
            if let Entry::Vacant(place) = comparison.pairs.entry(pair) {
                place.insert([erase(left.clone()), erase(right.clone())]);
                comparison.waiting.push(Box::new(move || *left == *right));
            }
        },
    );
    if outermost.is_none() {
        return true;
    }
    while let Some(next) = with(
        |walks| &walks.comparing,
        |comparison| comparison.waiting.pop(),
    )
    .flatten()
    {
        if !next() {
            return false;
        }
    }
    true
}

/// Nodes inside one another that are shown.
const DEEPEST: usize = 32;

/// The nodes that have been shown, with their numbers.
#[derive(Default)]
struct Shown {
    numbers: HashMap<usize, usize>,
    depth: usize,
}

/// Shows a node by its number, and with its value where that comes for the first time.
pub(super) fn show<T: fmt::Debug>(node: &Arc<T>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let _outermost = begin(|walks| &walks.showing);
    let address = Arc::as_ptr(node).addr();
    let (number, new, deep) = with(
        |walks| &walks.showing,
        |shown| {
            let next = shown.numbers.len();
            let number = *shown.numbers.entry(address).or_insert(next);
            shown.depth += 1;
            (number, number == next, shown.depth > DEEPEST)
        },
    )
    .unwrap_or_default();
    let written = match (new, deep) {
        (true, false) => write!(f, "#{number} ").and_then(|()| fmt::Debug::fmt(&**node, f)),
        (true, true) => write!(f, "#{number} …"),
        (false, _) => write!(f, "#{number}"),
    };
    with(|walks| &walks.showing, |shown| shown.depth -= 1);
    written
}
