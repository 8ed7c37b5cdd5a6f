package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/node"
)

// BMC is what a BMC is, as far as it could be asked.
type BMC struct {
	Reachable   bool   `json:"reachable"`
	Credentials bool   `json:"credentials"` // it lets the user in
	Model       string `json:"model"`       // of the server, with its maker
	Firmware    string `json:"firmware"`    // of the BMC
	Media       bool   `json:"virtual_media"`
	License     string `json:"license"` // that its maker sells virtual media with; "" = none is known
	Problem     string `json:"problem"` // why Temper could not deploy the server, in words without secrets; "" = nothing was found
}

// AskBMC asks the BMC of a node, whose driver and driver_info are given, what it is. It changes nothing.
type AskBMC func(ctx context.Context, driver string, info map[string]any) BMC

// surveyTime is how long one BMC may take. A slow one answers a hundred requests in that time.
const surveyTime = 2 * time.Minute

// surveyed is a row of a survey.
type surveyed struct {
	Node    string `json:"node"`
	Driver  string `json:"driver"`
	Address string `json:"address"`
	BMC
}

// survey asks the BMCs of all nodes of a file, and shows what they are. It fails if one of them has a problem.
func (s *session) survey(ctx context.Context, path string, parallel int, ask AskBMC) error {
	list, err := readNodeFile(path)
	if err != nil {
		return err
	}
	byLabel, labels := map[string]fileNode{}, []string{}
	for _, n := range list {
		byLabel[n.label] = n
		labels = append(labels, n.label)
	}
	rows := []surveyed{}
	problems := 0
	for _, r := range forEach(ctx, labels, parallel, "", func(ctx context.Context, label string) (surveyed, error) {
		ctx, cancel := context.WithTimeout(ctx, surveyTime)
		defer cancel()
		return surveyNode(ctx, byLabel[label], ask), ctx.Err()
	}) {
		row := r.value
		if row.Node = r.name; r.err != nil && row.Problem == "" {
			row.Problem = r.err.Error()
		}
		if row.Problem != "" {
			problems++
		}
		rows = append(rows, row)
	}
	if err := s.show(rows, surveyTable(rows)); err != nil {
		return err
	}
	if problems > 0 {
		return fmt.Errorf("%d of %d BMCs have a problem", problems, len(rows))
	}
	return nil
}

func surveyNode(ctx context.Context, n fileNode, ask AskBMC) surveyed {
	driver, _ := n.fields["driver"].(string)
	info, _ := n.fields["driver_info"].(map[string]any)
	address, _ := info[node.BMCProperty(driver, "address")].(string)
	row := surveyed{Driver: driver, Address: address}
	row.BMC = ask(ctx, driver, info)
	return row
}

func surveyTable(rows []surveyed) func(io.Writer) error {
	yesNo := map[bool]string{true: "yes", false: "no"}
	t := table.New("NODE", "BMC", "REACHABLE", "CREDENTIALS", "MODEL", "FIRMWARE", "VIRTUAL MEDIA", "NEEDS LICENSE", "PROBLEM").Wrap("PROBLEM")
	for _, r := range rows {
		credentials, media := "-", "-" // what nobody could find out
		if r.Reachable {
			credentials = yesNo[r.Credentials]
		}
		if r.Credentials {
			media = yesNo[r.Media]
		}
		t.Add(r.Node, cmp.Or(r.Address, "-"), yesNo[r.Reachable], credentials, cmp.Or(r.Model, "-"), cmp.Or(r.Firmware, "-"), media, cmp.Or(r.License, "-"), r.Problem)
	}
	return t.Print
}
