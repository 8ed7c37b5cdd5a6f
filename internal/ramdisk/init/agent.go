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
	{parameter: "ipa-lldp-timeout", flag: "--lldp-timeout"},
	{parameter: "temper-advertise", flag: "--advertise"},
	{parameter: "ipa-insecure", flag: "--insecure", isSwitch: true},
	{parameter: "ipa-debug", flag: "--log-level=debug", isSwitch: true},
}

// agentState makes an agent that is started again go on as the one before.
const agentState = "/run/temper/agent.state"

// agentCommand reads the parameters and returns the agent's command line, or that of the SSH server when the agent has done its work.
func agentCommand() []string {
	if rescuing() {
		return []string{"/init", "rescue"}
	}
	b, err := os.ReadFile(parametersFile)
	if err != nil {
		say("parameters of the agent: %v", err)
	}
	command := []string{agentProgram, "agent", "--power", "--state=" + agentState}
	if canRescue() {
		command = append(command, "--rescue-dir="+rescueFolder)
	}
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
