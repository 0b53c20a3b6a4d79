module dovetail.test/line

go 1.21
