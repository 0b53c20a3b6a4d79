service S {
  void ping(1: i32 a
  void pong()
}

struct After { 1: Unknown x }
