package share

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temper.dev/temper/internal/text"
)

// The kinds of reports.
const (
	Mixed       = "mixed"                    // keyed and unkeyed services side by side
	Unserved    = "unserved"                 // free nodes that are in no service's share
	Excluded    = "excluded"                 // a live service that is no member because of peer lists
	Foreign     = "foreign"                  // instances of a service of another partition
	NoService   = "instance without service" // instances that no registered service manages
	Unmanaged   = "unmanaged"                // instances of a dead service
	Orphaned    = "orphaned"                 // instances that are not wanted any more but still on their nodes
	PeerIgnored = "peer ignored"             // a name in a peer list that has no effect
	BadSettings = "settings"                 // settings that were refused
)

// Report is one thing that an operator should know.
type Report struct {
	Kind  string
	Text  string     // one line for people, beginning with the kind
	Host  string     // the service it is about; "" = none
	Group *string    // the conductor group it is about; nil = none
	Nodes int        // how many nodes it is about
	Some  []string   // uuids of the first of them
	Since *time.Time // since when, where that is known
}

// Tally counts nodes for which the other fields are the same.
type Tally struct {
	Group    string // conductor group
	Instance bool   // they have an instance
	Service  string // of the instance; "" = none
	Absent   bool   // the instance is not wanted any more
	Nodes    int
	Some     []string // uuids of the first of them
}

// Reports returns what operators should know. If no service is registered, there are no shares
// and no reports.
func (s *Split) Reports(tallies []Tally) []Report {
	if len(s.services) == 0 {
		return nil
	}
	var out []Report
	out = append(out, s.mixed()...)
	for i := range s.services {
		out = append(out, s.ofService(&s.services[i])...)
	}
	for _, t := range tallies {
		out = append(out, s.ofNodes(t)...)
	}
	return mergeReports(out)
}

func (s *Split) mixed() []Report {
	var keys, rest []string
	for i := range s.services {
		v := &s.services[i]
		if v.Key == nil {
			rest = append(rest, v.Host)
		} else if !slices.Contains(keys, quoted(*v.Key)) {
			keys = append(keys, quoted(*v.Key))
		}
	}
	if len(keys) == 0 || len(rest) == 0 {
		return nil
	}
	slices.Sort(keys)
	return []Report{{Kind: Mixed, Text: fmt.Sprintf(
		"mixed: services without a partition key (%s) do not get nodes of the groups with one (%s)",
		firstFew(rest), firstFew(keys))}}
}

func (s *Split) ofService(v *Service) []Report {
	var out []Report
	if why := s.excluded[v.Name()]; why != "" {
		out = append(out, Report{Kind: Excluded, Host: v.Host, Text: "excluded: " + why})
	}
	for _, w := range s.Warnings(v.Host) {
		out = append(out, Report{Kind: PeerIgnored, Host: v.Host, Text: PeerIgnored + ": " + w})
	}
	if v.SettingsError != "" {
		out = append(out, Report{Kind: BadSettings, Host: v.Host, Text: "settings not taken: " + v.SettingsError})
	}
	return out
}

// Warnings returns which settings of a service have no effect.
func (s *Split) Warnings(host string) []string {
	v := s.byName[Fold(host)]
	if v == nil {
		return nil
	}
	if v.Key == nil {
		if v.Peers != nil {
			return []string{"peer_list means nothing without partition_key"}
		}
		return nil
	}
	var out []string
	for _, name := range v.Peers {
		peer := s.byName[name]
		switch {
		case name == v.Name():
		case peer == nil:
			out = append(out, fmt.Sprintf("%s in peer_list is not registered", name))
		case peer.Key == nil:
			out = append(out, fmt.Sprintf("%s in peer_list has no partition key", name))
		case *peer.Key != *v.Key:
			out = append(out, fmt.Sprintf("%s in peer_list has the partition key %s", name, quoted(*peer.Key)))
		}
	}
	return out
}

func (s *Split) ofNodes(t Tally) []Report {
	p := s.Partition(t.Group)
	about := Report{Host: t.Service, Nodes: t.Nodes, Some: t.Some}
	if !t.Instance {
		if len(s.members[p]) > 0 {
			return nil
		}
		group := t.Group
		about.Kind, about.Group = Unserved, &group
		about.Text = "unserved: no compute service for group " + quoted(group)
		if p.Named {
			about.Text = "unserved: services of " + quoted(group) + " are down"
		}
		return []Report{about}
	}
	var out []Report
	if t.Absent {
		gone := about
		gone.Kind, gone.Text = Orphaned, "orphaned: the instance is gone, the node still carries it"
		out = append(out, gone)
	}
	v := s.byName[Fold(t.Service)]
	if t.Service == "" || v == nil {
		about.Kind, about.Text = NoService, NoService
		if t.Service != "" {
			about.Text += ": " + t.Service + " is not registered"
		}
		return append(out, about)
	}
	about.Host = v.Host
	if !v.Live {
		dead, since := about, v.LeaseUntil
		dead.Kind, dead.Since = Unmanaged, &since
		dead.Text = "unmanaged since " + text.Moment(since)
		out = append(out, dead)
	}
	if v.Partition() != p {
		group := t.Group
		about.Kind, about.Group = Foreign, &group
		about.Text = fmt.Sprintf("foreign: instances of %s (%s) in group %s", v.Host, v.Partition(), quoted(group))
		out = append(out, about)
	}
	return out
}

// maxExamples is how many uuids a report names.
const maxExamples = 10

// mergeReports merges reports with the same text about the same service, and sorts them.
func mergeReports(all []Report) []Report {
	key := func(r Report) string {
		group := ""
		if r.Group != nil {
			group = "=" + *r.Group
		}
		return strings.Join([]string{r.Kind, Fold(r.Host), group, r.Text}, "\x00")
	}
	var out []Report
	at := map[string]int{}
	for _, r := range all {
		k := key(r)
		i, ok := at[k]
		if !ok {
			at[k] = len(out)
			out = append(out, r)
			continue
		}
		out[i].Nodes += r.Nodes
		some := slices.Concat(out[i].Some, r.Some)
		out[i].Some = some[:min(len(some), maxExamples)]
	}
	slices.SortStableFunc(out, func(a, b Report) int { return cmp.Compare(key(a), key(b)) })
	return out
}

// firstFew lists the first names and counts the others.
func firstFew(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
