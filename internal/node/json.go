package node

// CloneJSON returns a deep copy of a decoded JSON value.
func CloneJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = CloneJSON(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = CloneJSON(e)
		}
		return out
	}
	return v
}
