package worker

import (
	"errors"
	"fmt"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.uber.org/zap"
	"google.golang.org/protobuf/encoding/protojson"

	"go.temper.dev/temper/internal/fault"
)

// The SDK writes the text of each error in a chain into the history.
func TestNoSecretOfAURLBecomesAFailure(t *testing.T) {
	raw := &url.Error{Op: "Get", URL: "http://u:SECRET@images/disk.raw?sig=SECRET", Err: errors.New("refused")}
	convert := maskedFailures{temporal.GetDefaultFailureConverter()}
	for _, err := range []error{
		raw, fmt.Errorf("fetch: %w", raw), fault.New(fault.Unreachable, "fetch: %w", raw),
		temporal.NewApplicationError("fetch http://u:SECRET@h/", "unreachable", raw),
	} {
		text := protojson.Format(convert.ErrorToFailure(err))
		require.NotContains(t, text, "SECRET")
		require.Contains(t, text, "http://")
	}
	require.Nil(t, convert.ErrorToFailure(nil))
	require.IsType(t, convert, options("any", "test", zap.NewNop()).FailureConverter, "whichever namespace the client is of")
}
