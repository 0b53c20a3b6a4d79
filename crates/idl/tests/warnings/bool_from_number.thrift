const bool A = 3
