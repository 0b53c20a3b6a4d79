struct Early { 1: Late late, 2: Later later, 3: list<Latest> latest }
typedef Later Middle
enum Late { A, B }
struct Later { 1: i32 a }
union Latest { 1: Middle a, 2: Early b }
