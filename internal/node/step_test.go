package node_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "go.temper.dev/temper/internal/node"
)

func TestAnInsertionStaysRecordedWhereAStepBeginsAnew(t *testing.T) {
	for command, stays := range map[string]bool{InsertMedia: true, "On": false, "deploy.execute_deploy_step": false} {
		s := Step{Interface: "deploy", Step: StepWriteImage, Phase: PhaseOff, Issued: &Issued{Command: command}}
		require.True(t, s.Restart("its agent is gone"))
		require.Equal(t, stays, s.Issued != nil, command)
		require.Empty(t, s.Phase)
	}
}
