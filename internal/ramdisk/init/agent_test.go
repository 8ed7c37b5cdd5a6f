//go:build linux

package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParametersBecomeFlagsOfTheAgent(t *testing.T) {
	require.Equal(t, []string{"--api-url=http://b", "--inspection-url=http://b/v1/continue_inspection", "--advertise=127.0.0.1:4711", "--insecure"}, agentArguments([]string{
		"temper-advertise=127.0.0.1:4711", "BOOT_IMAGE=/vmlinuz", "quiet", "ipa-api-url=http://a", "ipa-insecure=True", "ipa-debug=0",
		"ipa-inspection-callback-url=http://b/v1/continue_inspection", "ipa-api-url=http://b",
	}))
	require.Empty(t, agentArguments(nil))
}
