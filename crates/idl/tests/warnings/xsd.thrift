struct S xsd_all {
  1: i32 a xsd_optional xsd_nillable xsd_attrs { 1: i32 b }
}
