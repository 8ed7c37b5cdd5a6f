package node

// State is a provision state, in Ironic's words (common/states.py).
type State string

// The provision states. The target states that are no states of their own
// (deleted, rebuild, ...) are verbs.
const (
	Enroll         State = "enroll"
	Verifying      State = "verifying"
	Manageable     State = "manageable"
	Available      State = "available"
	Active         State = "active"
	ErrorState     State = "error"
	Deploying      State = "deploying"
	DeployWait     State = "wait call-back"
	DeployHold     State = "deploy hold"
	DeployFailed   State = "deploy failed"
	Deleting       State = "deleting"
	Cleaning       State = "cleaning"
	CleanWait      State = "clean wait"
	CleanHold      State = "clean hold"
	CleanFailed    State = "clean failed"
	Inspecting     State = "inspecting"
	InspectWait    State = "inspect wait"
	InspectFailed  State = "inspect failed"
	Adopting       State = "adopting"
	AdoptFailed    State = "adopt failed"
	Rescuing       State = "rescuing"
	RescueWait     State = "rescue wait"
	Rescue         State = "rescue"
	RescueFailed   State = "rescue failed"
	Unrescuing     State = "unrescuing"
	UnrescueFailed State = "unrescue failed"
	Servicing      State = "servicing"
	ServiceWait    State = "service wait"
	ServiceHold    State = "service hold"
	ServiceFailed  State = "service failed"
	NoState        State = "" // as a target: none
)

// stateSpec is everything that sets one state apart.
type stateSpec struct {
	class  Class
	target State // target_provision_state while in the state; "" = none
	failed State // where a failure here leads; "" where nothing runs that could fail
}

// stateSpecs is Ironic's add_state list. A node that is cleaned by hand keeps the
// target manageable all the way (TargetIn).
var stateSpecs = map[State]stateSpec{
	Enroll:     {class: ClassStable},
	Manageable: {class: ClassStable},
	Available:  {class: ClassStable},
	Active:     {class: ClassStable},
	ErrorState: {class: ClassStable},
	Rescue:     {class: ClassStable},

	Verifying:  {ClassWorking, Manageable, Enroll},
	Deploying:  {ClassWorking, Active, DeployFailed},
	Deleting:   {ClassWorking, Available, ErrorState},
	Cleaning:   {ClassWorking, Available, CleanFailed},
	Inspecting: {ClassWorking, Manageable, InspectFailed},
	Adopting:   {ClassWorking, Active, AdoptFailed},
	Rescuing:   {ClassWorking, Rescue, RescueFailed},
	Unrescuing: {ClassWorking, Active, UnrescueFailed},
	Servicing:  {ClassWorking, Active, ServiceFailed},

	DeployWait:  {ClassWaiting, Active, DeployFailed},
	CleanWait:   {ClassWaiting, Available, CleanFailed},
	InspectWait: {ClassWaiting, Manageable, InspectFailed},
	RescueWait:  {ClassWaiting, Rescue, RescueFailed},
	ServiceWait: {ClassWaiting, Active, ServiceFailed},

	DeployHold:  {ClassHolding, Active, DeployFailed},
	CleanHold:   {ClassHolding, Available, CleanFailed},
	ServiceHold: {ClassHolding, Active, ServiceFailed},

	DeployFailed:   {class: ClassFailed, target: Active},
	CleanFailed:    {class: ClassFailed, target: Available},
	InspectFailed:  {class: ClassFailed, target: Manageable},
	AdoptFailed:    {class: ClassFailed, target: Active},
	RescueFailed:   {class: ClassFailed, target: Rescue},
	UnrescueFailed: {class: ClassFailed, target: Active},
	ServiceFailed:  {class: ClassFailed, target: Active},
}

// Event moves a node along the life-cycle table. Those that clients send are
// also the verbs of PUT states/provision.
type Event string

// The events (Ironic common/state_machine.py).
const (
	EventManage   Event = "manage"
	EventProvide  Event = "provide"
	EventClean    Event = "clean"
	EventInspect  Event = "inspect"
	EventAdopt    Event = "adopt"
	EventDeploy   Event = "deploy"
	EventRebuild  Event = "rebuild"
	EventDelete   Event = "delete"
	EventRescue   Event = "rescue"
	EventUnrescue Event = "unrescue"
	EventService  Event = "service"
	EventAbort    Event = "abort"
	EventUnhold   Event = "unhold"
	EventWait     Event = "wait"
	EventResume   Event = "resume"
	EventHold     Event = "hold"
	EventDone     Event = "done"
	EventFail     Event = "fail"
)
