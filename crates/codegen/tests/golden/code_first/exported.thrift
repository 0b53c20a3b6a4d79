struct Order {
  1: i64 id
  2: string type
  3: Status status
  4: list<Address> stops
  5: map<string, i64> prices
  6: set<i32> tags
  7: optional Payment payment
  /**
   * In kilograms.
   *
   * With what is around it.
   */
  8: double weight = 1.5
  9: binary label
  10: optional Order parent
  11: uuid key
  12: timestamp at
  13: array<float, 3> size
}

exception NotFound {
  1: string message
  2: i64 id
}

enum Status {
  /** Nobody has paid. */
  OPEN = 0
  PAID = 1
  SENT_BACK = 7
}

/** Where something goes. */
struct Address {
  1: string street
  3: optional string door
  4: required i32 code
}

union Payment {
  /** Its number. */
  1: string card
  2: i64 cash
  5: Address by_mail
}

exception Refused {
  1: optional string why
}

service Counter {
  i64 count()
}

/** Takes orders. */
service Orders extends Counter {
  /** One that was placed. */
  Order get(1: i64 id) throws (1: NotFound missing)
  i64 place(1: Order order, 2: required Payment payment, 5: i32 copies = 1) throws (1: NotFound not_found, 3: Refused refused)
  idempotent list<Order> find(1: string text, 2: list<Status> statuses, 3: i32 limit)
  void move(1: i64 id)
  oneway void touch(1: i64 id)
  i64 getAll()
  stream<Order> follow(1: i64 since)
  i64, stream<string> log() throws (1: Refused refused)
  sink<Order, i64> import(1: bool all)
  sink<string>, stream<string> talk()
}
