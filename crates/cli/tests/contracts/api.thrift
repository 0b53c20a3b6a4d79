/** Users and what they wrote. */
namespace rs api

include "shared/common.thrift"

typedef i64 UserId

enum Role {
  READER = 1
  /** May write too. */
  AUTHOR = 2
}

/** Somebody with an account. */
struct User {
  1: required UserId id
  2: string name
  3: optional string email
  4: Role role = Role.READER
  5: list<string> tags
}

exception NotFound {
  1: string what
}

service Base {
  string version()
}

service Users extends Base {
  void ping()
  /** Finds a user by id. */
  User get(1: UserId id, 2: bool verbose = false) throws (1: NotFound not_found)
  User add(1: User user)
  i32 count(1: map<Role, i32> roles)
  common.Page page(1: common.Page page)
  oneway void forget(1: UserId id)
}
