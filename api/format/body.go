package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonlimit"
	"go.temper.dev/temper/internal/jsonvalue"
)

// BodyClass is the limits on a request body, and the budget that it counts for.
type BodyClass struct {
	limits jsonlimit.Limits
	from   sender
	mended bool // text that can't be kept is changed; else such a body is refused
}

// The classes of request bodies (Ironic api/middleware limits the same: config
// drives and inventories are large, everything else is not). An inventory comes
// with the ramdisk's logs, one long string, which is not kept. Its texts come from firmware, which
// has strings of any bytes, and a server is not refused for them.
var (
	MaxBody           = BodyClass{jsonlimit.Limits{Bytes: 1 << 20, Elements: 50_000, Depth: maxDepth}, fromUsers, false}
	MaxBodyProvision  = BodyClass{jsonlimit.Limits{Bytes: 64 << 20, Elements: 50_000, Depth: maxDepth}, fromUsers, false}
	MaxBodyHeartbeat  = BodyClass{jsonlimit.Limits{Bytes: 128 << 10, Elements: 100, Depth: maxDepth}, fromAgents, false}
	MaxBodyInspection = BodyClass{
		jsonlimit.Limits{Bytes: 16 << 20, Text: 1 << 20, Kept: 4 << 20, Elements: 50_000, Depth: maxDepth}, fromInspections, true,
	}
)

const maxDepth = 25

// ReadJSON reads a body within its limits into v. No body leaves v as it is.
func ReadJSON(c *gin.Context, class BodyClass, v any) error {
	raw, err := ReadBody(c, class)
	if err != nil || len(bytes.TrimSpace(raw)) == 0 {
		return err
	}
	if err := jsonvalue.Unmarshal(raw, v); err != nil {
		return BadJSON(err)
	}
	return nil
}

// ReadBody reads a body within its limits. Its errors are answers already.
func ReadBody(c *gin.Context, class BodyClass) ([]byte, error) {
	raw, err := readingOf(c).read(c, class)
	switch {
	case jsonlimit.Exceeded(err) == jsonlimit.Bytes:
		return nil, fault.New(fault.TooLarge, "The request body %w", err)
	case jsonlimit.Exceeded(err) != "":
		return nil, fault.New(fault.Invalid, "The request body %w", err)
	case errors.Is(err, jsonlimit.ErrBusy):
		return nil, busyReading(c, err)
	case err != nil:
		return nil, fault.New(fault.Invalid, "The request body could not be read: %w", err)
	case class.mended:
		return raw, nil
	}
	if err := jsonvalue.Check(raw); err != nil {
		return nil, fault.New(fault.Invalid, "The request body can't be kept as it was sent: %w", err)
	}
	return raw, nil
}

// BadJSON is the answer to a body that encoding/json could not read into what was
// expected.
func BadJSON(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		if n, ok := strings.CutPrefix(wrong.Value, "number "); ok {
			return fault.New(fault.Invalid, "The request body has the number %s, which is out of range", Clip(n))
		}
		return fault.New(fault.Invalid, "The request body is of another shape: %s is not what is expected", jsonName(wrong.Value))
	}
	return fault.New(fault.Invalid, "The request body is not valid JSON: %w", err)
}

// jsonName is a kind of JSON value, as encoding/json calls it, with its article.
func jsonName(kind string) string {
	if kind == "object" || kind == "array" {
		return "an " + kind
	}
	return "a " + kind
}
