// Package share splits the nodes among compute services: which partition a node is in, which
// services may own it, which one does, and what operators should know about it. It is pure;
// docs/compute-services.md has the rules.
package share

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Service is a registered compute service. Hosts, keys and names in peer lists are compared
// after Fold.
type Service struct {
	ID   int64
	Host string
	// Key is the partition key, in lower case. nil = unset: the service has no partition of
	// its own. "" = the default conductor group.
	Key   *string
	Peers []string // the peer list, in lower case; nil = unset
	Live  bool     // its lease has not ended

	Incarnation   int64
	Acknowledged  int64     // the newest epoch that it has published
	Quiet         bool      // an earlier process of this host may still publish, so this one does not yet
	SettingsError string    // why changed settings were refused; "" = they were not
	RegisteredAt  time.Time // this incarnation
	SeenAt        time.Time
	LeaseUntil    time.Time
}

// Name returns the host after Fold.
func (s *Service) Name() string { return Fold(s.Host) }

// Partition returns the partition whose free nodes the service may own.
func (s *Service) Partition() Partition {
	if s.Key == nil {
		return Rest
	}
	return Keyed(*s.Key)
}

// accepts reports whether s accepts host as a peer. Without a peer list it accepts all; with
// one it accepts itself and the names in the list.
func (s *Service) accepts(host string) bool {
	return s.Peers == nil || host == s.Name() || slices.Contains(s.Peers, host)
}

// Fold returns a host, key or group in the form in which it is compared: lower case.
func Fold(s string) string { return strings.ToLower(s) }

// Partition is a part of the fleet whose free nodes are split separately.
type Partition struct {
	Named bool
	Group string // conductor group, if Named
}

// Rest is the partition of all conductor groups that are no service's partition key.
var Rest = Partition{}

// Keyed returns the partition of a conductor group.
func Keyed(group string) Partition { return Partition{Named: true, Group: group} }

func (p Partition) String() string {
	if !p.Named {
		return "the rest"
	}
	return quoted(p.Group)
}

// Split has the registered services and the members of each partition.
type Split struct {
	services []Service // by name
	byName   map[string]*Service
	byID     map[int64]*Service
	keyed    map[Partition]bool     // partitions for which a service is registered
	members  map[Partition][]string // names, sorted
	excluded map[string]string      // name: why it is no member
}

// NewSplit computes the split for the registered services, live and dead.
func NewSplit(services []Service) *Split {
	s := &Split{
		services: slices.SortedFunc(slices.Values(services), func(a, b Service) int { return cmp.Compare(a.Name(), b.Name()) }),
		byName:   map[string]*Service{}, byID: map[int64]*Service{}, keyed: map[Partition]bool{},
		members: map[Partition][]string{}, excluded: map[string]string{},
	}
	live := map[Partition][]*Service{}
	for i := range s.services {
		v := &s.services[i]
		s.byName[v.Name()], s.byID[v.ID] = v, v
		p := v.Partition()
		s.keyed[p] = s.keyed[p] || p.Named
		if v.Live {
			live[p] = append(live[p], v)
		}
	}
	for p, list := range live {
		s.members[p] = s.choose(p, list)
	}
	return s
}

// choose returns the members of a partition. live are its live services in the order of their
// names. It orders them by how many services accept them, and each becomes a member that
// accepts all members before it and is accepted by them. So a partition always has a member,
// however its peer lists contradict each other.
func (s *Split) choose(p Partition, live []*Service) []string {
	votes := map[string]int{}
	for _, v := range live {
		for _, other := range live {
			if !p.Named || other.accepts(v.Name()) {
				votes[v.Name()]++
			}
		}
	}
	slices.SortStableFunc(live, func(a, b *Service) int { return cmp.Compare(votes[b.Name()], votes[a.Name()]) })
	var in []*Service
	for _, v := range live {
		why := ""
		for _, m := range in {
			switch {
			case !p.Named: // lists without a key are ignored
			case !m.accepts(v.Name()):
				why = m.Host + " does not list it"
			case !v.accepts(m.Name()):
				why = "it does not list " + m.Host
			}
			if why != "" {
				break
			}
		}
		if why != "" {
			s.excluded[v.Name()] = why
			continue
		}
		in = append(in, v)
	}
	names := make([]string, len(in))
	for i, v := range in {
		names[i] = v.Name()
	}
	slices.Sort(names)
	return names
}

// Partition returns the partition of the nodes of a conductor group: its own if a service, live
// or dead, is registered for it, else Rest.
func (s *Split) Partition(group string) Partition {
	if p := Keyed(Fold(group)); s.keyed[p] {
		return p
	}
	return Rest
}

// Members returns the names, sorted, of the services among which the free nodes of a partition
// are split.
func (s *Split) Members(p Partition) []string { return s.members[p] }

// Excluded returns why a live service is no member of its partition, "" if it is one or is not live.
func (s *Split) Excluded(host string) string { return s.excluded[Fold(host)] }

// Signature returns a text that changes whenever the split may change: when a service is added,
// removed, starts or stops being live, or has other settings.
func (s *Split) Signature() string {
	var b strings.Builder
	for _, v := range s.services {
		b.WriteString(v.Name())
		if v.Live {
			b.WriteString(" live")
		}
		if v.Key != nil {
			b.WriteString(" key=" + *v.Key)
		}
		if v.Peers != nil {
			b.WriteString(" peers=" + strings.Join(v.Peers, ","))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func quoted(s string) string { return `"` + s + `"` }

// Heartbeat is the content of a service's heartbeat.
type Heartbeat struct {
	By            string // the user who sends it; "" = noauth
	Host          string
	Incarnation   int64    // grows with every start; 0 = the current one
	Key           *string  // as Service
	Peers         []string // as Service
	Acknowledged  int64
	SettingsError string
}
