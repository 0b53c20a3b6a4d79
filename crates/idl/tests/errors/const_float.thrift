const float A = 1e39
const double B = 1e400
