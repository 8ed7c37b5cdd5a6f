package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/cli/input"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/mask"
)

// fileNode is a node of a file: its fields as Ironic names them, and those of its ports.
type fileNode struct {
	label  string
	fields map[string]any
	ports  []map[string]any
	traits []string
}

// readNodeFile reads nodes from YAML, from JSON or, if the name ends in .csv, from CSV. YAML and JSON are a list of nodes, or the
// object {"nodes": [...]} of "baremetal create", each with its list of ports. Every node needs a name or a uuid, by which a second run
// finds what the first one has created.
func readNodeFile(path string) ([]fileNode, error) {
	raw, err := input.File(path, maxFile)
	if err != nil {
		return nil, err
	}
	read := nodesOfYAML
	if strings.HasSuffix(path, ".csv") {
		read = nodesOfCSV
	}
	list, err := read(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var out []fileNode
	seen := map[string]bool{}
	for i, fields := range list {
		n, err := nodeOfFile(fields)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: node %d: %w", path, i+1, err)
		case seen[n.label]:
			return nil, fmt.Errorf("%s: %s is there twice", path, n.label)
		}
		seen[n.label] = true
		out = append(out, n)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no nodes", path)
	}
	return out, nil
}

func nodesOfYAML(raw []byte) ([]map[string]any, error) {
	v, err := readYAML(raw)
	if err != nil {
		return nil, err
	}
	if whole, ok := v.(map[string]any); ok {
		for _, key := range slices.Sorted(maps.Keys(whole)) {
			if key != "nodes" {
				return nil, fmt.Errorf("it has %s: only nodes with their ports can be created from a file", key)
			}
		}
		v = whole["nodes"]
	}
	list, ok := v.([]any)
	if !ok {
		return nil, errors.New("want a list of nodes, or an object with the list nodes")
	}
	return objects("node", list)
}

func objects(what string, list []any) (out []map[string]any, err error) {
	for i, one := range list {
		fields, ok := one.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s %d is no object", what, i+1)
		}
		out = append(out, fields)
	}
	return out, nil
}

// nodesOfCSV reads a table whose first line has the names of the fields; driver_info.redfish_address is a key of an object, and ports
// has MAC addresses with blanks between. An empty cell is a field that the node does not have. A value that is valid JSON is read as
// JSON, any other as text; passwords are always text.
func nodesOfCSV(raw []byte) (out []map[string]any, err error) {
	r := csv.NewReader(bytes.NewReader(raw))
	r.TrimLeadingSpace, r.Comment = true, '#'
	lines, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	if len(lines) == 0 {
		return nil, errors.New("want a line with the names of the fields")
	}
	for _, line := range lines[1:] {
		fields := map[string]any{}
		for i, cell := range line {
			name, key, inObject := strings.Cut(strings.TrimSpace(lines[0][i]), ".")
			switch cell = strings.TrimSpace(cell); {
			case cell == "":
			case name == "ports":
				var ports []any
				for _, mac := range strings.Fields(cell) {
					ports = append(ports, map[string]any{"address": mac})
				}
				fields[name] = ports
			case inObject:
				object, _ := fields[name].(map[string]any)
				if object == nil {
					object = map[string]any{}
				}
				object[key] = cellValue(key, cell)
				fields[name] = object
			case name == "name":
				fields[name] = cell
			default:
				fields[name] = cellValue(name, cell)
			}
		}
		out = append(out, fields)
	}
	return out, nil
}

func cellValue(key, cell string) any {
	var v any
	if mask.IsSecretKey(key) || jsonvalue.Unmarshal([]byte(cell), &v) != nil {
		return cell
	}
	return v
}

func nodeOfFile(fields map[string]any) (n fileNode, err error) {
	n.fields = maps.Clone(fields)
	name, _ := fields["name"].(string)
	uuid, _ := fields["uuid"].(string)
	if n.label = cmp.Or(name, uuid); n.label == "" {
		return n, errors.New("it has no name, by which a second run would find it")
	}
	if driver, _ := fields["driver"].(string); driver == "" {
		return n, fmt.Errorf("%s has no driver", n.label)
	}
	if fields["portgroups"] != nil {
		return n, fmt.Errorf("%s has portgroups: create these with temper port-group create", n.label)
	}
	if ports := fields["ports"]; ports != nil {
		list, ok := ports.([]any)
		if !ok {
			return n, fmt.Errorf("ports of %s is no list", n.label)
		}
		if n.ports, err = objects("port", list); err != nil {
			return n, fmt.Errorf("%s: %w", n.label, err)
		}
		for i, p := range n.ports {
			if address, _ := p["address"].(string); address == "" {
				return n, fmt.Errorf("port %d of %s has no address", i+1, n.label)
			}
		}
	}
	if traits := fields["traits"]; traits != nil {
		list, ok := traits.([]any)
		if !ok {
			return n, fmt.Errorf("traits of %s is no list", n.label)
		}
		for _, t := range list {
			n.traits = append(n.traits, fmt.Sprint(t))
		}
	}
	delete(n.fields, "ports")
	delete(n.fields, "traits")
	return n, nil
}

// createNodes creates what a file has and the API has not. What is there already stays as it is, and a node that differs from the file
// is an error.
func (s *session) createNodes(ctx context.Context, path string, parallel int) error {
	list, err := readNodeFile(path)
	if err != nil {
		return err
	}
	byLabel, labels := map[string]fileNode{}, []string{}
	for _, n := range list {
		byLabel[n.label] = n
		labels = append(labels, n.label)
	}
	return s.report(labels, forEach(ctx, labels, parallel, "", func(ctx context.Context, label string) (string, error) {
		return s.createFileNode(ctx, byLabel[label])
	}))
}

func (s *session) createFileNode(ctx context.Context, n fileNode) (string, error) {
	words := "is there already"
	have, err := s.Node(ctx, n.label)
	switch {
	case client.CodeOf(err) == fault.NodeNotFound:
		words = "created"
		if have, err = s.CreateNode(ctx, n.fields); err != nil {
			return "", err
		}
	case err != nil:
		return "", err
	default:
		differs, err := differences(have.Raw(), n.fields)
		if err != nil {
			return "", err
		}
		if len(differs) > 0 {
			return "", fmt.Errorf("it is there already, and differs from the file in %s: temper node set changes it", strings.Join(differs, ", "))
		}
	}
	for _, t := range n.traits { // a trait that it has stays
		if err := s.AddTrait(ctx, client.Nodes, have.UUID, t); err != nil {
			return "", fmt.Errorf("%s, but its trait %s was not: %w", words, t, err)
		}
	}
	created, err := s.createFilePorts(ctx, have.UUID, n.ports)
	if err != nil {
		return "", fmt.Errorf("%s, but its port was not: %w", words, err)
	}
	switch {
	case created == 1:
		words += ", with a new port"
	case created > 1:
		words += fmt.Sprintf(", with %d new ports", created)
	}
	return words, nil
}

// createFilePorts creates those of the ports that the node does not have, and counts them.
func (s *session) createFilePorts(ctx context.Context, nodeUUID string, ports []map[string]any) (created int, err error) {
	if len(ports) == 0 {
		return 0, nil
	}
	have, err := s.Ports(ctx, url.Values{"node": {nodeUUID}}, maxPortsOfNode)
	if err != nil {
		return 0, err
	}
	for _, p := range ports {
		address, _ := p["address"].(string)
		if slices.ContainsFunc(have.Items, func(h client.Port) bool { return strings.EqualFold(h.Address, address) }) {
			continue
		}
		fields := maps.Clone(p)
		fields["node_uuid"] = nodeUUID
		if _, err := s.CreatePort(ctx, fields); err != nil {
			return created, fmt.Errorf("port %s: %w", address, err)
		}
		created++
	}
	return created, nil
}

// maxPortsOfNode bounds how many ports of a node are compared with a file.
const maxPortsOfNode = 1000

// differences names the fields that a node has otherwise than the file: keys of objects one by one. What the API shows masked can't be
// compared.
func differences(raw json.RawMessage, want map[string]any) (out []string, err error) {
	var have map[string]any
	if err := jsonvalue.Unmarshal(raw, &have); err != nil {
		return nil, err
	}
	differ := func(name string, have, want any) {
		if have != mask.Masked && !mask.IsSecretKey(name[strings.LastIndexByte(name, '.')+1:]) && !equalJSON(have, want) {
			out = append(out, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		object, isObject := want[name].(map[string]any)
		if !isObject {
			differ(name, have[name], want[name])
			continue
		}
		present, _ := have[name].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(object)) {
			differ(name+"."+key, present[key], object[key])
		}
	}
	return out, nil
}

// equalJSON reports whether both are the same in JSON, where a number has no type.
func equalJSON(a, b any) bool {
	norm := func(v any) (out any) {
		raw, err := json.Marshal(v)
		if err != nil || jsonvalue.Unmarshal(raw, &out) != nil {
			return v
		}
		return out
	}
	return reflect.DeepEqual(norm(a), norm(b))
}
