//! Cycles and order in a directed graph, without recursion: a contract may be deeper than the
//! stack.

use std::collections::hash_map::{Entry, HashMap};

/// `edges[n]` are the nodes that `n` needs.
pub(crate) type Edges = Vec<Vec<usize>>;

/// The strongly connected components, those that are needed first (Tarjan's algorithm).
pub(crate) fn components(edges: &Edges) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let count = edges.len();
    let (mut number, mut low) = (vec![UNSEEN; count], vec![0; count]);
    let mut on_stack = vec![false; count];
    let (mut stack, mut path, mut found) = (Vec::new(), Vec::new(), Vec::new());
    let mut next = 0;
    for root in 0..count {
        if number[root] != UNSEEN {
            continue;
        }
        path.push((root, 0));
        while let Some((node, edge)) = path.pop() {
            if edge == 0 {
                number[node] = next;
                low[node] = next;
                next += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            if let Some(&target) = edges[node].get(edge) {
                path.push((node, edge + 1));
                if number[target] == UNSEEN {
                    path.push((target, 0));
                } else if on_stack[target] {
                    low[node] = low[node].min(number[target]);
                }
                continue;
            }
            if let Some(&(parent, _)) = path.last() {
                low[parent] = low[parent].min(low[node]);
            }
            if low[node] == number[node] {
                let start = stack
                    .iter()
                    .rposition(|member| *member == node)
                    .unwrap_or(0);
                let component = stack.split_off(start);
                component
                    .iter()
                    .for_each(|member| on_stack[*member] = false);
                found.push(component);
            }
        }
    }
    found
}

/// The components that are cycles, each as a shortest path from its smallest node back to it:
/// `[a, b]` for a → b → a.
pub(crate) fn cycles(edges: &Edges) -> Vec<Vec<usize>> {
    let mut member_of = vec![usize::MAX; edges.len()];
    let mut found = Vec::new();
    for (number, component) in components(edges).into_iter().enumerate() {
        component
            .iter()
            .for_each(|member| member_of[*member] = number);
        let Some(&start) = component.iter().min() else {
            continue;
        };
        if component.len() == 1 && !edges[start].contains(&start) {
            continue;
        }
        found.push(shortest(edges, start, |node| member_of[node] == number));
    }
    found
}

fn shortest(edges: &Edges, start: usize, inside: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut came_from = HashMap::new();
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for &target in edges[node].iter().filter(|target| inside(**target)) {
            if target == start {
                let mut path = vec![node];
                let mut at = node;
                while let Some(&before) = came_from.get(&at) {
                    path.push(before);
                    at = before;
                }
                path.reverse();
                return path;
            }
            if let Entry::Vacant(entry) = came_from.entry(target) {
                entry.insert(node);
                queue.push_back(target);
            }
        }
    }
    vec![start]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_comes_first() {
        let order: Vec<usize> = components(&vec![vec![1, 2], vec![2], vec![]]).concat();
        assert_eq!(order, [2, 1, 0]);
    }

    #[test]
    fn cycles_are_shortest_paths() {
        let edges = vec![vec![1], vec![2, 3], vec![3], vec![0], vec![4], vec![0]];
        assert_eq!(cycles(&edges), [vec![0, 1, 3], vec![4]]);
    }

    #[test]
    fn depth_costs_no_stack() {
        let edges: Edges = (0..200_000).map(|n| vec![(n + 1) % 200_000]).collect();
        assert_eq!(cycles(&edges)[0].len(), 200_000);
    }
}
