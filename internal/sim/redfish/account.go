package redfish

import "go.temper.dev/temper/internal/sim/machine"

const (
	accounts = root + "/AccountService/Accounts"
	roles    = root + "/AccountService/Roles"
)

// accountRoutes has the account service. Its only account can't be changed.
func accountRoutes() map[string]resource {
	return map[string]resource{
		root + "/AccountService": {get: func(*call) (m, error) {
			return m{
				"@odata.type": "#AccountService.v1_15_0.AccountService", "@odata.id": root + "/AccountService", "Id": "AccountService",
				"Name": "Account Service", "ServiceEnabled": true, "Status": enabled, "Accounts": ref(accounts), "Roles": ref(roles),
			}, nil
		}},
		accounts: {get: func(*call) (m, error) {
			return collection(accounts, "ManagerAccount", "Accounts", accounts+"/1"), nil
		}},
		accounts + "/1": {get: func(c *call) (m, error) { return account(c.s), nil }},
		roles: {get: func(*call) (m, error) {
			return collection(roles, "Role", "Roles", roles+"/Administrator"), nil
		}},
		roles + "/Administrator": {get: func(*call) (m, error) {
			return m{
				"@odata.type": "#Role.v1_3_1.Role", "@odata.id": roles + "/Administrator", "Id": "Administrator", "Name": "Administrator",
				"RoleId": "Administrator", "IsPredefined": true,
				"AssignedPrivileges": []string{"Login", "ConfigureManager", "ConfigureUsers", "ConfigureComponents", "ConfigureSelf"},
			}, nil
		}},
	}
}

func account(s *machine.Server) m {
	return m{
		"@odata.type": "#ManagerAccount.v1_12_0.ManagerAccount", "@odata.id": accounts + "/1", "Id": "1", "Name": "Account of " + s.Username,
		"UserName": s.Username, "Password": nil, "Enabled": true, "Locked": false, "RoleId": "Administrator",
		"AccountTypes": []string{"Redfish"}, "Links": m{"Role": ref(roles + "/Administrator")},
	}
}
