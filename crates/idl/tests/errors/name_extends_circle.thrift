service A extends B {}
service B extends C {}
service C extends A {}
