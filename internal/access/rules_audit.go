package access

// The rules of the audit and of service accounts.
var (
	AuditList   = define("temper:audit:list", "read who asked for which change", systemReader)
	TokenList   = define("temper:token:list", "read which tokens there are", systemReader)
	TokenCreate = define("temper:token:create", "make tokens of service accounts, which give no more than their maker has", systemAdmin)
	TokenDelete = define("temper:token:delete", "revoke tokens of service accounts", systemAdmin)
)
