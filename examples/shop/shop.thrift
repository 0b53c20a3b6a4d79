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

/** Something in a cart. */
struct Line {
  1: string item
  2: i32 count
}

/** The cart of a session. */
struct Basket {
  1: list<Line> lines
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

/** A cart, which a caller comes back to by its session. */
service Cart {
  /** Puts something into the cart, and returns all that is in it. */
  Basket add(1: string item, 2: i32 count)

  /** What is in the cart. */
  readonly Basket show()

  /** Places an order for each line, and ends the session. After an error the lines that are left stay in the cart. */
  list<Order> checkout() throws (1: SoldOut sold_out)
} (permission = "orders.write")
