include "shared.thrift"
enum Kind { A, B }
struct Uses { 1: shared.Thing thing }
