/** A joiner's workshop: the contract behind `dovetail demo`. */

namespace rs workshop
namespace py workshop

typedef i64 OrderId

/** What a board is made of. */
enum Wood {
  ASH = 1
  OAK = 2
  WALNUT = 3
}

/** One board, sizes in millimetres. */
struct Board {
  1: required i32 length
  2: required i32 width
  3: Wood wood = Wood.OAK
}

/** What a customer wants made. */
struct Order {
  1: OrderId id
  2: string customer
  3: list<Board> boards
  4: optional string email
  5: map<string, string> notes
}

/** What it costs, and when it is ready. */
struct Quote {
  1: OrderId id
  2: i64 cents
  3: string currency = "EUR"
  4: i32 days
}

/** There is not enough of a wood. */
exception OutOfStock {
  1: Wood wood
  2: string message
}

/** What is in the shed. */
service Stock {
  /** How many metres of a wood are left. */
  i32 metres(1: Wood wood)
}

/** The workshop itself. */
service Workshop extends Stock {
  /** Answers if somebody is there. */
  void ping()

  /** Prices an order. */
  Quote quote(1: Order order) throws (1: OutOfStock out_of_stock)

  /** Leaves a note; nobody answers. */
  oneway void note(1: string text)
}
