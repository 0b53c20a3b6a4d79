include "shared.thrift"

namespace rs company.calculator

struct Labelled {
  1: shared.Item item
}

service Calculator extends shared.Shared {
  i32 add(1: i32 num1, 2: i32 num2)
  shared.Item next(1: shared.Item item) (permission = "items.take")
  oneway void zip()
} (permission = "numbers.add")

service Scientific extends Calculator {
}

service Alone {
}

service AServiceWithAVeryLongNameThatDoesNotFit extends shared.Shared {
  i32 a_method_with_a_rather_long_name(1: i32 the_first_parameter, 2: string the_second_parameter, 3: list<string> the_third_parameter)
  void seven(1: i32 a, 2: i32 b, 3: i32 c, 4: i32 d, 5: i32 e, 6: i32 f, 7: i32 g)
  void thirteen(1: i32 a, 2: i32 b, 3: i32 c, 4: i32 d, 5: i32 e, 6: i32 f, 7: i32 g, 8: i32 h, 9: i32 i, 10: i32 j, 11: i32 k, 12: i32 l, 13: string m)
}
