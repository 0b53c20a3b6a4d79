/**
 * What Dovetail and Neovim say to each other over msgpack-rpc. `dynamic` and one-way calls that are requests elsewhere
 * are beyond stock Thrift: only Dovetail reads this file.
 */

namespace rs neovim

/** A struct for Lua, which has it as a list or as a table by name. */
struct Point {
  1: i32 x
  2: i32 y
  3: optional string label
}

/** Declared, so Neovim gets a table. */
exception Refused {
  1: string reason
}

/** Some of what Neovim serves; `:help api`. */
service Editor {
  /** How many columns a text takes. */
  i64 nvim_strwidth(1: string text)
  /** Sets a global variable. */
  void nvim_set_var(1: string name, 2: dynamic value)
  /** A global variable; fails where there is none. */
  dynamic nvim_get_var(1: string name)
  /** Sent as a notification, which Neovim takes for every method. */
  oneway void nvim_del_var(1: string name)
  /** Replaces lines; buffer 0 is the current one. */
  void nvim_buf_set_lines(1: i64 buffer, 2: i64 first, 3: i64 last, 4: bool strict, 5: list<string> lines)
  /** Lines of a buffer. */
  list<string> nvim_buf_get_lines(1: i64 buffer, 2: i64 first, 3: i64 last, 4: bool strict)
  /** The number of this channel, and all there is to call. */
  list<dynamic> nvim_get_api_info()
  /** Runs Lua. */
  dynamic nvim_exec_lua(1: string code, 2: list<dynamic> arguments)
  /** There is no such method. */
  void nvim_not_yet()
}

/** What Neovim calls. */
service Host {
  string greet(1: string name)
  dynamic echo(1: dynamic value)
  Point move(1: Point point, 2: i32 by) throws (1: Refused refused)
  oneway void note(1: i64 token)
  bool was_noted(1: i64 token)
}
