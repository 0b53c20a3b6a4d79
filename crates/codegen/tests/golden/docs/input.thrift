namespace rs docs

/**
 * Code that is not Rust:
 *
 * ```
 * x = y;
 * ```
 *
 * ```rust
 * let x = wrong;
 * ```
 *
 *     indented();
 *
 * A list:
 * - first
 *   continued
 * lazily
 *
 * Ends with a backslash \
 */
struct Documented {
  /** "Quotes", <b>tags</b>, [brackets], {braces}, `ticks`, /// slashes and //! bangs. */
  1: i32 field
  /** A fence that nobody closes:
   * ```
   * x
   */
  2: i32 fence
}

/** Adds.
 *
 * @param a the first
 */
service Adder {
  /** Adds two numbers. */
  i32 add(/** The first. */ 1: i32 a, 2: i32 b)
}
