enum stream { date, u8, reserved, array }
enum sink { any }
struct date { 1: i32 stream, 2: i32 sink, 3: i32 ref, 4: i32 reserved, 5: i32 to }
struct timestamp { 1: date date, 2: stream stream, 3: sink sink }
struct decimal { 1: timestamp u64 }
struct array { 1: decimal duration }
typedef array any
typedef i32 u16
typedef string idempotent
typedef string readonly
exception safe { 1: string message }
struct reserved { 1: any any, 2: u16 u16; 3: u16 u32 }
struct server { 1: reserved reserved; 2: idempotent idempotent }
service client {
  stream stream(1: sink sink, 2: date date)
  any any()
  idempotent idempotent()
  readonly readonly() throws (1: safe safe)
  idempotent other()
}
struct _under { 1: i32 _a, 2: i32 a_, 3: i32 __ }
struct CamelCase9 { 1: i32 e10, 2: i32 x1y2, 3: i32 E }
