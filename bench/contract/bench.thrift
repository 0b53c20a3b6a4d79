/**
 * What the benchmarks call, in every system: `bench.proto` and `bench.capnp` say the same.
 * The workloads and their data are described in `bench/README.md`.
 */
namespace cpp bench
namespace go bench
namespace java dev.dovetail.bench
namespace rs bench

/** Badly aligned on purpose. */
struct Date {
  1: i32 year
  2: i8 month
  3: i8 day
}

struct Mark {
  1: i16 course
  2: string title
  3: double grade
  4: bool passed
  5: Date date
}

struct Semester {
  1: i8 number
  2: Date start
  3: list<Mark> marks
}

struct Student {
  1: string name
  2: i8 kind
  3: Date born
  4: list<Semester> semesters
}

struct Nested {
  1: i32 small
  2: i64 large
}

struct Sample {
  1: i32 small
  2: i64 large
  3: double real
  4: Nested nested
}

/** One row of a table: ten fields. */
struct Row {
  1: i64 id
  2: string name
  3: string born
  4: double amount
  5: bool voter
  6: string street
  7: string house
  8: string city
  9: string state
  10: string zip
}

struct Message {
  1: i64 id
  2: string text
  3: binary payload
}

service Bench {
  /** The smallest call that carries something: returns 41 more than it gets. */
  i32 get_answer(1: i32 question)

  /** Returns so many bytes. */
  binary get_blob(1: i32 size)

  /** Returns deeply nested records. */
  list<Student> get_structs() (rust.arc = "1")

  /** Returns what it gets, made anew from the application's own types. */
  list<Sample> echo_samples(1: list<Sample> samples)

  /** Returns so many rows, after so many milliseconds; after a negative number, of computing. */
  list<Row> db_work(1: i32 rows, 2: i32 wait_ms)

  /** Returns what it gets. */
  Message process(1: Message message)
}
