package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"go.temper.dev/temper/test/stack"
)

const (
	listLimit   = 1000 // nodes of a list
	listRounds  = 9    // in which the API and the plain program take turns
	listCalls   = 10   // of one of them in a round
	nodeCalls   = 500
	listClients = 8
	listMemory  = 10 * time.Second // how long all clients list at once
)

// plainListSQL and plainNodeSQL return the rows that a list and a node in detail are made of, without what Temper computes from them.
const (
	plainRowsSQL = `SELECT n.*, o.*, a.*, h.status FROM nodes n LEFT JOIN operations o ON o.node_id = n.id AND o.ended_at IS NULL
		LEFT JOIN agents a ON a.node_id = n.id LEFT JOIN node_health h ON h.node_id = n.id`
	plainListSQL = plainRowsSQL + ` WHERE n.parent_node IS NULL ORDER BY n.id LIMIT $1`
	plainNodeSQL = plainRowsSQL + ` WHERE n.uuid = $1`
)

// benchLists compares lists and nodes of the API with a plain program that sends one query for the same rows and writes as many bytes,
// and measures the API's memory while clients list.
func benchLists(ctx context.Context, o options) error {
	fmt.Printf("# Lists of %d nodes in detail, and single nodes, beside a plain program that asks the same database for the same rows and writes as many bytes\n", listLimit)
	fmt.Println("# goals: a list at most 1.5 times as long, a node 2 times; the API's process under 100 MiB")
	for _, nodes := range []int{5_000, 10_000, 100_000} {
		if err := listsOf(ctx, o, nodes); err != nil {
			return err
		}
	}
	return nil
}

func listsOf(ctx context.Context, o options, nodes int) error {
	s, err := stack.Start(ctx, o.temper, "sync_power_state_interval: 0s\nhealth_interval: 0s\n", "--nodes", "0", "--enroll=false", "--conductors", "1", "--drivers", "fake-hardware")
	if err != nil {
		return err
	}
	defer func() { _ = s.Stop() }()
	if err := fillForLists(ctx, s, nodes); err != nil {
		return err
	}
	if err := listMemoryOf(ctx, s, nodes); err != nil {
		return err
	}
	p, err := startPlain(ctx, s.DatabaseURL)
	if err != nil {
		return err
	}
	defer p.stop()
	uuid, err := middleNode(ctx, s, nodes)
	if err != nil {
		return err
	}
	for _, what := range []struct {
		name, path, plain string
		calls             int
	}{
		{"list in detail", fmt.Sprintf("/v1/nodes/detail?limit=%d", listLimit), fmt.Sprintf("/list?limit=%d", listLimit), listCalls},
		{"node", "/v1/nodes/" + uuid, "/node?uuid=" + uuid, nodeCalls},
	} {
		for _, clients := range []int{listClients, 1} { // many first, so that the connections of all have planned their statements
			if err := beside(ctx, s, p, fmt.Sprintf("%6d nodes, %d clients, %s", nodes, clients, what.name), what.path, what.plain, clients, what.calls); err != nil {
				return err
			}
		}
	}
	return nil
}

// fillForLists writes nodes as an inspected fleet has them; one in twenty has an open operation.
func fillForLists(ctx context.Context, s *stack.Stack, nodes int) error {
	db, err := pgx.Connect(ctx, s.DatabaseURL)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close(ctx) }()
	for _, sql := range []string{
		fmt.Sprintf(`INSERT INTO nodes (uuid, name, driver, conductor_group, provision_state, power_state, resource_class, interfaces, driver_info, properties, extra, instance_info, traits, description)
			SELECT gen_random_uuid(), 'bench-' || i, 'fake-hardware', '', 'available', 'power off', 'gold',
				'{"bios": "no-bios", "boot": "fake", "console": "no-console", "deploy": "fake", "firmware": "no-firmware", "inspect": "fake", "management": "fake", "network": "noop", "power": "fake", "raid": "no-raid", "rescue": "no-rescue", "storage": "noop", "vendor": "no-vendor"}',
				jsonb_build_object('redfish_address', 'https://10.0.0.' || i %% 250, 'redfish_system_id', '/redfish/v1/Systems/1', 'redfish_username', 'admin', 'deploy_kernel', 'http://images/kernel', 'deploy_ramdisk', 'http://images/ramdisk'),
				'{"cpus": 64, "memory_mb": 262144, "local_gb": 1788, "cpu_arch": "x86_64", "vendor": "unknown", "capabilities": "boot_mode:uefi,secure_boot:true,cpu_vt:true"}',
				jsonb_build_object('rack', 'r' || i / 40, 'unit', i %% 40, 'note', 'delivered with order 4711'),
				'{"image_source": "http://images/jammy.img", "image_checksum": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "root_gb": "10"}',
				'{CUSTOM_GOLD,HW_CPU_X86_VMX}', 'a server of the bench'
			FROM generate_series(1, %d) AS i`, nodes),
		`INSERT INTO operations (node_id, node_uuid, kind, phase, origin, target, conductor_group, driver)
			SELECT n.id, n.uuid, 'deploy', 'running', 'available', 'active', n.conductor_group, n.driver FROM nodes n WHERE n.id % 20 = 0`,
		`UPDATE nodes SET power_read_at = now()`,
		`INSERT INTO power_readings (node_id, written_at, read_at) SELECT n.id, n.power_read_at, now() FROM nodes n`,
		`INSERT INTO node_health (node_id, status, since, read_at) SELECT n.id, 'ok', now(), now() FROM nodes n`,
		`VACUUM FULL nodes`,
		`ANALYZE`,
	} {
		if _, err := db.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return awaitCounts(ctx, db)
}

func middleNode(ctx context.Context, s *stack.Stack, nodes int) (uuid string, err error) {
	db, err := pgx.Connect(ctx, s.DatabaseURL)
	if err != nil {
		return "", err
	}
	defer func() { _ = db.Close(ctx) }()
	return uuid, db.QueryRow(ctx, `SELECT uuid::text FROM nodes ORDER BY id OFFSET $1 LIMIT 1`, nodes/2).Scan(&uuid)
}

// listMemoryOf has clients list at once, one of which reads slowly and one of which hangs up in the middle.
func listMemoryOf(ctx context.Context, s *stack.Stack, nodes int) error {
	api := s.Of("api")
	if len(api) != 1 {
		return fmt.Errorf("%d processes of the API, not 1", len(api))
	}
	before, url := rssOf(api[0].PID), s.APIURL+fmt.Sprintf("/v1/nodes/detail?limit=%d", listLimit)
	during, cancel := context.WithTimeout(ctx, listMemory)
	defer cancel()
	var all sync.WaitGroup
	var mu sync.Mutex
	lists := 0
	failed := make(chan error, listClients+2)
	for range listClients {
		all.Go(func() {
			for during.Err() == nil {
				if _, err := fetch(ctx, url, io.Discard); err != nil {
					failed <- err
					return
				}
				mu.Lock()
				lists++
				mu.Unlock()
			}
		})
	}
	all.Go(func() { // slow
		for during.Err() == nil {
			if _, err := fetch(ctx, url, slowly{during, 100 * time.Millisecond}); err != nil {
				failed <- err
				return
			}
		}
	})
	all.Go(func() { // hangs up
		for during.Err() == nil {
			_, _ = fetch(ctx, url, hangsUp{})
		}
	})
	all.Wait()
	close(failed)
	if err := <-failed; err != nil {
		return err
	}
	fmt.Printf("  %6d nodes, %d clients, a slow one and one that hangs up: the API's process has %d MiB before, %d MiB at its most, %.0f lists a second\n",
		nodes, listClients, before>>20, peakOf(api[0].PID)>>20, float64(lists)/listMemory.Seconds())
	return nil
}

// slowly is a writer that rests after each piece until the context is done.
type slowly struct {
	until context.Context
	rest  time.Duration
}

func (w slowly) Write(p []byte) (int, error) {
	select {
	case <-w.until.Done():
	case <-time.After(w.rest):
	}
	return len(p), nil
}

// hangsUp is a writer that wants no more than the first piece.
type hangsUp struct{}

func (hangsUp) Write([]byte) (int, error) { return 0, errors.New("enough") }

var lister = &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 2 * listClients, DisableCompression: true}}

// fetch copies the body of an answer to w.
func fetch(ctx context.Context, url string, w io.Writer) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("X-OpenStack-Ironic-API-Version", "latest")
	res, err := lister.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("GET %s: %s", url, res.Status)
	}
	return io.Copy(w, res.Body)
}

// beside has the API and the plain program answer in turns, and prints medians.
func beside(ctx context.Context, s *stack.Stack, p *plain, what, path, plainPath string, clients, calls int) error {
	size, err := fetch(ctx, s.APIURL+path, io.Discard)
	if err != nil {
		return err
	}
	urls := []string{s.APIURL + path, p.url + plainPath + "&bytes=" + strconv.FormatInt(size, 10)}
	took, cpu := [2][]float64{}, [2][]float64{}
	for round := range listRounds + 1 {
		for i, url := range urls {
			before, began := cpuBeside(s, p), time.Now()
			var all sync.WaitGroup
			failed := make(chan error, clients)
			for range clients {
				all.Go(func() {
					for range max(1, calls/clients) {
						if _, err := fetch(ctx, url, io.Discard); err != nil {
							failed <- err
							return
						}
					}
				})
			}
			all.Wait()
			close(failed)
			if err := <-failed; err != nil {
				return err
			}
			if round == 0 { // each connection has yet to plan its statements
				continue
			}
			n := float64(max(1, calls/clients) * clients)
			took[i], cpu[i] = append(took[i], ms(time.Since(began))/n), append(cpu[i], ms(cpuBeside(s, p)-before)/n)
		}
	}
	fmt.Printf("  %s: %7.2f ms, plain %7.2f ms, ratio %.2f; CPU with PostgreSQL's %7.2f ms, plain %7.2f ms, ratio %.2f; %d bytes\n", what,
		middle(took[0]), middle(took[1]), middle(took[0])/middle(took[1]), middle(cpu[0]), middle(cpu[1]), middle(cpu[0])/middle(cpu[1]), size)
	return nil
}

// cpuBeside is the processor time of the API, of the plain program and of the database.
func cpuBeside(s *stack.Stack, p *plain) time.Duration {
	used := usage(s)
	return used["api"] + used["postgres"] + cpuOf(p.pid)
}

// plain is this program in another process, as servePlain.
type plain struct {
	url  string
	pid  int
	stop func()
}

func startPlain(ctx context.Context, database string) (*plain, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, self, "-plain", database)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	stop := func() {
		cancel()
		_ = cmd.Wait()
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return nil, fmt.Errorf("the plain program said no address: %w", err)
	}
	return &plain{url: "http://" + strings.TrimSpace(address), pid: cmd.Process.Pid, stop: stop}, nil
}

// servePlain answers /list and /node until the process is ended: it reads all values of the rows, and writes as many bytes as the request asks for.
func servePlain(ctx context.Context, database string) error {
	pool, err := pgxpool.New(ctx, database)
	if err != nil {
		return err
	}
	defer pool.Close()
	answer := func(sql string, argument func(*http.Request) any) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			size, err := strconv.Atoi(r.FormValue("bytes"))
			if err == nil {
				err = readAll(r.Context(), pool, sql, argument(r))
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			_, _ = w.Write(make([]byte, size))
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/list", answer(plainListSQL, func(r *http.Request) any { return r.FormValue("limit") }))
	mux.HandleFunc("/node", answer(plainNodeSQL, func(r *http.Request) any { return r.FormValue("uuid") }))
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it ends with the process
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	return (&http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}).Serve(l)
}

func readAll(ctx context.Context, pool *pgxpool.Pool, sql string, argument any) error {
	rows, err := pool.Query(ctx, sql, argument)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		rows.RawValues()
	}
	return rows.Err()
}
