package temper

// Explained is what GET /temper/v1/nodes/X/why answers.
var Explained = explained
