package node

// RescuePassword is the argument of the step that ends a rescue: the hash of the password of the user rescue, in the format
// of crypt(3). The API hashes it, so that nothing but the request ever contains the password.
const RescuePassword = "rescue_password"

// RescuePassword returns that argument of the operation's step, "" if no step has it.
func (o *Operation) RescuePassword() string {
	for _, s := range o.Steps {
		if hash, ok := s.Args[RescuePassword].(string); ok && s.Interface == "rescue" {
			return hash
		}
	}
	return ""
}
