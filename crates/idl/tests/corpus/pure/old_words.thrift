# apache: slist is gone, and async as well as xsd are on their way
struct S xsd_all { 1: slist a xsd_optional, 2: i32 b xsd_nillable xsd_attrs { 1: i32 c } }
service T { async void f() }
senum Color { "red", "green" }
