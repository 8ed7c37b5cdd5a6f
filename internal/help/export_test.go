package help

// Rows is the table of actions.
var Rows = rows
