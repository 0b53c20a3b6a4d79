/** What the benchmarks call. */
namespace cpp bench
namespace rs bench

service Bench {
  /** The smallest call that carries something: returns its parameter. */
  i32 get_answer(1: i32 question)
}
