package bmc

import (
	"fmt"
	"strconv"
	"time"

	"go.temper.dev/temper/internal/jsonvalue"
)

// PropRequestTimeout is the property of driver_info that says for how many seconds answers of the BMC are awaited.
const PropRequestTimeout = "bmc_request_timeout"

const mostRequestTimeout = 60 // seconds

// FixedTimeout returns how long answers are awaited by driver_info; 0 = it does not say, so that the driver learns it.
func FixedTimeout(driverInfo map[string]any) (time.Duration, error) {
	seconds, ok := jsonvalue.Float(driverInfo[PropRequestTimeout])
	switch v := driverInfo[PropRequestTimeout].(type) {
	case nil:
		return 0, nil
	case string:
		if v == "" {
			return 0, nil
		}
		var err error
		seconds, err = strconv.ParseFloat(v, 64)
		ok = err == nil
	}
	if !ok || !(seconds >= 1 && seconds <= mostRequestTimeout) {
		return 0, fmt.Errorf("%s is not a number of seconds from 1 to %d", PropRequestTimeout, mostRequestTimeout)
	}
	return time.Duration(seconds * float64(time.Second)).Truncate(time.Millisecond), nil
}
