module dovetail.test/connect

go 1.26.0

require (
	dovetail.test/line v0.0.0
	connectrpc.com/connect v1.21.1
	github.com/bufbuild/protocompile v0.14.1
	google.golang.org/protobuf v1.36.12
)

require golang.org/x/sync v0.8.0 // indirect

replace dovetail.test/line => ../line
