package bmc

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
)

// PropRequestTimeout is the property of driver_info that says for how many seconds answers of the BMC are awaited.
const PropRequestTimeout = "bmc_request_timeout"

const mostRequestTimeout = 60 // seconds

// FixedTimeout returns how long answers are awaited by driver_info; 0 = it does not say, so that the driver learns it.
func FixedTimeout(driverInfo map[string]any) (time.Duration, error) {
	var seconds float64
	err := error(nil)
	switch v := driverInfo[PropRequestTimeout].(type) {
	case nil:
		return 0, nil
	case float64:
		seconds = v
	case int:
		seconds = float64(v)
	case json.Number:
		seconds, err = v.Float64()
	case string:
		if v == "" {
			return 0, nil
		}
		seconds, err = strconv.ParseFloat(v, 64)
	default:
		seconds = math.NaN()
	}
	if err != nil || !(seconds >= 1 && seconds <= mostRequestTimeout) {
		return 0, fmt.Errorf("%s is not a number of seconds from 1 to %d", PropRequestTimeout, mostRequestTimeout)
	}
	return time.Duration(seconds * float64(time.Second)).Truncate(time.Millisecond), nil
}
