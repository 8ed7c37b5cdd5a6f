package activities_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// fromFiles is fromOurCD for a CD of a kernel and a ramdisk, about which the API says what answers has, one after the other.
func fromFiles(t *testing.T, answers ...error) (b *bench, asked *[]string) {
	b, asked = fromOurCD(t), new([]string)
	b.change(func(n *node.Node) {
		n.DriverInfo["deploy_kernel"], n.DriverInfo["deploy_ramdisk"] = "http://files/vmlinuz", "http://files/initrd"
	})
	b.steps.AskMedium = func(_ context.Context, url string) error {
		*asked = append(*asked, url)
		return answers[min(len(*asked), len(answers))-1]
	}
	return b, asked
}

func TestAMediumIsInsertedWhenTheAPIHasMadeIt(t *testing.T) {
	t.Parallel()
	b, asked := fromFiles(t, fault.New(fault.Unavailable, "it is being made"), nil)
	b.boots()
	require.Len(t, *asked, 2)
	require.Equal(t, (*asked)[:1], b.machine.images, "the BMC gets what was asked for")
}

func TestAServerOfMediaThatIsOnlyForBMCsIsNotAsked(t *testing.T) {
	t.Parallel()
	b, asked := fromFiles(t, conductor.ErrMediumNotReached)
	b.boots()
	require.Len(t, *asked, 1)
	require.Len(t, b.machine.images, 1)
}

func TestAMediumThatTheAPICanNotMakeFailsTheStep(t *testing.T) {
	t.Parallel()
	b, _ := fromFiles(t, fault.Coded(fault.RamdiskUnusable, "fetch the kernel http://files/vmlinuz: the server answered 404"))
	_, err := b.run()
	require.True(t, final(err))
	require.ErrorContains(t, err, "fetch the kernel http://files/vmlinuz: the server answered 404")
	require.Equal(t, fault.RamdiskUnusable, b.op().CurrentStep().Cause)
	require.Empty(t, b.machine.images)
	require.NotContains(t, b.machine.asked, bmc.RequestOn)
}
