package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"go.temper.dev/temper/internal/dev"
	"go.temper.dev/temper/internal/dev/devfile"
)

// settings make the servers slow enough to watch. A step takes a second, so that several run at any time.
const settings = `
rack_power_delay: 300ms
rack_boot_delay: 1s
rack_step_delay: 1s
`

const (
	readyWithin = 4 * time.Minute // PostgreSQL may have to be installed
	stopWithin  = 40 * time.Second
)

// stack is a running `temper dev`.
type stack struct {
	*dev.Running
	devfile.Info
	out  *screen
	data string
}

func startStack(ctx context.Context, temper, dir string, out *screen) (*stack, error) {
	conf := filepath.Join(dir, "settings.yaml")
	if err := os.WriteFile(conf, []byte(settings), 0o600); err != nil {
		return nil, err
	}
	s := &stack{out: out, data: filepath.Join(dir, "data")}
	out.say("Starting PostgreSQL, Temporal, the API, an orchestrator, %d conductors and a rack of %d servers", conductors, servers)
	var err error
	s.Running, err = dev.Command{
		Path: temper, Env: os.Environ(), LogFile: filepath.Join(s.data, "logs", "dev.log"),
		ReadyFile: filepath.Join(s.data, devfile.InfoFile), Within: readyWithin,
		Args: []string{
			"dev", "--data", s.data, "--config", conf, "--enroll=false",
			"--nodes", strconv.Itoa(servers), "--conductors", strconv.Itoa(conductors), "--drivers", "redfish",
		},
	}.Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("start %s dev: %w", temper, err)
	}
	if s.Info, err = devfile.ReadInfo(filepath.Join(s.data, devfile.InfoFile)); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	out.say("  API          %s\n  Temporal UI  %s\n  rack         %s/servers", s.APIURL, s.TemporalUIURL, s.RackURL)
	return s, nil
}

func (s *stack) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	return s.Running.Stop(ctx)
}

// pid returns the pid of a process by its name in dev.json.
func (s *stack) pid(name string) (int, error) {
	info, err := devfile.ReadInfo(filepath.Join(s.data, devfile.InfoFile))
	if err != nil {
		return 0, err
	}
	for _, p := range info.Processes {
		if p.Name == name {
			return p.Pid, nil
		}
	}
	return 0, fmt.Errorf("%s does not run", name)
}

// node is a node as GET /v1/nodes shows it.
type node struct {
	UUID        string  `json:"uuid"`
	Name        string  `json:"name"`
	State       string  `json:"provision_state"`
	Power       string  `json:"power_state"`
	Reservation *string `json:"reservation"`
	LastError   string  `json:"last_error"`
}

func (s *stack) nodes(ctx context.Context) (map[string]node, error) {
	var page struct {
		Nodes []node `json:"nodes"`
	}
	err := dev.Call(ctx, http.MethodGet, s.APIURL+"/v1/nodes?limit=1000&fields=uuid,name,provision_state,power_state,reservation,last_error", nil, &page)
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	byName := map[string]node{}
	for _, n := range page.Nodes {
		byName[n.Name] = n
	}
	return byName, nil
}

// provision requests a provision state for many nodes at once.
func (s *stack) provision(ctx context.Context, names []string, target string) error {
	return each(names, func(name string) error {
		err := dev.Call(ctx, http.MethodPut, s.APIURL+"/v1/nodes/"+name+"/states/provision", map[string]string{"target": target}, nil)
		if err != nil {
			return fmt.Errorf("%s node %s: %w", target, name, err)
		}
		return nil
	})
}

// operation is an operation as GET /temper/v1/operations shows it.
type operation struct {
	ID        string `json:"id"`
	Node      string `json:"node_name"`
	Kind      string `json:"kind"`
	State     string `json:"state"`
	Outcome   string `json:"outcome"`
	Error     string `json:"error"`
	Conductor string `json:"conductor"`
	Steps     []step `json:"steps"`
}

type step struct {
	Interface string `json:"interface"`
	Step      string `json:"step"`
	State     string `json:"state"`
	Attempts  int    `json:"attempts"`
	Conductor string `json:"conductor"`
}

// atWork returns the index of the running step; -1 = none.
func (o operation) atWork() int {
	for i, st := range o.Steps {
		if o.State == "running" && st.State == "running" && st.Conductor != "" {
			return i
		}
	}
	return -1
}

func (s *stack) operations(ctx context.Context, query string) ([]operation, error) {
	var page struct {
		Operations []operation `json:"operations"`
	}
	if err := dev.Call(ctx, http.MethodGet, s.APIURL+"/temper/v1/operations?limit=1000&"+query, nil, &page); err != nil {
		return nil, fmt.Errorf("list operations: %w", err)
	}
	return page.Operations, nil
}

// server is a server of the rack, with what was done to it.
type server struct {
	Name    string `json:"name"`
	SHA256  string `json:"disk_sha256"`
	Actions []struct {
		Reset string `json:"reset_type"`
		From  string `json:"from"`
		To    string `json:"to"`
	} `json:"power_actions"`
}

func (s *stack) servers(ctx context.Context) (map[string]server, error) {
	var list []server
	if err := dev.Call(ctx, http.MethodGet, s.RackURL+"/servers", nil, &list); err != nil {
		return nil, fmt.Errorf("list servers: %w", err)
	}
	byName := map[string]server{}
	for _, sv := range list {
		byName[sv.Name] = sv
	}
	return byName, nil
}
