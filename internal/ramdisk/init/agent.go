//go:build linux

package main

import (
	"os"
	"strings"
)

// agentProgram is the agent, with the command of that name.
const agentProgram = "/temper"

// agentFlags are the parameters that the agent takes, and its flags for them. Values of the last two are 1 or true.
var agentFlags = []struct {
	parameter, flag string
	isSwitch        bool
}{
	{parameter: "ipa-api-url", flag: "--api-url"},
	{parameter: "ipa-inspection-callback-url", flag: "--inspection-url"},
	{parameter: "ipa-node-uuid", flag: "--node"},
	{parameter: "ipa-ca-file", flag: "--ca-file"},
	{parameter: "temper-advertise", flag: "--advertise"},
	{parameter: "ipa-insecure", flag: "--insecure", isSwitch: true},
	{parameter: "ipa-debug", flag: "--log-level=debug", isSwitch: true},
}

// agentCommand reads the parameters and returns the agent's command line. The state makes an agent that is started again go on
// as the one before.
func agentCommand() []string {
	b, err := os.ReadFile(parametersFile)
	if err != nil {
		say("parameters of the agent: %v", err)
	}
	command := []string{agentProgram, "agent", "--power", "--state=/run/temper/agent.state"}
	if _, err := os.Stat(tokenFile); err == nil {
		command = append(command, "--token-file="+tokenFile)
	}
	return append(command, agentArguments(strings.Fields(string(b)))...)
}

// agentArguments turns parameters into flags. Of two values of a parameter the last counts.
func agentArguments(parameters []string) []string {
	values := map[string]string{}
	for _, p := range parameters {
		key, value, _ := strings.Cut(p, "=")
		values[key] = value
	}
	var args []string
	for _, f := range agentFlags {
		value := values[f.parameter]
		switch {
		case value == "":
		case !f.isSwitch:
			args = append(args, f.flag+"="+value)
		case value == "1" || strings.EqualFold(value, "true"):
			args = append(args, f.flag)
		}
	}
	return args
}
