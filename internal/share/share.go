// Package share splits the nodes among compute services: which partition a node
// is in, who may own its free nodes, who does, and what of it an operator should
// know. It is pure; docs/compute-services.md has the rules.
package share

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Service is a compute service as it is registered. Hosts, keys and the names in
// lists are compared as Fold has them.
type Service struct {
	ID   int64
	Host string
	// Key is the partition key, in lower case: nil = unset, the feature is off;
	// "" = the default group only.
	Key   *string
	Peers []string // the peer list, in lower case; nil = unset
	Live  bool     // its lease has not ended

	Incarnation   int64
	Acknowledged  int64     // the newest epoch that it has published
	Quiet         bool      // an earlier process of this host may still publish: this one does not
	SettingsError string    // why settings that it read again were not taken; "" = they were
	RegisteredAt  time.Time // this incarnation
	SeenAt        time.Time
	LeaseUntil    time.Time
}

// Name is the host as it is compared.
func (s *Service) Name() string { return Fold(s.Host) }

// Partition is the one whose free nodes the service may own.
func (s *Service) Partition() Partition {
	if s.Key == nil {
		return Rest
	}
	return Keyed(*s.Key)
}

// accepts reports whether s takes host for a peer: no list takes all, a list its
// names and its owner.
func (s *Service) accepts(host string) bool {
	return s.Peers == nil || host == s.Name() || slices.Contains(s.Peers, host)
}

// Fold is a host, key or group as it is compared.
func Fold(s string) string { return strings.ToLower(s) }

// Partition is a part of the fleet with a ring of its own.
type Partition struct {
	Named bool
	Group string // conductor group; of a named one
}

// Rest is the partition of the groups without a key of their own.
var Rest = Partition{}

// Keyed is the partition of one conductor group.
func Keyed(group string) Partition { return Partition{Named: true, Group: group} }

func (p Partition) String() string {
	if !p.Named {
		return "the rest"
	}
	return quoted(p.Group)
}

// Split is who may own what: the registered services, and the members of each
// partition among them.
type Split struct {
	services []Service // by name
	byName   map[string]*Service
	byID     map[int64]*Service
	keyed    map[Partition]bool     // partitions that somebody is registered for
	members  map[Partition][]string // names, sorted
	excluded map[string]string      // name: why it is no member
}

// Of makes the split of the registered services, live and dead.
func Of(services []Service) *Split {
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
		s.members[p] = s.elect(p, list)
	}
	return s
}

// elect are the members of a partition among its live services, which are in
// order of name: most votes first, each that accepts and is accepted by all
// before it. Lists can't contradict themselves out of a partition that way: the
// first is always a member.
func (s *Split) elect(p Partition, live []*Service) []string {
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

// Partition is the one that a node of the group is in: that of its group, if a
// service, live or dead, is registered for it; else the rest.
func (s *Split) Partition(group string) Partition {
	if p := Keyed(Fold(group)); s.keyed[p] {
		return p
	}
	return Rest
}

// Members are the names of the services among which the free nodes of a
// partition are split, sorted.
func (s *Split) Members(p Partition) []string { return s.members[p] }

// Excluded is why a live service is no member of its partition; "" = it is one, or is not live.
func (s *Split) Excluded(host string) string { return s.excluded[Fold(host)] }

// Signature is the same while the services that count for the split, and what
// they say, are the same.
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

// Heartbeat is what a service says of itself.
type Heartbeat struct {
	Host          string
	Incarnation   int64    // grows with every start; 0 = that of whoever has the name
	Key           *string  // as Service
	Peers         []string // as Service
	Acknowledged  int64
	SettingsError string
}
