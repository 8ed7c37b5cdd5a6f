package node

import "go.temper.dev/temper/internal/jsonvalue"

// VerbRotatePassword is the word with which clients ask for a new password of a BMC.
const VerbRotatePassword = "rotate_bmc_password"

// PendingPassword is a password that a BMC is about to get, or has got. It is sealed before the BMC hears of it, so that
// after a crash at any point one of it and the node's own password is what the BMC has.
type PendingPassword struct {
	Operation int64  `json:"operation"` // that made it
	Password  string `json:"password"`
	// Properties are those of driver_info that have the password of the account.
	Properties []string `json:"properties"`
	// Spare: the operation creates the second account, and so has to remove it.
	Spare bool `json:"spare,omitempty"`
}

// PendingPasswordSecret is the name under which the pending password of a node is sealed. As the secrets in driver_info, it
// is bound to the BMC for which it was made.
const PendingPasswordSecret = "bmc_password/pending"

// AsPendingPassword returns the pending password that was sealed as v; nil if v is none.
func AsPendingPassword(v any) *PendingPassword {
	m, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	p := &PendingPassword{}
	p.Password, _ = m["password"].(string)
	p.Spare, _ = m["spare"].(bool)
	p.Operation, _ = jsonvalue.Int(m["operation"])
	all, _ := m["properties"].([]any)
	for _, one := range all {
		if name, ok := one.(string); ok {
			p.Properties = append(p.Properties, name)
		}
	}
	return p
}
