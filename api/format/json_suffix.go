package format

import "context"

type jsonSuffixKey struct{}

// WithJSONSuffix records that ".json" was taken from the end of the request's path.
func WithJSONSuffix(ctx context.Context) context.Context {
	return context.WithValue(ctx, jsonSuffixKey{}, true)
}

// HadJSONSuffix reports whether ".json" was taken from the end of the path. A resource
// whose name ends so is looked for with it where none is found without.
func HadJSONSuffix(ctx context.Context) bool {
	had, _ := ctx.Value(jsonSuffixKey{}).(bool)
	return had
}
