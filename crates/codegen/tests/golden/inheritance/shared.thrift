namespace rs company.shared

struct Item {
  1: i32 key
}

service Base {
  void ping()
}

service Shared extends Base {
  Item get(1: i32 key)
}
