message Hello {
  string name = 1;
}
