//! How many retries a channel may make beside its calls.

use std::sync::atomic::{AtomicU32, Ordering};

/// The settings of a [`Budget`], as `retryThrottling` of gRPC's service config has them (gRFC A6).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BudgetSettings {
    /// The tokens of a full budget. Default 100. Retries are made while more than half of them are
    /// there.
    pub max_tokens: u32,
    /// The tokens that a successful call gives back. A failed one takes 1. Default 0.1.
    pub token_ratio: f32,
}

impl Default for BudgetSettings {
    fn default() -> Self {
        BudgetSettings {
            max_tokens: 100,
            token_ratio: 0.1,
        }
    }
}

/// Tokens that all calls of a channel share: servers in trouble get no more load by retries.
#[derive(Debug)]
pub struct Budget {
    settings: BudgetSettings,
    /// In thousandths.
    tokens: AtomicU32,
}

const ONE: u32 = 1000;

impl Budget {
    /// A full budget.
    #[must_use]
    pub fn new(settings: BudgetSettings) -> Self {
        let tokens = AtomicU32::new(settings.max_tokens.saturating_mul(ONE));
        Budget { settings, tokens }
    }

    /// Notes that a call has succeeded.
    pub fn succeeded(&self) {
        let full = self.full();
        // A full budget, which is the usual case, is only read.
        if self.tokens.load(Ordering::Relaxed) == full {
            return;
        }
        let more = (self.settings.token_ratio.max(0.0) * ONE as f32) as u32;
        self.change(|tokens| tokens.saturating_add(more).min(full));
    }

    /// Notes that an attempt has failed. True where another one may follow.
    pub fn failed(&self) -> bool {
        self.change(|tokens| tokens.saturating_sub(ONE)) > self.full() / 2
    }

    /// Returns true if an attempt beside others may be made.
    pub fn allows(&self) -> bool {
        self.tokens.load(Ordering::Relaxed) > self.full() / 2
    }

    /// The tokens that are left.
    #[must_use]
    pub fn tokens(&self) -> f32 {
        self.tokens.load(Ordering::Relaxed) as f32 / ONE as f32
    }

    fn full(&self) -> u32 {
        self.settings.max_tokens.saturating_mul(ONE)
    }

    /// Returns the tokens after the change.
    fn change(&self, change: impl Fn(u32) -> u32) -> u32 {
        let changed = self
            .tokens
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |tokens| {
                Some(change(tokens))
            });
        change(changed.unwrap_or_else(|tokens| tokens))
    }
}

impl Default for Budget {
    fn default() -> Self {
        Budget::new(BudgetSettings::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_end_when_half_of_the_tokens_are_gone() {
        // Tokens, ratio, successes and failures in turn, and how many retries are allowed.
        let rows: &[(u32, f32, &str, usize)] = &[
            (10, 0.1, "ffff", 4),
            (10, 0.1, "ffffffffff", 4),
            (10, 0.5, "fffffssfff", 4),
            (10, 1.0, "fsfsfsfsfsfsfsfs", 8),
            (0, 0.1, "ff", 0),
            (1, 0.1, "ff", 0),
        ];
        for (max_tokens, token_ratio, turns, allowed) in rows {
            let budget = Budget::new(BudgetSettings {
                max_tokens: *max_tokens,
                token_ratio: *token_ratio,
            });
            let retries = turns.chars().filter(|turn| match turn {
                'f' => budget.failed(),
                _ => {
                    budget.succeeded();
                    false
                }
            });
            assert_eq!(retries.count(), *allowed, "{turns}");
        }
    }
}
