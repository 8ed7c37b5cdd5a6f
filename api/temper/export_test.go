package temper

// Explained is the answer to GET /temper/v1/nodes/X/why.
var Explained = explained
