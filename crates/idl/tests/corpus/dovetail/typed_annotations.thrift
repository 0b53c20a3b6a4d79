include "../pure/include/shared.thrift"

struct Range { 1: required i64 min, 2: i64 max = 100, 3: optional shared.Kind kind }
struct Flag {}
struct Names { 1: list<string> names, 2: map<string, i32> weights }

/** Documented, then annotated. */
@Flag
struct S {
  /** The field. */
  @Range{min = 1, max = 5}
  @Flag
  1: i32 a
  @Range{min = -1; kind = shared.Kind.SECOND} 2: i32 b (old = "style")
  @Names{names = ["x", "y"], weights = {"x": 1}}
  3: i32 c
}
@Flag {} enum E { @Flag A, @Range{min = 3} B = 7 }
@Flag typedef i32 T
@Flag const i32 C = 1
@Flag union U { @Flag 1: i32 a }
@Flag @Range{min = 1} safe exception X { @Flag 1: string message }
@Flag service V {
  @Range{min = 9}
  readonly i32 get(@Flag 1: i32 a) throws (@Flag 1: X x)
}
