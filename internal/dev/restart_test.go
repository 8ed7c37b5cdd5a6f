package dev

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/config"
)

func TestWhatDiesIsBroughtBackByACommandOfItsOwn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a rack's")
	s := &Stack{
		o:   Options{Temper: "bin/temper", Dev: config.Dev{Listen: "127.0.0.1:6385", Drivers: []string{"redfish"}, Groups: []string{"east"}}},
		dir: open(t, dir),
	}
	shown := "'" + filepath.Join(filepath.Dir(dir), `a rack'\''s`) + "'"
	api := s.role("api", "api", stageAPI, func() []string { return []string{"--listen", s.dir.listen("api", s.o.Listen)} }, nil)
	require.Equal(t, "bin/temper api --data "+shown+" --listen 127.0.0.1:6385", api.RestartHint())
	require.Equal(t, "bin/temper orchestrator --data "+shown, s.role("orchestrator", "orchestrator", stageOrchestrator, nil, nil).RestartHint())
	require.Equal(t, "bin/temper conductor --data "+shown+" --name conductor-2 --conductor-group east --enabled-drivers redfish", s.conductor(1).RestartHint())
	require.Contains(t, s.restartCommand("rack", nil), "bin/temper rack --config ")
	require.Contains(t, s.temporal().RestartHint(), "start it again")
	require.Contains(t, s.postgres().RestartHint(), "start it again")
}

func TestEnrollingNeedsAConductor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	o := Options{Dev: config.Dev{Data: dir, Nodes: 3, Enroll: true}}
	err := Run(t.Context(), o, nil)
	require.EqualError(t, err, "enrolling nodes needs a conductor, and there is none with --conductors 0: have one, or say --enroll=false")
	require.NoDirExists(t, dir, "nothing was begun")
	for name, change := range map[string]func(*Options){
		"a conductor":  func(o *Options) { o.Conductors = 1 },
		"no nodes":     func(o *Options) { o.Nodes = 0 },
		"no enrolment": func(o *Options) { o.Enroll = false },
	} {
		other := o
		change(&other)
		require.NoError(t, other.check(), name)
	}
}
