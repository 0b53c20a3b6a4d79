module dovetail.test/peer

go 1.21

require (
	dovetail.test/line v0.0.0
	github.com/apache/thrift v0.17.0
)

replace dovetail.test/line => ../line
