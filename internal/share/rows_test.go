package share_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/share"
)

// The name of each test begins with the number of the rule in
// docs/compute-services.md that it tests.

// svc parses a service and its settings: "a key=x peers=a,b dead".
func svc(id int64, text string) share.Service {
	fields := strings.Fields(text)
	v := share.Service{ID: id, Host: fields[0], Live: true, LeaseUntil: time.Unix(1000, 0)}
	for _, f := range fields[1:] {
		name, value, _ := strings.Cut(f, "=")
		switch name {
		case "key":
			v.Key = &value
		case "peers":
			v.Peers = strings.Split(value, ",")
		case "dead":
			v.Live = false
		default:
			panic(f)
		}
	}
	return v
}

func services(texts ...string) []share.Service {
	out := make([]share.Service, len(texts))
	for i, t := range texts {
		out[i] = svc(int64(i+1), t)
	}
	return out
}

// free are nodes of a group without an instance.
func free(group string, n int) []share.Node {
	out := make([]share.Node, n)
	for i := range out {
		out[i] = share.Node{ID: int64(i + 1), UUID: fmt.Sprintf("%s-%04d", group, i), Group: group, Seen: true}
	}
	return out
}

// settled returns which service has each node once nothing moves any more, after every
// live service has acknowledged every epoch.
func settled(t *testing.T, services []share.Service, nodes []share.Node) []share.Node {
	t.Helper()
	st := share.State{Epoch: 1 << 20, Services: services, Nodes: nodes}
	apply(&st, nil)
	for range 5 {
		rows := share.Decide(st)
		if len(rows) == 0 {
			return st.Nodes
		}
		apply(&st, rows)
	}
	t.Fatal("it does not come to rest")
	return nil
}

func apply(st *share.State, rows []share.Row) {
	st.Epoch++
	for _, r := range rows {
		st.Nodes[r.Node].Held, st.Nodes[r.Node].Seen = r.Held, true
	}
	for i := range st.Services {
		if st.Services[i].Live {
			st.Services[i].Acknowledged = st.Epoch
		}
	}
}

// owners counts the nodes of each service; "" = of no service.
func owners(services []share.Service, nodes []share.Node) map[string]int {
	out := map[string]int{}
	for _, n := range nodes {
		name := ""
		for _, v := range services {
			if v.ID == n.Held.Owner {
				name = v.Host
			}
		}
		out[name]++
	}
	return out
}

func kinds(reports []share.Report) []string {
	var out []string
	for _, r := range reports {
		out = append(out, r.Text)
	}
	return out
}

func TestRow02ThePartitionKeyIsUnsetEmptyOrAGroup(t *testing.T) {
	all := services("off", "default key=", "x key=x")
	s := share.NewSplit(all)
	require.Equal(t, share.Rest, all[0].Partition())
	require.Equal(t, share.Keyed(""), s.Partition(""), "the empty key is the default group")
	require.Equal(t, share.Keyed("x"), s.Partition("x"))
	require.Equal(t, share.Rest, s.Partition("y"))
	require.Equal(t, share.Rest, share.NewSplit(services("off", "x key=x")).Partition(""), "without that key the default group is one of the rest")
}

func TestRow03APartitionIsThereWhileSomebodyIsRegisteredForIt(t *testing.T) {
	require.Equal(t, share.Keyed("g"), share.NewSplit(services("a key=g dead", "b")).Partition("G"), "also dead, and in whatever case")
	require.Equal(t, share.Rest, share.NewSplit(services("b")).Partition("g"), "until it is forgotten")
}

func TestRow04TheRestIsServedByServicesWithoutAKey(t *testing.T) {
	s := share.NewSplit(services("a", "b", "c key=g"))
	require.Equal(t, []string{"a", "b"}, s.Members(share.Rest))
	all := services("a", "b")
	nodes := append(free("g", 50), free("h", 50)...)
	require.Zero(t, owners(all, settled(t, all, nodes))[""], "without keys all nodes are eligible")
	require.Empty(t, share.NewSplit(all).Reports(nil))
}

func TestRow05AKeyedGroupIsOutOfReachOfServicesWithoutAKey(t *testing.T) {
	all := services("a", "b key=g dead")
	require.Equal(t, map[string]int{"": 10}, owners(all, settled(t, all, free("g", 10))), "also while its own services are dead")
	require.Equal(t, map[string]int{"a": 10}, owners(all, settled(t, all, free("h", 10))))
	require.Equal(t, []string{`mixed: services without a partition key (a) do not get nodes of the groups with one ("g")`},
		kinds(share.NewSplit(all).Reports(nil)))
}

func TestRow06AGroupThatNobodyServesIsReported(t *testing.T) {
	all := services("a key=g")
	require.Equal(t, map[string]int{"": 3}, owners(all, settled(t, all, free("h", 3))))
	tally := []share.Tally{{Group: "h", Nodes: 3}, {Group: "g", Nodes: 2}}
	reports := share.NewSplit(all).Reports(tally)
	require.Equal(t, []string{`unserved: no compute service for group "h"`}, kinds(reports))
	require.Equal(t, 3, reports[0].Nodes)
	require.Contains(t, kinds(share.NewSplit(services("a key=g dead")).Reports(tally)), `unserved: services of "g" are down`)
	require.Equal(t, []string{`unserved: no compute service for group "g"`, `unserved: no compute service for group "h"`},
		kinds(share.NewSplit(services("a dead")).Reports(tally)), "one without a key that is dead serves nobody")
}

func TestRow07WithoutAnyServiceNothingIsReported(t *testing.T) {
	require.Empty(t, share.NewSplit(nil).Reports([]share.Tally{{Nodes: 3}, {Instance: true, Nodes: 1}}))
	require.Empty(t, share.Decide(share.State{Nodes: free("", 3)}))
}

func TestRow10ANodeWithAnInstanceIsItsServices(t *testing.T) {
	all := services("a key=g", "b key=g", "c", "d key=x dead", "e key=g peers=e")
	for i, host := range []string{"a", "c", "D", "e"} {
		nodes := free("g", 1)
		nodes[0].Instance, nodes[0].Service = "i", host
		require.Equal(t, 1, owners(all, settled(t, all, nodes))[all[[]int{0, 2, 3, 4}[i]].Host], host)
	}
}

func TestRow11AForeignInstanceStaysAndItsNodeComesHome(t *testing.T) {
	all := services("a key=g", "b key=h")
	nodes := free("g", 1)
	nodes[0].Instance, nodes[0].Service = "i", "b"
	nodes = settled(t, all, nodes)
	require.Equal(t, map[string]int{"b": 1}, owners(all, nodes))
	reports := share.NewSplit(all).Reports([]share.Tally{{Group: "g", Instance: true, Service: "b", Nodes: 1, Some: []string{"u"}}})
	require.Equal(t, []string{`foreign: instances of b ("h") in group "g"`}, kinds(reports))
	require.Equal(t, []string{"u"}, reports[0].Some)
	nodes[0].Instance, nodes[0].Service = "", ""
	rows := share.Decide(share.State{Epoch: 4, Services: all, Nodes: nodes})
	require.Equal(t, []share.Row{{Node: 0, Held: share.Held{Leaving: 2, LeftIn: 5, Entering: 1}}}, rows, "in the next epoch")
}

func TestRow12AnInstanceWithoutAServiceIsInNoShare(t *testing.T) {
	all := services("a")
	for _, host := range []string{"", "unknown"} {
		nodes := free("", 1)
		nodes[0].Instance, nodes[0].Service = "i", host
		require.Equal(t, map[string]int{"": 1}, owners(all, settled(t, all, nodes)))
	}
	require.Equal(t, []string{"instance without service", "instance without service: unknown is not registered"},
		kinds(share.NewSplit(all).Reports([]share.Tally{{Instance: true, Nodes: 1}, {Instance: true, Service: "unknown", Nodes: 1}})))
}

func TestRow13ADeadServiceKeepsItsInstancesAndNothingElse(t *testing.T) {
	all := services("a", "b")
	nodes := settled(t, all, free("", 40))
	nodes[0].Instance, nodes[0].Service = "i", "a"
	nodes = settled(t, all, nodes)
	all[0].Live = false
	rows := share.Decide(share.State{Epoch: 9, Services: all, Nodes: nodes})
	for _, r := range rows {
		require.Equal(t, share.Held{Owner: 2}, r.Held, "at once: the lease has ended")
	}
	nodes = settled(t, all, nodes)
	require.Equal(t, map[string]int{"a": 1, "b": 39}, owners(all, nodes))
	reports := share.NewSplit(all).Reports([]share.Tally{{Instance: true, Service: "a", Nodes: 1}})
	require.Equal(t, []string{"unmanaged since 1970-01-01 00:16:40Z"}, kinds(reports))
	require.Equal(t, time.Unix(1000, 0), *reports[0].Since)
	renamed := append(all, svc(3, "a2"))
	require.Equal(t, 1, owners(renamed, settled(t, renamed, nodes))["a"], "renamed is a new service")
}

func TestRow15WithoutListsAllLiveServicesOfAKeyAreMembers(t *testing.T) {
	s := share.NewSplit(services("a key=g", "b key=g", "c key=g dead", "d key=h", "e"))
	require.Equal(t, []string{"a", "b"}, s.Members(share.Keyed("g")))
}

func TestRow16NamesThatMeanNothingAreIgnoredAndReported(t *testing.T) {
	all := services("A key=g peers=b,c,d,e,nobody", "b key=g", "c key=g dead", "d key=h", "e", "f peers=a")
	s := share.NewSplit(all)
	require.Equal(t, []string{"a", "b"}, s.Members(share.Keyed("g")), "the own name counts, the dead are filtered out")
	require.Equal(t, []string{
		`d in peer_list has the partition key "h"`, "e in peer_list has no partition key", "nobody in peer_list is not registered",
	}, s.Warnings("a"))
	require.Equal(t, []string{"peer_list means nothing without partition_key"}, s.Warnings("f"))
	require.Equal(t, []string{"e", "f"}, s.Members(share.Rest), "and so it is ignored")
	require.Contains(t, kinds(s.Reports(nil)), "peer ignored: nobody in peer_list is not registered")
}

// Rule 18 follows from rule 17, so one test has both.
func TestRow17And18ListsThatContradictEachOther(t *testing.T) {
	for name, c := range map[string]struct {
		services []string
		members  string
		excluded map[string]string
	}{
		"C lists one that does not list it":      {[]string{"A peers=a,b,c", "B peers=a,b", "C peers=a,b,c"}, "a,b", map[string]string{"C": "B does not list it"}},
		"replacing B":                            {[]string{"A peers=a,c", "B peers=a,b", "C peers=a,c"}, "a,c", map[string]string{"B": "A does not list it"}},
		"everybody alone":                        {[]string{"A peers=a", "B peers=b"}, "a", map[string]string{"B": "A does not list it"}},
		"one without a list and one alone":       {[]string{"A", "B peers=b"}, "b", map[string]string{"A": "B does not list it"}},
		"a list of dead hosts only":              {[]string{"A peers=b,c", "B dead", "C dead"}, "a", nil},
		"it is not enough to be listed":          {[]string{"A", "B", "C peers=a", "D peers=a,b"}, "a,b,d", map[string]string{"C": "it does not list B"}},
		"whatever the case of the names":         {[]string{"a peers=a,b", "B peers=a,b"}, "a,b", nil},
		"the dead have no vote":                  {[]string{"A peers=a", "B dead peers=a,b", "C peers=c"}, "a", map[string]string{"C": "A does not list it"}},
		"the own name counts without being told": {[]string{"A peers=b", "B peers=a"}, "a,b", nil},
	} {
		t.Run(name, func(t *testing.T) {
			texts := make([]string, len(c.services))
			for i, s := range c.services {
				host, rest, _ := strings.Cut(s, " ")
				texts[i] = host + " key=g " + rest
			}
			s := share.NewSplit(services(texts...))
			require.Equal(t, c.members, strings.Join(s.Members(share.Keyed("g")), ","))
			for host, why := range c.excluded {
				require.Equal(t, why, s.Excluded(host))
				require.Contains(t, kinds(s.Reports(nil)), "excluded: "+why)
			}
			for _, m := range s.Members(share.Keyed("g")) {
				require.Empty(t, s.Excluded(m))
			}
		})
	}
}

func TestRow17TheExcludedKeepTheirInstancesNodes(t *testing.T) {
	all := services("a key=g", "b key=g peers=b")
	nodes := free("g", 10)
	nodes[3].Instance, nodes[3].Service = "i", "a"
	require.Equal(t, map[string]int{"a": 1, "b": 9}, owners(all, settled(t, all, nodes)))
}

func TestRow19ANodeThatChangesGroup(t *testing.T) {
	all := services("a key=g", "b key=h")
	nodes := settled(t, all, free("g", 2))
	nodes[1].Instance, nodes[1].Service = "i", "a"
	nodes[0].Group, nodes[1].Group = "h", "h"
	nodes[0].Seen, nodes[1].Seen = false, false
	st := share.State{Epoch: 3, Services: all, Nodes: nodes}
	rows := share.Decide(st)
	require.Equal(t, []share.Row{
		{Node: 0, Held: share.Held{Leaving: 1, LeftIn: 4, Entering: 2}}, // in neither, until a has acknowledged
		{Node: 1, Held: share.Held{Owner: 1}},
	}, rows)
	apply(&st, rows)
	require.Equal(t, []share.Row{{Node: 0, Held: share.Held{Owner: 2}}}, share.Decide(st))
}

func TestRow22ANodeChangesServiceInTwoMoves(t *testing.T) {
	n := share.Node{ID: 1, UUID: "u", Seen: true, Held: share.Held{Owner: 2}}
	keyed := services("a key=", "b")
	keyed[1].Acknowledged = 6
	decide := func(services []share.Service, h share.Held) share.Held {
		n.Held = h
		rows := share.Decide(share.State{Epoch: 6, Services: services, Nodes: []share.Node{n}})
		if len(rows) == 0 {
			return h
		}
		return rows[0].Held
	}
	left := share.Held{Leaving: 2, LeftIn: 7, Entering: 1}
	require.Equal(t, left, decide(keyed, share.Held{Owner: 2}), "it leaves")
	require.Equal(t, left, decide(keyed, left), "and waits, while b has acknowledged only epoch 6")
	keyed[1].Quiet, keyed[1].Acknowledged = true, 7
	require.Equal(t, left, decide(keyed, left), "and while an earlier process of b may publish")
	keyed[1].Quiet = false
	require.Equal(t, share.Held{Owner: 1}, decide(keyed, left), "then it enters")
	keyed[1].Acknowledged, keyed[1].Live = 0, false
	require.Equal(t, share.Held{Owner: 1}, decide(keyed, left), "as when the lease has ended")
	require.Equal(t, share.Held{Owner: 1}, decide(keyed[:1], left), "or b is forgotten")
	only := services("a dead", "b")
	require.Equal(t, share.Held{Owner: 2}, decide(only, left), "back to b it may go at once")
	third := append(services("a dead", "b key=x"), svc(3, "c key="))
	require.Equal(t, share.Held{Leaving: 2, LeftIn: 7, Entering: 3}, decide(third, left), "elsewhere only after b")
	require.Equal(t, share.Held{Owner: 1}, decide(services("a key="), share.Held{}), "nobody's enters at once")
}

func TestRow23TheRingHasOnlyMembersAndFreeNodes(t *testing.T) {
	all := services("a key=g", "b key=g", "c key=g", "d")
	nodes := append(free("g", 300), free("h", 30)...)
	before := settled(t, all, nodes)
	at := map[string]int64{}
	for _, n := range before {
		at[n.UUID] = n.Held.Owner
	}
	all[1].Live = false
	for _, n := range settled(t, all, before) {
		if was := at[n.UUID]; was != 2 {
			require.Equal(t, was, n.Held.Owner, "only the nodes of the one that is lost move")
		} else {
			require.Contains(t, []int64{1, 3}, n.Held.Owner)
		}
	}
}
