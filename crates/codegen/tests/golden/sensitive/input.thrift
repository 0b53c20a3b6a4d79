namespace rs sensitive

struct Login {
  1: string user
  /** Nobody reads it. */
  2: string password (sensitive)
  3: required i32 type (sensitive)
}

struct Admin extends Login {
  4: list<string> keys (sensitive)
}

union Payment {
  1: string card (sensitive)
  2: i64 cash
}

exception Declined {
  1: string message (sensitive)
  2: i32 code
}

service Accounts {
  Login check(1: Login login, 2: required i32 pin (sensitive), 3: string note) throws (1: Declined declined)
}
