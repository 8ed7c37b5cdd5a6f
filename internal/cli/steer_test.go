package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// steering is an API in which ada steers what her nodes are held by.
type steering struct {
	*testing.T
	url  string
	work *fakeWorkflows
}

func newSteering(t *testing.T) *steering {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte("open sesame"), bcrypt.MinCost)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "htpasswd")
	require.NoError(t, os.WriteFile(file, []byte("ada:"+string(hash)+"\n"), 0o600))
	t.Setenv("TEMPER_API_USER", "ada")
	t.Setenv("TEMPER_API_PASSWORD", "open sesame")
	url, w := newServer(t, api.Auth{Strategy: api.HTTPBasic, File: file})
	return &steering{T: t, url: url, work: w}
}

// does runs a command that has to succeed, with blanks between its words.
func (s *steering) does(command string) string {
	s.Helper()
	got := ask(s.T, s.url, "", strings.Fields(command)...)
	require.NoError(s, got.failed, command)
	return got.out
}

// fails runs a command that has to fail.
func (s *steering) fails(command string) string {
	s.Helper()
	got := ask(s.T, s.url, "", strings.Fields(command)...)
	require.Error(s, got.failed, command)
	return got.failed.Error()
}

// held is a new node, and its deploy that holds at a step that failed.
func (s *steering) held(name, step string) string {
	s.Helper()
	s.does("node create " + name + " --driver fake-hardware")
	s.does("node manage " + name + " --wait 1m --every 5ms")
	s.does("node provide " + name + " --wait 1m --every 5ms")
	id := s.started("node deploy " + name + " --on-failure hold -o json")
	number, err := strconv.ParseInt(id, 10, 64)
	require.NoError(s, err)
	require.NoError(s, s.work.hold(s.Context(), number, step))
	return id
}

// started is the operation that a command has begun.
func (s *steering) started(command string) string {
	s.Helper()
	var out struct{ Operations []struct{ ID string } }
	require.NoError(s, json.Unmarshal([]byte(s.does(command)), &out))
	require.Len(s, out.Operations, 1)
	return out.Operations[0].ID
}

func TestDecisionsFromTheCommandLine(t *testing.T) {
	s := newSteering(t)
	_, err := s.work.SeeProcess(t.Context(), coverage.Process{Role: coverage.RoleOrchestrator, Name: "o1"}, true) // else no decision is offered
	require.NoError(t, err)
	id := s.held("stuck1", "deploy.deploy")
	shown := s.does("operation show " + id)
	for _, want := range []string{"holding for a decision: temper operation retry " + id + ", or temper operation abort " + id, "waiting until", "on failure", "6, failed 5 of 5", "no disk"} {
		require.Contains(t, shown, want)
	}
	require.Regexp(t, `^Node stuck1 is .*\. Step deploy\.deploy failed: no disk\.\nNext: it fails unless somebody decides, at .*\nYou can: temper operation retry `+id+"\n$", s.does("node why stuck1"))
	why := s.does("node why stuck1 --long")
	require.Contains(t, why, "Step deploy.deploy failed: no disk.")
	require.Contains(t, why, "\nYou can:\n  temper operation retry "+id+"\n  temper operation abort "+id+"\n")
	refused := s.fails("operation skip " + id)
	require.Contains(t, refused, "Step deploy.deploy can not be skipped: nothing would be deployed without it")
	require.Contains(t, refused, "possible are: retry, abort")

	require.Contains(t, s.does("operation retry "+id+" --reason plugged"), id)
	shown = s.does("operation show " + id)
	require.Regexp(t, `held for a decision about step deploy.deploy: no disk; decided by ada: retry: plugged`, shown)
	require.Contains(t, s.does("node history stuck1"), "decided to retry deploy.deploy: plugged")
	require.Contains(t, s.fails("operation abort "+id), "waits for no decision", "one is enough")
	again := s.fails("operation retry " + id)
	require.Contains(t, again, "Operation "+id+" of node ")
	require.Contains(t, again, "is still open")

	id = s.held("stuck2", "deploy.deploy")
	got := ask(t, s.url, "", "operation", "watch", id, "--wait", "1s", "--every", "20ms")
	require.ErrorContains(t, got.failed, "temper node why stuck2 says what mends it; then decide: temper operation retry "+id+", or temper operation abort "+id)
	require.Empty(t, got.out, "that it is held is said once")
	out := s.does("operation abort " + id + " --reason enough --wait 1m --every 5ms")
	require.Contains(t, out, "cancelled")
	require.Contains(t, s.fails("operation watch "+id), "was cancelled by ada: enough")
	require.Contains(t, s.fails("operation skip "+id), "has ended already")
	next := s.started("operation retry " + id + " --reason anew -o json")
	require.NotEqual(t, id, next)
	require.Contains(t, s.does("node history stuck2"), "a retry of operation "+id+": anew")
	require.Contains(t, s.does("operation show "+next), "retry of")
	require.Contains(t, s.fails("operation skip "+next), "waits for no decision", "nobody asked")
	require.Contains(t, s.fails("operation retry 99"), "Operation 99 could not be found")
}

func TestASkipFromTheCommandLine(t *testing.T) {
	s := newSteering(t)
	s.does("node create stuck --driver fake-hardware")
	s.does("node manage stuck --wait 1m --every 5ms")
	s.does("node provide stuck --wait 1m --every 5ms")
	id := s.started(`node deploy stuck --on-failure hold -o json --deploy-steps [{"interface":"raid","step":"apply_configuration","priority":50,"args":{"raid_config":{"logical_disks":[{"size_gb":10,"raid_level":"1"}]}}}]`)
	number, err := strconv.ParseInt(id, 10, 64)
	require.NoError(t, err)
	require.NoError(t, s.work.hold(t.Context(), number, "raid.apply_configuration"))
	s.does("operation skip " + id + " --reason by-hand")
	shown := s.does("operation show " + id)
	require.Regexp(t, `raid.apply_configuration +skipped`, shown)
	require.Contains(t, shown, "decided by ada: skip: by-hand")
}

func TestADecisionThatTheWorkflowDoesNotTake(t *testing.T) {
	s := newSteering(t)
	id := s.held("stuck", "deploy.deploy")
	s.work.refuse = fault.New(fault.Unavailable, "temporal at 10.0.0.1 does not answer")
	for _, action := range []string{"retry", "abort"} {
		refused := s.fails("operation " + action + " " + id)
		require.Contains(t, refused, "Temporal has not confirmed the decision in time")
		require.Contains(t, refused, "temper operation show "+id+" tells whether it was taken")
		require.NotContains(t, refused, "10.0.0.1")
		require.NotContains(t, refused, "database")
	}
	s.work.refuse = fault.New(fault.Lost, "the workflow of operation 1 has ended")
	for _, action := range []string{"retry", "abort"} {
		refused := s.fails("operation " + action + " " + id)
		require.Contains(t, refused, "The workflow of the operation has ended, so that nothing takes a decision")
		require.Contains(t, refused, "temper node why stuck says what happens to it, temper operation retry "+id+" does the deploy again")
		require.NotContains(t, refused, "possible are")
		require.NotContains(t, refused, "conductor list")
	}
	require.NotContains(t, s.does("operation show "+id), "DECIDED")
	number, err := strconv.ParseInt(id, 10, 64)
	require.NoError(t, err)
	s.work.end(t.Context(), number, node.Failed)
	s.work.under.Wait()
	require.Contains(t, s.fails("operation abort "+id), "has ended already")
	require.Contains(t, s.does("operation retry "+id), "deploy")
}

func TestRecoverFromTheCommandLine(t *testing.T) {
	s := newSteering(t)
	id := s.held("stuck", "deploy.deploy")
	out := s.does("node recover stuck")
	require.Contains(t, out, "operation "+id+" (deploy), its workflow is open. By itself: it goes on; it waits for a decision: retry or abort until ")
	require.Contains(t, out, ". Nothing was ended; temper node why stuck says more\n")
	require.Equal(t, 1, strings.Count(out, "waits for a decision"), "a fact is told once: %s", out)
	require.Contains(t, s.fails("node recover stuck --force"), "--force needs a --reason")
	require.Contains(t, s.does("node recover stuck --dry-run"), "This command would end nothing; temper node why stuck says more")
	out = s.does("node recover stuck --dry-run --force")
	require.Contains(t, out, "The operation would be ended by force. Then: operation "+id+" (deploy): failed; ")
	require.Contains(t, out, "node stuck: deploy failed, no operation holds it. Nothing was done")
	require.Contains(t, s.does("operation show "+id), "holding", "nothing that is alive is broken")

	out = s.does("node recover stuck --force --reason fire")
	require.Contains(t, out, "operation "+id+" ended by force. Now: operation "+id+" (deploy): failed; ")
	require.Contains(t, s.does("node history stuck"), "taken from its owner by force: fire")
	require.Contains(t, s.does("node history stuck"), "ada")
	require.Contains(t, s.fails("operation watch "+id), "was ended by force, by ada: fire")
	require.Contains(t, s.does("node recover stuck"), "nobody holds it")

	id = s.started("operation retry " + id + " -o json")
	s.work.status = node.RunStatus{Known: true, How: "terminated", ClosedAt: time.Now()}
	out = s.does("node recover stuck")
	require.Contains(t, out, "its workflow is closed. By itself: reconciliation ends it as soon as")
	require.Contains(t, s.does("node why stuck --long"), "Its workflow was terminated at ")
	s.work.status.ClosedAt = time.Now().Add(-time.Minute)
	require.Contains(t, s.fails("node recover stuck"), "A reason is required")
	require.Contains(t, s.does("node recover stuck --reason terminated"), "operation "+id+" ended: its workflow was terminated")
	require.Contains(t, s.fails("node recover stuck nosuch"), "Node nosuch could not be found")

	require.Contains(t, s.fails("operation recover --lost-temporal --reason _"+strings.Repeat("x", 5000)), "reason is longer than")
	require.Contains(t, s.does("operation recover --lost-temporal --reason restored"), "what Temporal does not know is ended by the next reconciliations")
	by, err := s.work.SaidLostTemporal(t.Context(), time.Minute)
	require.NoError(t, err)
	require.Equal(t, "ada", by)
	require.Contains(t, s.fails("operation recover --lost-temporal"), `required flag(s) "reason" not set`)
	require.Contains(t, s.fails("operation recover --reason x"), `required flag(s) "lost-temporal" not set`)
}

func TestWhatRunsOnTheRingIsSaidAsItIs(t *testing.T) {
	s := newSteering(t)
	require.Equal(t, "a reconciliation is queued, but no orchestrator seems to run it: none has ever ended; it runs when one is there\n", s.does("ring reconcile"))
	require.NoError(t, s.work.Reconciled(t.Context()))
	require.Regexp(t, `^a reconciliation is queued, an orchestrator runs it next; the last one ended \d+s ago\n$`, s.does("ring reconcile"))

	s.does("node create n1 --driver fake-hardware")
	n, err := s.work.Node(t.Context(), "n1")
	require.NoError(t, err)
	require.Contains(t, s.does("ring what-if --without c1"), "Nobody would cover n1 "+n.UUID)
	require.Regexp(t, "n1 +"+n.UUID+" +c1", s.does("ring nodes"))
	require.Regexp(t, `state +alive`, s.does("conductor show c1"))
	s.does("conductor drain c1 --force --reason moving")
	require.Regexp(t, `state +draining`, s.does("conductor show c1"))
}
