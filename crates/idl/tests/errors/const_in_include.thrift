include "include/shared.thrift"

const shared.Color A = RED
const i32 B = ORIGIN_X
const i32 C = shared.ORIGIN_Z
