include "include/shared.thrift"

exception A { 1: string message }
exception B {}
typedef A AlsoA
struct Request { 1: string text }

service Empty {}
service Base {
  void nothing()
  oneway void forget(1: i32 a)
  i32 number(1: i32 a, 2: i64 b)
  list<string> texts()
  map<string, Request> table(1: map<i32, i32> m)
  Request echo(1: Request request)
  void fails() throws (1: A a)
  i32 fails_often(1: i32 a) throws (1: A a, 2: B b, 3: shared.Problem p)
  void fails_by_another_name() throws (1: AlsoA a)
  binary blob(1: required binary blob)
  i32 defaults(1: i32 a = 5, 2: string b = "x")
}
service Derived extends Base { bool more() }
service Remote extends shared.Root { void local() }
service Last extends Derived { void last() }
