/** The smallest contract that does something. */

namespace rs hello

service Hello {
  /** Greets somebody. */
  string hello(1: string name)
}
