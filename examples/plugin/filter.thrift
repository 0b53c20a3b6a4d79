/** What a host asks of its plugins. */
namespace rs filter

/** The text cannot be filtered. */
exception Refused {
  1: string why
}

service Filter {
  /** The text as the plugin would have it. */
  string apply(1: string text) throws (1: Refused refused)

  /** The number of the plugin's process. */
  i32 process()

  /** Ends the plugin in the middle of its work. */
  void crash()
}
