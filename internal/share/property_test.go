package share_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/share"
)

// fleet is a model of a running fleet: the published state, and which nodes each
// process shows to its scheduler. It does what the database and the processes do, one
// step at a time, in any order.
type fleet struct {
	t     *testing.T
	r     *rand.Rand
	st    share.State
	procs []*proc
	seq   int64 // of processes
	told  []string
}

// proc is a process of a service: which nodes it shows, and from which epoch.
type proc struct {
	host  string
	seq   int64
	shown map[string]bool // free nodes
	epoch int64           // from which they are
	next  map[string]bool // fetched and not yet shown; nil = nothing
	nextE int64
	dead  bool // it will never show anything again
}

func (f *fleet) say(format string, args ...any) {
	f.told = append(f.told, fmt.Sprintf(format, args...))
}

func (f *fleet) service(host string) *share.Service {
	for i := range f.st.Services {
		if f.st.Services[i].Host == host {
			return &f.st.Services[i]
		}
	}
	return nil
}

// holder returns the newest process of a host that has not ended.
func (f *fleet) holder(v *share.Service) *proc {
	for _, p := range f.procs {
		if p.seq == v.Incarnation && p.host == v.Host && !p.dead {
			return p
		}
	}
	return nil
}

// check requires that no two processes show the same node as free.
func (f *fleet) check() {
	shown := map[string]string{}
	for _, p := range f.procs {
		for uuid := range p.shown {
			who := fmt.Sprintf("%s.%d", p.host, p.seq)
			if by, twice := shown[uuid]; twice {
				f.t.Fatalf("%s is shown by %s and %s after:\n%s", uuid, by, who, strings.Join(f.told, "\n"))
			}
			shown[uuid] = who
		}
	}
}

func (f *fleet) publish() {
	rows := share.Decide(f.st)
	require.Equal(f.t, rows, share.Decide(f.st), "the same state gives the same rows")
	f.st.Epoch++
	for _, r := range rows {
		f.st.Nodes[r.Node].Held, f.st.Nodes[r.Node].Seen = r.Held, true
	}
}

// start starts a process, which registers with a name that another process may have.
func (f *fleet) start(host string, key *string, peers []string) {
	v := f.service(host)
	if v == nil {
		f.st.Services = append(f.st.Services, share.Service{ID: int64(len(f.st.Services) + 1), Host: host})
		v = f.service(host)
	}
	v.Quiet = v.Live // the process that had the name may still show nodes
	f.seq++
	v.Incarnation, v.Key, v.Peers, v.Live, v.Acknowledged = f.seq, key, peers, true, 0
	f.procs = append(f.procs, &proc{host: host, seq: f.seq})
	f.publish()
}

// step does one thing at random.
func (f *fleet) step() {
	v := &f.st.Services[f.r.IntN(len(f.st.Services))]
	p := f.holder(v)
	switch what := f.r.IntN(12); what {
	case 0, 1: // reconciliation
		f.say("epoch %d", f.st.Epoch+1)
		f.publish()
	case 2, 3: // it fetches the published share
		if v.Live && p != nil && !v.Quiet {
			p.next, p.nextE = map[string]bool{}, f.st.Epoch
			for _, n := range f.st.Nodes {
				if n.Held.Owner == v.ID && n.Instance == "" {
					p.next[n.UUID] = true
				}
			}
			f.say("%s fetches %d", v.Host, f.st.Epoch)
		}
	case 4, 5: // it shows what it has fetched
		if v.Live && p != nil && p.next != nil {
			p.shown, p.epoch, p.next = p.next, p.nextE, nil
			f.say("%s shows %d", v.Host, p.epoch)
		}
	case 6, 7: // it acknowledges what it shows
		if v.Live && p != nil && p.epoch > v.Acknowledged {
			v.Acknowledged = p.epoch
			f.say("%s acknowledges %d", v.Host, p.epoch)
		}
	case 8: // its lease ends; by then neither it nor an earlier process shows nodes
		if v.Live {
			v.Live, v.Quiet, v.Acknowledged = false, false, 0
			for _, q := range f.procs {
				if q.host == v.Host {
					q.shown, q.next, q.dead = nil, nil, true
				}
			}
			f.say("%s dies", v.Host)
		}
	case 9: // a process starts, after the earlier one or beside it, with other settings
		key, peers := f.settings()
		f.say("%s starts with key %v peers %v", v.Host, key, peers)
		f.start(v.Host, key, peers)
	case 10: // its settings change, or the earlier process shows nothing any more
		if v.Quiet {
			v.Quiet = false
			for _, q := range f.procs {
				if q.host == v.Host && q.seq < v.Incarnation {
					q.shown, q.next, q.dead = nil, nil, true
				}
			}
			f.say("%s is alone", v.Host)
		} else if v.Live {
			v.Key, v.Peers = f.settings()
			f.say("%s gets key %v peers %v", v.Host, v.Key, v.Peers)
		}
	case 11:
		f.touch(&f.st.Nodes[f.r.IntN(len(f.st.Nodes))])
	}
}

// touch claims a node, frees it or moves it to another group.
func (f *fleet) touch(n *share.Node) {
	n.Seen = false
	switch {
	case n.Instance != "":
		n.Instance, n.Service = "", ""
	case f.r.IntN(2) == 0:
		n.Group = []string{"", "g", "h"}[f.r.IntN(3)]
	default: // claimed by the service that has it, which removes it from its own list at once
		for _, v := range f.st.Services {
			if v.ID == n.Held.Owner && v.Live {
				n.Instance, n.Service = "i", v.Host
				for _, p := range f.procs {
					delete(p.shown, n.UUID)
					delete(p.next, n.UUID)
				}
			}
		}
	}
}

func (f *fleet) settings() (*string, []string) {
	var key *string
	if i := f.r.IntN(3); i > 0 {
		key = &[]string{"", "g"}[i-1]
	}
	if key == nil || f.r.IntN(2) == 0 {
		return key, nil
	}
	var peers []string
	for _, v := range f.st.Services {
		if f.r.IntN(3) > 0 {
			peers = append(peers, v.Host)
		}
	}
	return key, peers
}

// Whatever happens in whatever order, no node is shown by two processes. And once
// nothing changes and every service has acknowledged, each free node of a partition
// with a member is in exactly one share.
func TestRow22NoNodeIsEverInTwoPublishedShares(t *testing.T) {
	for seed := range uint64(400) {
		f := &fleet{t: t, r: rand.New(rand.NewPCG(seed, 1))}
		for i := range 12 {
			f.st.Nodes = append(f.st.Nodes, share.Node{ID: int64(i + 1), UUID: fmt.Sprintf("n%d", i), Group: []string{"", "g", "h"}[i%3]})
		}
		for _, host := range []string{"a", "b", "c"} {
			f.start(host, nil, nil)
		}
		for range 300 {
			f.step()
			f.check()
		}
		f.comesToRest()
	}
}

func (f *fleet) comesToRest() {
	for i := range f.st.Services {
		f.st.Services[i].Quiet = false
	}
	nodes := settled(f.t, f.st.Services, f.st.Nodes)
	s := share.NewSplit(f.st.Services)
	for _, n := range nodes {
		p := s.Partition(n.Group)
		switch {
		case n.Instance != "":
		case len(s.Members(p)) == 0:
			require.Zero(f.t, n.Held.Owner)
		default:
			require.Contains(f.t, s.Members(p), f.st.Services[n.Held.Owner-1].Host)
		}
	}
}
