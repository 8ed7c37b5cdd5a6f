package jsonvalue

// Depth returns how deep v nests: 0 for a scalar, 1 for an object or array of scalars.
func Depth(v any) int {
	deepest := 0
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			deepest = max(deepest, Depth(e))
		}
	case []any:
		for _, e := range v {
			deepest = max(deepest, Depth(e))
		}
	default:
		return 0
	}
	return deepest + 1
}
