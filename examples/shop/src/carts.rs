//! The handler of carts, one for each session.

use crate::contract::shop::{Basket, Cart, CheckoutError, Line, Order, PlaceError};
use crate::orders::Shop;
use dovetail::sessions::Sessions;
use dovetail::{Context, Status};

/// Carts, and the shop that takes their orders.
pub(crate) struct Carts {
    shop: Shop,
    carts: Sessions<Basket>,
}

impl Carts {
    pub(crate) fn new(shop: Shop, carts: Sessions<Basket>) -> Self {
        Carts { shop, carts }
    }
}

/// Most lines of a cart.
const LINES: usize = 100;

impl Cart for Carts {
    async fn add(&self, context: Context, item: String, count: i32) -> Result<Basket, Status> {
        let mut cart = self.carts.enter(&context)?;
        if cart.lines.len() >= LINES {
            let why = format!("a cart has {LINES} lines at most");
            return Err(Status::failed_precondition(why));
        }
        cart.lines.push(Line {
            item,
            count,
            ..Line::default()
        });
        Ok(cart.clone())
    }

    async fn show(&self, context: Context) -> Result<Basket, Status> {
        Ok(self.carts.enter(&context)?.clone())
    }

    async fn checkout(&self, context: Context) -> Result<Vec<Order>, CheckoutError> {
        let mut cart = self.carts.enter(&context)?;
        let mut orders = Vec::new();
        while let Some(line) = cart.lines.first().cloned() {
            match self.shop.order(&context, line.item, line.count) {
                Ok(order) => orders.push(order),
                Err(PlaceError::SoldOut(sold_out)) => return Err(sold_out.into()),
                Err(PlaceError::Status(status)) => return Err(status.into()),
            }
            cart.lines.remove(0);
        }
        cart.end();
        Ok(orders)
    }
}
