// a line
# another kind of line
/* a block */
/** floating, then replaced */
/**/ /***/ /*****/
/**
 * The struct.
 *
 * - keeps
 *     indentation
 *
 */
struct Documented { // trailing line
  /** first */
  1: i32 first, /* after */
  /** Replaced. */
  /** second,
      with a continuation */
  2: i32 second
  /*** banner ***/
  3: string text = "/* not a comment */ # nor this // nor that"
  /** last */ 4: optional list</* inside */i32 /* a type */> numbers
} /* end */

/** The enum. */
enum Level {
  /** Low. */
  LOW, /** High, in Apache's reading. */
  HIGH # no newline needed
}
/** The service. */
service Svc {
  /** The method. */
  void ping(/** The parameter. */ 1: i32 a)
}
/** A constant. */
const i32 X = 1 /** dangling */
