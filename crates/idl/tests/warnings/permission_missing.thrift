service Orders {
  void place(1: string item) (permission = "orders.write")
  string find(1: i64 id)
}

service Stock {
  i32 count(1: string item)
  void add(1: string item) (permission = "stock.write")
} (permission = "stock.read")

service Open {
  void ping()
}
