/**
 * The file's own text,
 *   with an indented line.
 */
namespace * everything.here
namespace cpp a.b.c
namespace py.twisted deep.name
namespace py plain (package.version = "1.0")
namespace java org.example (a = "b", c)
namespace smalltalk.category Some.Thing
cpp_include "<vector>"
cpp_include "local.h"
include "include/shared.thrift"
include "include/other.thrift"

/** Documents the struct. */
struct S {
  1: shared.Thing thing
  2: other.Kind kind = other.Kind.B
}
