const decimal A = "1,5"
const date B = "20.11.2026"
const timestamp C = "2026-11-20T22:47:36+01:00"
const timestamp_tz D = "now"
const duration E = "5 minutes"
const date F = "2026-02-30"
const decimal G = 1e29
const timestamp H = "9999-12-31T00:00:00Z"
