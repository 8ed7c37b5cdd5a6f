// Package jsonvalue reads JSON whose shape the program does not know, such as the extra fields of
// a node, without changing it. It is the only package that decodes JSON; internal/archtest checks that.
package jsonvalue
