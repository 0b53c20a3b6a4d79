safe struct S {}

transient permanent exception E {}
