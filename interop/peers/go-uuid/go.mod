module dovetail.test/uuidpeer

go 1.26

require (
	dovetail.test/line v0.0.0
	github.com/apache/thrift v0.25.0
)

replace dovetail.test/line => ../line
