//! The handler of orders.

use crate::contract::shop::{FindError, NoSuchOrder, Order, Orders, PlaceError, SoldOut};
use dovetail::stream::Items;
use dovetail::{Context, Status};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// The number of each item in stock.
const STOCK: i32 = 100;

/// The orders, in memory. Clones are the same.
#[derive(Clone)]
pub(crate) struct Shop {
    orders: Arc<Mutex<Vec<Order>>>,
    /// How many there are, for those who watch.
    count: watch::Sender<usize>,
}

impl Default for Shop {
    fn default() -> Self {
        Shop {
            orders: Arc::default(),
            count: watch::Sender::new(0),
        }
    }
}

impl Shop {
    fn orders(&self) -> MutexGuard<'_, Vec<Order>> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Places an order for the caller of a call.
    pub(crate) fn order(
        &self,
        context: &Context,
        item: String,
        count: i32,
    ) -> Result<Order, PlaceError> {
        if !(1..=STOCK).contains(&count) {
            let why = format!("an order is for 1 to {STOCK}");
            return Err(Status::invalid_argument(why).into());
        }
        let mut orders = self.orders();
        let taken = orders.iter().filter(|order| order.item == item);
        let left = STOCK - taken.map(|order| order.count).sum::<i32>();
        if count > left {
            return Err(SoldOut {
                item,
                left,
                ..SoldOut::default()
            }
            .into());
        }
        let customer = context.principal().map_or("", |caller| caller.name());
        let order = Order {
            id: orders.len() as i64 + 1,
            item,
            count,
            customer: customer.to_owned(),
            ..Order::default()
        };
        orders.push(order.clone());
        self.count.send_replace(orders.len());
        Ok(order)
    }
}

impl Orders for Shop {
    async fn place(&self, context: Context, item: String, count: i32) -> Result<Order, PlaceError> {
        self.order(&context, item, count)
    }

    async fn find(&self, _: Context, id: i64) -> Result<Order, FindError> {
        let orders = self.orders();
        let found = orders.iter().find(|order| order.id == id);
        found.cloned().ok_or_else(|| {
            FindError::from(NoSuchOrder {
                id,
                ..NoSuchOrder::default()
            })
        })
    }

    async fn all(&self, _: Context) -> Result<Vec<Order>, Status> {
        Ok(self.orders().clone())
    }

    async fn watch(&self, _: Context) -> Result<Items<'_, Order>, Status> {
        let mut count = self.count.subscribe();
        Ok(Items::with(move |mut sender| async move {
            let mut sent = 0;
            loop {
                let new = self.orders().get(sent..).unwrap_or_default().to_vec();
                for order in new {
                    sender.send(order).await;
                    sent += 1;
                }
                if count.changed().await.is_err() {
                    return Ok(());
                }
            }
        }))
    }
}
