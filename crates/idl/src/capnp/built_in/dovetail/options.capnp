@0xc6c5a1a4f1b2d7e3;
# Annotations that Dovetail understands.

annotation permission @0xd1b9a0e6c57f2a84 (interface, method) :Text;
# The permission that a caller needs: for one method, or for all methods of an interface.

annotation idempotent @0xe0a3f7d25b68c91b (method) :Void;
# Calling twice does as much as calling once.

annotation readOnly @0x8f5ce3b7a2d419f6 (method) :Void;
# Calling changes nothing.
