namespace rs jobs

struct Job {
  1: string name
}

exception Busy {
  1: i32 retry_after
}

exception Lost {
}

service Jobs {
  /** The job, then its progress until it ends. */
  readonly Job, stream<i32 throws (1: Lost lost)> follow(1: string name) throws (1: Busy busy)
  stream<Job> all()
  /** Many jobs, one answer. */
  sink<Job, i64> submit(1: bool at_once)
  sink<Job throws (1: Lost lost), i64> submit_or_lose(1: i32 items) throws (1: Busy busy)
  sink<binary> log()
  sink<string>, stream<string> talk()
  Job, sink<list<string> throws (1: Lost lost)>, stream<map<string, Job> throws (1: Lost lost, 2: Busy busy)> everything(1: string a_rather_long_name, 2: string another_rather_long_name) throws (1: Lost lost, 2: Busy busy)
}
