/** All of it together. */
namespace rs everything

include "../pure/include/shared.thrift"

@shared.Thing{id = 5}
transient server exception Busy extends Failure { 2: duration retry_after = "PT1S" }
exception Failure { 1: string message; reserved 100 to 200 }

struct Job {
  1: required uuid id
  2: timestamp submitted
  3: array<float, *, 3> points
  4: ref Job depends_on
  5: map<string, dynamic> labels = {}
} (deprecated = "use Task")

service Jobs extends shared.Root {
  readonly Job, stream<Progress throws (1: Busy busy)> follow(1: uuid id) throws (1: Failure failure)
  idempotent Handle submit(1: Job job)
}
service Handle { void cancel() }
union Progress { 1: float done, 2: any result }
