typedef A A
