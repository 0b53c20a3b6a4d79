safe exception A {}
transient exception B {}
stateful exception C {}
permanent exception D {}
client exception E {}
server exception F {}
safe transient server exception G { 1: string message }
client permanent exception H extends D { 1: string message }

service S {
  idempotent void put(1: i32 a)
  readonly i32 get()
  idempotent list<i32> all()
  readonly stream<i32> watch()
  readonly sink<i32, i64> sum()
  idempotent oneway void hint()
  oneway idempotent void hint2()
}
