exception Lost { 1: string why }
struct Item { 1: i32 id }
struct Summary { 1: i64 count }
service Streams {
  stream<Item> items(1: i32 from_id)
  Summary, stream<Item> items_after_summary()
  stream<Item throws (1: Lost lost)> may_break() throws (1: Lost lost)
  sink<Item, Summary> upload(1: string name)
  sink<Item> upload_silently()
  sink<Item, void> upload_silently_too()
  sink<Item throws (1: Lost lost), Summary> upload_with_loss()
  sink<Item>, stream<Item> chat()
  Summary, sink<Item>, stream<Item> chat_after_summary()
  stream<Item>, sink<Item> chat_written_the_other_way()
  void, stream<list<Item>> batches()
}
