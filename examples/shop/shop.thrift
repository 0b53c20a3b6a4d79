/** Orders of a shop, and who may do what with them. */
namespace rs shop

struct Order {
  1: i64 id
  2: string item
  3: i32 count
  /** The principal that has placed it. */
  4: string customer
}

exception SoldOut {
  1: string item
  /** How many are left. */
  2: i32 left
}

exception NoSuchOrder {
  1: i64 id
}

service Orders {
  /** Places an order. */
  Order place(1: string item, 2: i32 count) throws (1: SoldOut sold_out) (permission = "orders.write")

  /** One order. */
  readonly Order find(1: i64 id) throws (1: NoSuchOrder no_such_order)

  /** All orders, the oldest first. */
  readonly list<Order> all()

  /** All orders, then each new one as it is placed. */
  readonly stream<Order> watch()
} (permission = "orders.read")
