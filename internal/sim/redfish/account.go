package redfish

import (
	"errors"
	"fmt"
	"net/http"
	"unicode"

	"go.temper.dev/temper/internal/sim/machine"
)

const (
	accounts = root + "/AccountService/Accounts"
	roles    = root + "/AccountService/Roles"
)

// The lengths of passwords that BMCs take: the most is that of IPMI 2.0, which has the same accounts.
const minPassword, maxPassword = 8, 20

// accountRoutes has the account service.
func accountRoutes() map[string]resource {
	return map[string]resource{
		root + "/AccountService": {get: func(*call) (m, error) {
			return m{
				"@odata.type": "#AccountService.v1_15_0.AccountService", "@odata.id": root + "/AccountService", "Id": "AccountService",
				"Name": "Account Service", "ServiceEnabled": true, "Status": enabled, "Accounts": ref(accounts), "Roles": ref(roles),
				"MinPasswordLength": minPassword, "MaxPasswordLength": maxPassword,
			}, nil
		}},
		accounts:           {get: getAccounts, post: postAccount},
		accounts + "/{id}": {get: getAccount, patch: patchAccount, delete: deleteAccount},
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

func getAccounts(c *call) (m, error) {
	var members []string
	for _, a := range c.s.Accounts() {
		members = append(members, accounts+"/"+a.ID)
	}
	return collection(accounts, "ManagerAccount", "Accounts", members...), nil
}

func getAccount(c *call) (m, error) {
	for _, a := range c.s.Accounts() {
		if a.ID == c.PathValue("id") {
			return account(a), nil
		}
	}
	return nil, missing(c)
}

func account(a machine.Account) m {
	return m{
		"@odata.type": "#ManagerAccount.v1_12_0.ManagerAccount", "@odata.id": accounts + "/" + a.ID, "Id": a.ID, "Name": "Account of " + a.Username,
		"UserName": a.Username, "Password": nil, "Enabled": a.Enabled, "Locked": false, "RoleId": "Administrator",
		"AccountTypes": []string{"Redfish", "IPMI"}, "Links": m{"Role": ref(roles + "/Administrator")},
	}
}

// checkPassword is the BMC's rule for new passwords.
func checkPassword(password string) error {
	upper, lower, digit := false, false, false
	for _, r := range password {
		upper, lower, digit = upper || unicode.IsUpper(r), lower || unicode.IsLower(r), digit || unicode.IsDigit(r)
	}
	if len(password) < minPassword || len(password) > maxPassword || !upper || !lower || !digit {
		return problem(http.StatusBadRequest, "PropertyValueFormatError", password, "Password")
	}
	return nil
}

func postAccount(c *call, body m) (reply, error) {
	values := map[string]string{}
	for _, name := range []string{"UserName", "Password", "RoleId"} {
		text, ok := body[name].(string)
		if !ok || text == "" {
			return reply{}, problem(http.StatusBadRequest, "PropertyMissing", name)
		}
		values[name] = text
	}
	if err := checkPassword(values["Password"]); err != nil {
		return reply{}, err
	}
	a, err := c.s.AddAccount(values["UserName"], values["Password"])
	if errors.Is(err, machine.ErrAccountTaken) {
		return reply{}, problem(http.StatusBadRequest, "ResourceAlreadyExists", "ManagerAccount", "UserName", values["UserName"])
	}
	return reply{status: http.StatusCreated, location: accounts + "/" + a.ID, body: account(a)}, err
}

func patchAccount(c *call, body m) error {
	for k, v := range body {
		password, _ := v.(string)
		switch k {
		case "Password":
			if err := checkPassword(password); err != nil {
				return err
			}
		case "Enabled":
			if _, ok := v.(bool); !ok {
				return problem(http.StatusBadRequest, "PropertyValueTypeError", fmt.Sprint(v), k)
			}
		default:
			return unwritable(c, getAccount, k)
		}
	}
	err := c.s.ChangeAccount(c.PathValue("id"), func(a *machine.Account) {
		if password, ok := body["Password"].(string); ok {
			a.Password = password
		}
		if on, ok := body["Enabled"].(bool); ok {
			a.Enabled = on
		}
	})
	if errors.Is(err, machine.ErrNoAccount) {
		return missing(c)
	}
	return err
}

func deleteAccount(c *call) error {
	if c.s.RemoveAccount(c.PathValue("id")) != nil {
		return missing(c)
	}
	return nil
}
