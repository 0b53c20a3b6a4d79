@0x86c366a91393f3f8;
# The result of methods that end in `-> stream`.

struct StreamResult @0x995f9a3377c0b16e {}
