package deploy_test

// kubernetesObject has what deploy/metal3 uses of Kubernetes' kinds. Any other key is refused, so that a misspelt one is found.
type kubernetesObject struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   kubernetesMeta
	Spec       struct {
		// Of a Service, a Deployment and a StatefulSet.
		Selector  any
		ClusterIP string `yaml:"clusterIP"`
		Ports     []struct {
			Name       string
			Port       int
			TargetPort string `yaml:"targetPort"`
		}
		ServiceName          string `yaml:"serviceName"`
		Replicas             int
		PodManagementPolicy  string `yaml:"podManagementPolicy"`
		Strategy             map[string]string
		Template             kubernetesPod
		VolumeClaimTemplates []struct {
			Metadata kubernetesMeta
			Spec     any
		} `yaml:"volumeClaimTemplates"`
		// Of a NetworkPolicy.
		PodSelector kubernetesSelector `yaml:"podSelector"`
		PolicyTypes []string           `yaml:"policyTypes"`
		Ingress     []struct {
			From []struct {
				PodSelector kubernetesSelector `yaml:"podSelector"`
			}
			Ports []struct{ Port int }
		}
	}
}

type kubernetesMeta struct {
	Name   string
	Labels map[string]string
}

type kubernetesSelector struct {
	MatchLabels map[string]string `yaml:"matchLabels"`
}

type kubernetesPod struct {
	Metadata kubernetesMeta
	Spec     struct {
		NodeSelector       map[string]string     `yaml:"nodeSelector"`
		HostNetwork        bool                  `yaml:"hostNetwork"`
		DNSPolicy          string                `yaml:"dnsPolicy"`
		EnableServiceLinks *bool                 `yaml:"enableServiceLinks"`
		AutomountToken     *bool                 `yaml:"automountServiceAccountToken"`
		GraceSeconds       int                   `yaml:"terminationGracePeriodSeconds"`
		SecurityContext    kubernetesRights      `yaml:"securityContext"`
		InitContainers     []kubernetesContainer `yaml:"initContainers"`
		Containers         []kubernetesContainer
		Volumes            []struct {
			Name      string
			EmptyDir  any                   `yaml:"emptyDir"`
			ConfigMap struct{ Name string } `yaml:"configMap"`
			Secret    struct {
				SecretName string `yaml:"secretName"`
				Optional   bool
			}
			HostPath  struct{ Path, Type string } `yaml:"hostPath"`
			Projected struct {
				DefaultMode int `yaml:"defaultMode"`
				Sources     []struct{ Secret struct{ Name string } }
			}
		}
	}
}

type kubernetesRights struct {
	RunAsUser       *int  `yaml:"runAsUser"`
	RunAsGroup      *int  `yaml:"runAsGroup"`
	FSGroup         *int  `yaml:"fsGroup"`
	RunAsNonRoot    bool  `yaml:"runAsNonRoot"`
	AllowEscalation *bool `yaml:"allowPrivilegeEscalation"`
	ReadOnly        bool  `yaml:"readOnlyRootFilesystem"`
	Capabilities    struct{ Drop, Add []string }
}

type kubernetesKey struct{ Name, Key string }

type kubernetesContainer struct {
	Name, Image     string
	Command, Args   []string
	SecurityContext kubernetesRights `yaml:"securityContext"`
	EnvFrom         []struct {
		ConfigMapRef struct{ Name string } `yaml:"configMapRef"`
	} `yaml:"envFrom"`
	Env []struct {
		Name, Value string
		ValueFrom   struct {
			SecretKeyRef    kubernetesKey `yaml:"secretKeyRef"`
			ConfigMapKeyRef kubernetesKey `yaml:"configMapKeyRef"`
			FieldRef        struct {
				FieldPath string `yaml:"fieldPath"`
			} `yaml:"fieldRef"`
		} `yaml:"valueFrom"`
	}
	Ports          []kubernetesPort
	ReadinessProbe struct {
		Exec           struct{ Command []string }
		TCPSocket      struct{ Port string } `yaml:"tcpSocket"`
		TimeoutSeconds int                   `yaml:"timeoutSeconds"`
	} `yaml:"readinessProbe"`
	VolumeMounts []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
		ReadOnly  bool   `yaml:"readOnly"`
	} `yaml:"volumeMounts"`
}

// kustomization has what deploy/metal3 uses of kustomize.
type kustomization struct {
	APIVersion       string `yaml:"apiVersion"`
	Kind, Namespace  string
	Resources        []string
	Images           []map[string]string
	GeneratorOptions struct {
		DisableNameSuffixHash bool `yaml:"disableNameSuffixHash"`
	} `yaml:"generatorOptions"`
	ConfigMapGenerator []struct {
		Name        string
		Envs, Files []string
	} `yaml:"configMapGenerator"`
}

type kubernetesPort struct {
	Name          string
	ContainerPort int `yaml:"containerPort"`
}
