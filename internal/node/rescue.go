package node

// RescuePassword is the argument of the step that ends a rescue: the hash of the password of the user rescue, in the format
// of crypt(3). The API hashes it, so that nothing but the request ever contains the password.
const RescuePassword = "rescue_password"

// RescueKeys is the argument with the public keys that may log in, too: a line each, as authorized_keys. Only Temper's agent knows it.
const RescueKeys = "rescue_ssh_keys"

// RescuePassword returns that argument of the operation's step, "" if no step has it.
func (o *Operation) RescuePassword() string { return o.rescueArg(RescuePassword) }

// RescueKeys returns that argument of the operation's step, "" if no step has it.
func (o *Operation) RescueKeys() string { return o.rescueArg(RescueKeys) }

func (o *Operation) rescueArg(name string) string {
	for _, s := range o.Steps {
		if value, ok := s.Args[name].(string); ok && s.Interface == "rescue" {
			return value
		}
	}
	return ""
}
