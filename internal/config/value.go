package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

var durationType = reflect.TypeFor[time.Duration]()

// typeName returns the name of a type in --help.
func typeName(t reflect.Type) string {
	switch {
	case t == durationType:
		return "duration"
	case t.Kind() == reflect.Slice:
		return "list"
	case t.Kind() == reflect.Pointer:
		return typeName(t.Elem())
	case t.Kind() == reflect.Int, t.Kind() == reflect.Int64:
		return "int"
	case t.Kind() == reflect.Float64:
		return "number"
	}
	return t.Kind().String()
}

// decode sets v to raw, a value from a file, the environment or a flag. Its error says what would be right.
func decode(v reflect.Value, raw any) error {
	switch {
	case v.Kind() == reflect.Pointer:
		if raw == nil {
			v.SetZero()
			return nil
		}
		v.Set(reflect.New(v.Type().Elem()))
		return decode(v.Elem(), raw)
	case v.Type() == durationType:
		d, err := duration(raw)
		v.SetInt(int64(d))
		return err
	case v.Kind() == reflect.Slice:
		list, err := list(raw)
		v.Set(reflect.ValueOf(list))
		return err
	case v.Kind() == reflect.Map:
		section, err := section(raw)
		v.Set(reflect.ValueOf(section).Convert(v.Type()))
		return err
	}
	s, ok := scalar(raw)
	if !ok {
		return fmt.Errorf("want one value, not a list or a section")
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Bool:
		b, err := strconv.ParseBool(s)
		if err != nil {
			return fmt.Errorf("want true or false")
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || v.OverflowInt(n) {
			return fmt.Errorf("want a whole number")
		}
		v.SetInt(n)
	default:
		panic("config: no reader for " + v.Type().String())
	}
	return nil
}

func scalar(raw any) (string, bool) {
	switch raw := raw.(type) {
	case nil:
		return "", true
	case string:
		return raw, true
	case bool, int, int64, uint64, float64:
		return fmt.Sprint(raw), true
	}
	return "", false
}

func duration(raw any) (time.Duration, error) {
	s, ok := scalar(raw)
	if ok {
		if d, err := time.ParseDuration(s); err == nil {
			return d, nil
		}
		if d, err := time.ParseDuration(s + "s"); err == nil {
			return d, nil
		}
	}
	return 0, fmt.Errorf("want a duration such as 5s, 250ms or 1h30m")
}

func list(raw any) ([]string, error) {
	var items []string
	if of, ok := raw.([]any); ok {
		for _, one := range of {
			s, ok := scalar(one)
			if !ok {
				return nil, fmt.Errorf("want a list of words")
			}
			items = append(items, s)
		}
	} else {
		s, ok := scalar(raw)
		if !ok {
			return nil, fmt.Errorf("want a list of words")
		}
		items = strings.Split(s, ",")
	}
	kept := []string{}
	for _, s := range items {
		if s = strings.TrimSpace(s); s != "" {
			kept = append(kept, s)
		}
	}
	return kept, nil
}

func section(raw any) (map[string]string, error) {
	of := map[string]string{}
	switch raw := raw.(type) {
	case nil:
	case map[string]string:
		maps.Copy(of, raw)
	case map[string]any:
		for k, one := range raw {
			s, ok := scalar(one)
			if !ok {
				return nil, fmt.Errorf("want one value for %s, not a list or a section", k)
			}
			of[k] = s
		}
	case string:
		if raw == "" {
			return of, nil
		}
		return nil, fmt.Errorf("want a section of names and values")
	default:
		return nil, fmt.Errorf("want a section of names and values")
	}
	return of, nil
}

// format returns v as text for people, with secrets masked.
func format(v reflect.Value, secret string) string {
	var s string
	switch x := v.Interface().(type) {
	case *string:
		if s = "not set"; x != nil {
			s = fmt.Sprintf("%q", *x)
		}
	case []string:
		s = strings.Join(x, ",")
	case Fake:
		s = pairs(x)
	case GroupWaits:
		s = pairs(x)
	case GroupURLs:
		s = pairs(x)
	case Limits:
		s = pairs(x)
	default:
		s = fmt.Sprint(x)
	}
	return mask(s, secret)
}

func pairs(of map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, k+"="+of[k])
	}
	return strings.Join(parts, " ")
}
