/**
 * Types that another file includes: a peer proves with them that it follows `include`
 * and qualified names.
 */

namespace cpp interop.shared
namespace go shared
namespace java interop.shared
namespace py interop_shared
namespace rs shared

/** Where a value comes from. */
struct Origin {
  /** The host that made it. */
  1: string host
  /** The port on that host. */
  2: i16 port = 9090
}

/** How much somebody cares. */
enum Weight {
  /** Not at all. */
  NONE = 0
  /** A little. */
  LIGHT = 10
  /** Very much. */
  HEAVY = 1000
}
