package cli

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"go.temper.dev/temper/internal/jsonvalue"
)

// yamlOf returns JSON as YAML with the keys in the same order. YAML parsers do not take all JSON (they refuse some control
// characters and keys of more than 1024 bytes), and libraries that convert JSON sort the keys.
func yamlOf(raw []byte) ([]byte, error) {
	d := jsonvalue.NewDecoder(bytes.NewReader(raw))
	n, err := yamlNode(d)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err = e.Encode(n)
	return b.Bytes(), err
}

// yamlNode reads the next JSON value as a YAML node.
func yamlNode(d *json.Decoder) (*yaml.Node, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	scalar := func(tag, value string) (*yaml.Node, error) {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}, nil
	}
	switch v := t.(type) {
	case json.Delim:
		n := &yaml.Node{Kind: yaml.MappingNode}
		if v == '[' {
			n.Kind = yaml.SequenceNode
		}
		for d.More() { // the keys of an object are strings in turn with their values
			one, err := yamlNode(d)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, one)
		}
		_, err := d.Token()
		return n, err
	case string:
		return scalar("!!str", v)
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return scalar("!!float", v.String())
		}
		return scalar("!!int", v.String())
	case bool:
		return scalar("!!bool", strconv.FormatBool(v))
	}
	return scalar("!!null", "null")
}

// readYAML reads YAML, which JSON is, too. Its numbers stay as they are written, if JSON has them.
func readYAML(raw []byte) (any, error) {
	var whole any
	if err := yaml.Unmarshal(raw, &whole); err != nil { // it also limits what aliases repeat
		return nil, err
	}
	var v yamlValue
	err := yaml.Unmarshal(raw, &v)
	return v.value, err
}

type yamlValue struct{ value any }

// UnmarshalYAML reads any node.
func (v *yamlValue) UnmarshalYAML(n *yaml.Node) error {
	switch n.Kind {
	case yaml.MappingNode:
		var members map[string]yamlValue
		if err := n.Decode(&members); err != nil {
			return err
		}
		all := make(map[string]any, len(members))
		for k, m := range members {
			all[k] = m.value
		}
		v.value = all
	case yaml.SequenceNode:
		var elements []yamlValue
		if err := n.Decode(&elements); err != nil {
			return err
		}
		all := make([]any, len(elements))
		for i, e := range elements {
			all[i] = e.value
		}
		v.value = all
	default:
		isNumber := n.ShortTag() == "!!int" || n.ShortTag() == "!!float"
		if isNumber && json.Valid([]byte(n.Value)) {
			v.value = json.Number(n.Value)
			return nil
		}
		return n.Decode(&v.value)
	}
	return nil
}
