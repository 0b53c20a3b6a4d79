namespace rs exceptions

/** Not there. */
exception NotFound {
  1: string subject
  2: i32 searched
}

exception Refused {
  1: i32 code
  2: string message = "no"
}

exception Explained {
  1: optional string why
} (message = "why")

exception Terse {
  1: string words
}

exception Status {
}

typedef Refused Denied

service Shop {
  /** Buys. */
  i32 buy(1: string what) throws (
    /** It is not for sale. */
    1: NotFound missing,
    2: Refused refused
  )
  void sell(1: string what) throws (1: NotFound missing)
  void swap() throws (1: Refused first, 2: Denied second, 3: Status status)
  string look()
}

service Market {
  void sell(1: i32 what) throws (1: Explained why)
}
