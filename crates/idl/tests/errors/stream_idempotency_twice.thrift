service S {
  idempotent readonly i32 get()
}
