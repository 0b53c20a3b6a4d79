namespace rs deprecated

struct Old {
  1: i32 a (deprecated)
  2: i32 b = 1 (deprecated = 'use "a" instead')
} (deprecated)

enum Kind {
  OLD = 1 (deprecated = "it is old")
  NEW = 2
} (deprecated = "all kinds are old")

union Either {
  1: i32 left (deprecated)
  2: i32 right
} (deprecated)

typedef Old Older (deprecated)

exception Gone {
  1: string message (deprecated)
} (deprecated)

service Past {
  i32 then(1: Old old) throws (1: Gone gone) (deprecated = "now")
} (deprecated = "it has passed")
