/** Users, as the next version has them. */
namespace rs api

exception NotFound {
  1: string what
}

struct User {
  1: required i64 id
  /** It was number 2. */
  6: string name
  7: optional string phone
}

service Users {
  void ping()
  User get(1: i64 id, 2: bool verbose = false) throws (1: NotFound not_found)
  i32 count(1: map<i64, i32> roles)
  void rename(1: i64 id, 2: string name)
  oneway void forget(1: i64 id)
}
