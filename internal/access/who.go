package access

import "slices"

// Who rules allow, by the names that ironic/common/policy.py has for it. A service of the service project has system's member role, too:
// the authenticator for Keystone grants it.
var (
	systemAdmin   = []who{{system, Admin}}
	systemMember  = []who{{system, Member}}
	systemReader  = []who{{system, Reader}, {system, Service}}
	systemService = []who{{system, Service}}

	projectAdmin   = []who{{owner, Admin}}
	projectMember  = []who{{owner, Member}, {lessee, Member}}
	projectReader  = []who{{owner, Reader}, {lessee, Reader}}
	projectService = []who{{owner, Service}}
	ownerAdmin     = []who{{owner, Manager}} // an admin is a manager, too
	ownerMember    = []who{{owner, Member}}
	ownerReader    = []who{{owner, Reader}}
	lesseeAdmin    = []who{{lessee, Manager}}

	systemOrProjectMember = union(systemMember, projectMember, systemService)
	systemOrProjectReader = union(systemReader, projectReader, projectService)

	systemOrOwnerMemberAndLesseeAdmin = union(systemMember, systemService, ownerMember, lesseeAdmin, projectService)
	systemAdminOrOwnerAdmin           = union(systemAdmin, systemService, ownerAdmin, projectService)
	systemMemberOrOwnerAdmin          = union(systemMember, systemService, ownerAdmin, projectService)
	systemMemberOrOwnerMember         = union(systemMember, systemService, ownerMember, projectService)
	systemOrOwnerReader               = union(systemReader, ownerReader, projectService)
	systemMemberOrOwnerLesseeAdmin    = union(systemMember, systemService, ownerAdmin, lesseeAdmin, projectService)

	allocationMember = union(systemMember, ownerMember)
	allocationReader = union(systemReader, ownerReader)
	anyReader        = []who{{anywhere, Reader}, {anywhere, Service}}
)

func union(sets ...[]who) []who { return slices.Concat(sets...) }
