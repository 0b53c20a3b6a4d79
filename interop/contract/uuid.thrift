/**
 * `uuid`, which runtimes know from 0.21 on and the 0.17 compiler does not: the peers speak this
 * contract through hand-written stubs.
 */

namespace go uuids
namespace rs uuids

/** A uuid in each place where one can stand. */
struct Uuids {
  /** As a field. */
  1: uuid single
  /** In a list. */
  2: list<uuid> many
  /** As a key and as a value. */
  3: map<uuid, uuid> pairs
  /** In a set. */
  4: set<uuid> distinct
  /** A field after them, so that a wrong length is noticed. */
  5: string last
}

/** Echoes uuids. */
service UuidService {
  /** Returns the value. */
  uuid echo_uuid(1: uuid value)

  /** Returns the value. */
  Uuids echo_uuids(1: Uuids value)

  /** Returns nil, 00112233-4455-6677-8899-aabbccddeeff and all ones. */
  list<uuid> known_uuids()
}
