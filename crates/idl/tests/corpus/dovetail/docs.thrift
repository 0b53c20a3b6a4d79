/// A line,
/// and another.
struct S {
  1: i32 a ///< what follows it
  2: i32 b, /**< the same as a block */
  /** before */
  3: i32 c; /**< and after */
  //// not documentation
  4: i32 d
}
enum E {
  A, ///< first
  B  ///< second
}
