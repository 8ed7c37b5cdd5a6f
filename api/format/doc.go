// Package format reads requests and builds answers in Ironic's shapes: bodies, query
// parameters, patches, pages of lists, links, attributes of resources, microversions
// and errors. It knows no resource and no server.
package format
