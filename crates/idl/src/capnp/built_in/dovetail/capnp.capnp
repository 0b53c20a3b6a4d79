@0xd1f7c0a95be3426d;
# Types of the language itself that become structs.

struct Void @0xfce250f26e75e003 {}
# Nothing: the type of a member that only says that it is there.
