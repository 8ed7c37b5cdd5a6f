// Package v1alpha1 stands in for the package of the same name of ironic-standalone-operator, whose module is not published apart from
// its repository. baremetal-operator's provisioner reads such an object only where it is configured by one. The tests configure it by the
// environment, so it needs no more than the names.
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// IronicStatusReady is the type of a condition.
const IronicStatusReady = "Ready"

// Ironic is an installation of Ironic.
type Ironic struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec   IronicSpec
	Status IronicStatus
}

// IronicSpec says how it is reached.
type IronicSpec struct {
	APICredentialsName string
	TLS                TLS
}

// TLS names its certificate.
type TLS struct{ CertificateName string }

// IronicStatus says whether it is ready.
type IronicStatus struct{ Conditions []metav1.Condition }

// DeepCopyObject makes it an object of Kubernetes.
func (i *Ironic) DeepCopyObject() runtime.Object {
	c := *i
	return &c
}
