// Package rbac runs Ironic's own tables of who may do what against Temper's API. They are the files test_rbac_system_scoped.yaml and
// test_rbac_project_scoped.yaml of ironic/tests/unit/api, which Debian's package python3-ironic has; make rbac fetches them.
package rbac
