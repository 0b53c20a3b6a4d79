@0xbdf87d7bb8304e81;
# Annotations for the generator of C++.

$namespace("capnp::annotations");

annotation namespace @0xb9c6f99ebf805f2c (file) :Text;
# The namespace of what is generated from the file.

annotation name @0xf264a779fef191ce (field, enumerant, struct, enum, interface, method, param, group, union) :Text;
# Another name for it in C++.

annotation allowCancellation @0xac7096ff8cfc9dce (interface, method, file) :Void;
# Calls may be cancelled while their method runs.
