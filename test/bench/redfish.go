package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sort"
	"strings"
	"time"
)

// benchRedfish is one deploy over the simulator, alone, and what it is made of.
func benchRedfish(ctx context.Context, o options) error {
	fmt.Println("# One redfish + direct deploy over the simulated rack without latency, alone")
	s, err := startStack(ctx, o.temper, "", "--nodes", "1", "--conductors", "1", "--drivers", "redfish")
	if err != nil {
		return err
	}
	defer func() { _ = s.stop() }()
	nodes, err := s.nodes(ctx)
	if err != nil {
		return err
	}
	if len(nodes) != 1 {
		return fmt.Errorf("%d nodes were enrolled, not 1", len(nodes))
	}
	for _, leg := range [][3]string{{"enroll", "manage", "manageable"}, {"manageable", "provide", "available"}} {
		if _, err := s.move(ctx, 1, leg[0], leg[1], leg[2]); err != nil {
			return err
		}
	}
	sum, err := fetch(ctx, s.RackURL+"/images/disk.raw.sha256")
	if err != nil {
		return err
	}
	digest := strings.Fields(sum)
	if len(digest) == 0 {
		return fmt.Errorf("the rack's checksum file is empty")
	}
	patch := []map[string]any{{"op": "replace", "path": "/instance_info", "value": map[string]any{
		"image_source": s.RackURL + "/images/disk.raw", "image_os_hash_algo": "sha256", "image_os_hash_value": digest[0], "image_disk_format": "raw",
	}}}
	if err := s.call(ctx, http.MethodPatch, "/v1/nodes/"+nodes[0].UUID, patch, nil); err != nil {
		return err
	}
	took, err := s.move(ctx, 1, "available", "active", "active")
	if err != nil {
		return err
	}
	fmt.Printf("  wall time %.2f s (the list is read every 0.25 s)\n", took.Seconds())
	return s.printSteps(ctx, nodes[0].UUID)
}

func (s *stack) printSteps(ctx context.Context, uuid string) error {
	var page struct {
		Operations []struct {
			Steps []struct {
				Interface string     `json:"interface"`
				Step      string     `json:"step"`
				Started   *time.Time `json:"started_at"`
				Ended     *time.Time `json:"ended_at"`
			} `json:"steps"`
		} `json:"operations"`
	}
	if err := s.call(ctx, http.MethodGet, "/temper/v1/operations?kind=deploy&node="+uuid, nil, &page); err != nil {
		return err
	}
	if len(page.Operations) == 0 {
		return fmt.Errorf("no deploy operation of node %s", uuid)
	}
	steps := page.Operations[0].Steps
	sort.SliceStable(steps, func(i, j int) bool {
		return steps[i].Started != nil && steps[j].Started != nil && steps[i].Started.Before(*steps[j].Started)
	})
	for _, st := range steps {
		if st.Started != nil && st.Ended != nil {
			fmt.Printf("    %-34s %6.2f s\n", st.Interface+"."+st.Step, st.Ended.Sub(*st.Started).Seconds())
		}
	}
	return nil
}

func fetch(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	res, err := web.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 1<<16))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s", url, res.Status)
	}
	return string(b), err
}
