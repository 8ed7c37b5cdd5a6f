package activities_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// rows is the content of an operation's row and of its node's.
type rows struct {
	State, LastError, WaitingFor, Conductor, BootMode string
	Power, TargetPower                                node.PowerState
	Internal, Properties                              map[string]any
	Phase                                             node.Phase
	Asked                                             node.Ask
	Claim                                             node.Claim
	Rests, Refused                                    bool
	Steps                                             []string
	Undo, Owed                                        []node.Undo
	Pause                                             node.PauseOf
	Seen                                              string // of what the step waits for
}

func rowsOf(t *testing.T, r conductor.OperationStore, uuid string) rows {
	t.Helper()
	n, err := r.Node(t.Context(), uuid)
	require.NoError(t, err)
	o := n.Operation
	out := rows{
		State: string(n.ProvisionState), Power: n.PowerState, TargetPower: n.TargetPowerState, BootMode: n.BootMode, LastError: n.LastError, WaitingFor: o.WaitingFor, Conductor: o.Conductor,
		Phase: o.Phase, Asked: o.Asked, Claim: o.Claim, Rests: o.Rests, Refused: n.OwedRefused,
		Undo: append([]node.Undo{}, o.Undo...), Owed: append([]node.Undo{}, n.Owed...),
	}
	out.Internal, out.Properties = maps.Clone(n.DriverInternalInfo), maps.Clone(n.Properties)
	for _, s := range o.Steps {
		out.Steps = append(out.Steps, fmt.Sprintf("%s %s %d", s.Name(), s.State, s.Failures))
	}
	if o.StepWait != nil {
		out.Seen = o.StepWait.Seen
	}
	if o.TemporalPause != nil {
		out.Pause = o.TemporalPause.What
	}
	return out
}

// Most tests of steps use book instead of a database. Whatever steps write and read, in any
// order, a book answers and stores as the store does.
func TestABookDoesWhatTheStoreDoes(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			d := rand.New(rand.NewPCG(seed, 12))
			one := func(of ...string) string { return of[d.IntN(len(of))] }
			r := newRecords(t)
			o := r.deploying(
				node.Step{Interface: "deploy", Step: node.StepPrepare, Source: node.SourceCore, State: node.StepPending},
				node.Step{Index: 1, Interface: "deploy", Step: node.StepDeploy, Source: node.SourceDriver, State: node.StepPending})
			_, err := r.db.Begin(t.Context(), o.ID, run)
			require.NoError(t, err)
			n, err := r.db.Node(t.Context(), r.node.UUID)
			require.NoError(t, err)
			b := newBook(*n, *n.Operation)
			claim := node.Claim{}
			began := time.Now().UTC().Truncate(time.Microsecond)
			for i := range 40 {
				what := fmt.Sprintf("%d: ", i)
				// both calls f with the book and with the store. The results must be the same.
				both := func(name string, f func(conductor.OperationStore) (any, error)) any {
					what += name
					want, wanted := f(r.db)
					got, err := f(b)
					require.Equal(t, wanted == nil, err == nil, "%s: the store says %v, the book %v", what, wanted, err)
					if err != nil {
						require.Equal(t, fault.KindOf(wanted), fault.KindOf(err), "%s: %v, %v", what, wanted, err)
					}
					require.Equal(t, want, got, what)
					return got
				}
				held := claim
				if d.IntN(6) == 0 {
					held.Attempt++ // another attempt's claim
				}
				switch d.IntN(8) {
				case 7:
					w := &node.Wait{For: node.WaitPower, Subject: "power off", Since: began, Seen: one("On", "Off")}
					both(fmt.Sprintf("tell %+v", w), func(r conductor.OperationStore) (any, error) { return r.TellWait(t.Context(), o.ID, held, w) })
				case 0, 1:
					c := node.Claim{Seq: claim.Seq + int64(d.IntN(5)) - 1, Attempt: claim.Attempt + int32(d.IntN(5)) - 1}
					started := began.Add(time.Duration(d.IntN(100)) * time.Second)
					host := one("c1", "c2")
					got := both(fmt.Sprintf("claim %v, begun at %s, by %s", c, started, host), func(r conductor.OperationStore) (any, error) {
						n, err := r.Claim(t.Context(), o.ID, run, c, started, host)
						if err != nil {
							return nil, err
						}
						return n.Operation.Claim, nil
					})
					if taken, ok := got.(node.Claim); ok {
						claim = taken
					}
				case 2:
					both("check", func(r conductor.OperationStore) (any, error) { return r.CheckClaim(t.Context(), o.ID, held) })
				case 3, 4:
					phase := node.Phase(one("", string(node.Running), string(node.Waiting)))
					p := node.Progress{
						Phase: phase, WaitingFor: one("", "the agent"),
						Move: node.Event(one("", "", string(node.EventWait), string(node.EventResume))), Power: node.PowerState(one("", string(node.PowerOn), string(node.PowerOff))),
						LastError: one("", "", "no answer"), Rests: d.IntN(2) == 0, Came: d.IntN(2) == 0, ClearAsk: d.IntN(3) == 0, ClearAgent: d.IntN(3) == 0, Refused: d.IntN(8) == 0,
					}
					if p.BootMode = one("", "uefi", "bios"); d.IntN(2) == 0 {
						p.Internal = map[string]any{one("deploy_boot", "agent"): one("a", "b")}
					}
					if d.IntN(2) == 0 {
						p.Undo = []node.Undo{node.UndoPowerOff}
					}
					if d.IntN(4) > 0 {
						p.Steps = []node.Step{{Interface: "deploy", Step: node.StepPrepare, State: node.StepState(one("running", "done", "failed")), Failures: d.IntN(3)}}
					}
					both(fmt.Sprintf("save %+v", p), func(r conductor.OperationStore) (any, error) { return r.SaveSteps(t.Context(), o.ID, held, p) })
				case 5:
					found := node.Inspection{Properties: map[string]any{one("cpu_arch", "vendor"): one("a", "b")}}
					both(fmt.Sprintf("save inspection %v", found.Properties), func(r conductor.OperationStore) (any, error) {
						return r.SaveInspection(t.Context(), o.ID, held, found)
					})
				case 6:
					if d.IntN(2) == 0 {
						ask := node.Ask(one(string(node.AskUnhold), string(node.AskPower), string(node.AskAbort)))
						what += "ask " + string(ask)
						_, err := r.db.Request(t.Context(), n.UUID, func(*node.Node) (*node.Request, error) {
							return &node.Request{Steer: &node.Steer{Ask: ask, By: "admin", Power: node.PowerOn}}, nil
						})
						require.NoError(t, err)
						b.op.Asked, b.op.AskedPower = ask, node.PowerOn
						break
					}
					var p *node.Pause
					if d.IntN(2) == 0 {
						p = &node.Pause{What: node.PauseOf(one(string(node.PauseOfActivity), string(node.PauseOfWorkflow))), At: began}
					}
					both(fmt.Sprintf("hand over %+v", p), func(r conductor.OperationStore) (any, error) { return nil, r.HandOver(t.Context(), o.ID, held, p) })
				}
				require.Equal(t, rowsOf(t, r.db, n.UUID), rowsOf(t, b, n.UUID), what)
			}
		})
	}
}
