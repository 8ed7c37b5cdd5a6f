package finding

import (
	"cmp"
)

// Role says what part of an explanation a finding is.
type Role string

// The roles.
const (
	RoleWhat      Role = "what"      // what the node or the operation does
	RoleTrouble   Role = "trouble"   // what keeps it from going on, a sentence
	RoleNote      Role = "note"      // what is worth knowing and keeps nothing from going on, a sentence
	RoleWho       Role = "who"       // who asked for the operation, or works on it
	RoleAsked     Role = "asked"     // which end of the operation somebody asked for
	RoleWaits     Role = "waits"     // what it waits for
	RoleNow       Role = "now"       // the step that goes on
	RoleNext      Role = "next"      // what happens next
	RoleOtherwise Role = "otherwise" // what happens if what it waits for does not come
	RoleUsual     Role = "usual"     // how long the step has run and usually takes
	RoleAdvice    Role = "advice"    // what to do, sentences
	RoleStep      Role = "step"      // a clause about the step that runs and what it waits for
	RoleFact      Role = "fact"      // of an operation, in the details of its workflow
)

// Row is a row of Rows. In Words {name} is a parameter, and a part in brackets is left out unless all of its parameters are there.
type Row struct {
	Role  Role
	Words string // a sentence or clause without a full stop
	Title string // names it in a list of facts; "" = its role does
}

// Rows is the table of findings.
var Rows = map[Code]Row{}

func row(code Code, role Role, words string) Code {
	Rows[code] = Row{Role: role, Words: words}
	return code
}

func fact(code Code, title, words string) Code {
	Rows[code] = Row{Role: RoleFact, Words: words, Title: title}
	return code
}

func step(code Code, words string) Code { return row(code, RoleStep, words) }

// Findings about nodes and operations.
var (
	Idle              = row("idle", RoleWhat, "{state}[ since {since}], nobody holds it[: {error}]")
	OperationIs       = row("operation_state", RoleWhat, "[{state}, ]operation {operation} ({kind}) is {phase}[ since {since}]")
	SilentBMCAwaited  = row("operation_waits_for_silent_bmc", RoleWhat, "[{state}, ]operation {operation} ({kind}) waits for its BMC, which is silent[ since {since}]")
	OperationFailed   = row("operation_failed_undoing", RoleWhat, "[{state}, ]operation {operation} ({kind}) failed: {error}; undoing[ since {since}]")
	Maintained        = row("in_maintenance", RoleWhat, ", in maintenance[ with fault {fault}][ since {since}][ ({reason})]")
	PartAway          = row("part_away", RoleTrouble, "{sentence}")
	Unreconciled      = row("reconciliation_late", RoleTrouble, "{sentence}")
	WorkflowIDTaken   = row("workflow_id_taken", RoleTrouble, "The id of its workflow is taken by a workflow of somebody else ({workflow}): reconciliation starts it under another id")
	NotTakenUp        = row("not_taken_up", RoleTrouble, "No orchestrator has taken it up in {age}: it begins when one does")
	Flapping          = row("quarantined_while_conductors_flap", RoleTrouble, "It is in quarantine[ since {since}] because its conductors come and go. It is offered again when they have stayed for {hold}")
	Uncovered         = row("uncovered", RoleTrouble, "No live conductor covers it[ since {since}]: none with driver {driver} in {group} has its interfaces and takes work. It is offered to nobody until one is back")
	KnownConductors   = row("known_conductors", RoleTrouble, "Known conductors: {conductors}")
	WorkflowClosed    = row("workflow_closed", RoleTrouble, "Its workflow was {how}[ at {at}]: nobody works on it any more")
	WorkflowUnknown   = row("workflow_unknown", RoleTrouble, "Temporal does not know its workflow: nobody works on it")
	PausedInTemporal  = row("paused_in_temporal", RoleTrouble, "It is {pause}; {effect}, and its time limits stop meanwhile")
	StepFailed        = row("step_failed", RoleTrouble, "Step {step} failed: {error}")
	ConductorsDied    = row("conductors_died", RoleTrouble, "{error}")
	EarlierFailed     = row("earlier_operation_failed", RoleTrouble, "Operation {operation} ({kind}) failed: {error}")
	PowerFailed       = row("power_operation_failed", RoleTrouble, "Operation {operation} ({kind}) failed at {at}: {error}")
	UndoAfter         = row("undo_follows", RoleTrouble, "What earlier work left is still to be undone after it: {undo}[ ({error})]")
	UndoRefused       = row("undo_refused", RoleTrouble, "The hardware refused the undo of earlier work: {undo}[ ({error})]. It is tried again when somebody retries it, changes how the BMC is reached, or boots the node anew")
	UndoFailed        = row("undo_failed", RoleTrouble, "The last try to undo what earlier work left failed: {error}")
	BMCSilent         = row("bmc_silent", RoleTrouble, "The BMC [has given no answer since {since}][{is}]; {conductor} {asks}[ ({error})][; {again}]")
	HealthCritical    = row("health_critical", RoleTrouble, "Its health is critical[ since {since}]: {reasons}[. {offered}]")
	MaintenanceEnds   = row("maintenance_ends", RoleTrouble, "The maintenance ends by itself {when}[; then operation {operation} ({kind}) can be retried]")
	UnusualCall       = row("late_call", RoleTrouble, "It takes unusually long: the agent has not called since {since} ({expected})")
	UnusualPower      = row("late_power", RoleTrouble, "It takes unusually long: {power} was asked for and does not come[; {failures} of {limit} attempts have failed]")
	UnusualAnswer     = row("late_answer", RoleTrouble, "It takes unusually long: the agent gives no answer since {since}")
	UnusualWait       = row("late_wait", RoleTrouble, "It takes unusually long: it waits since {since}")
	UnusualStill      = row("late_standstill", RoleTrouble, "It takes unusually long: it stands still at {percent} %[ since {since}]")
	UnusualPace       = row("late_pace", RoleTrouble, "It takes unusually long: {percent} % was done in {ran}[; at this pace all of it takes {all}]")
	UnusualStep       = row("late_step", RoleTrouble, "It takes unusually long: {runs}[; {usually}]")
	EndedBecauseLate  = row("ended_because_late", RoleTrouble, "When it was ended, step {step} took unusually long: {meaning}")
	NeverInspected    = row("never_inspected", RoleNote, "It was never inspected, so Temper does not know its disks and their serial numbers: its BMC or its firmware's setup shows them")
	DecisionLater     = row("decision_later", RoleNote, "A decision is possible when that is mended ({away})")
	ConsoleFailed     = row("console_failed", RoleNote, "Its console failed at {at}[ ({error})][; {again}]")
	ConsoleUnheld     = row("console_unheld", RoleNote, "Its console is enabled, and no conductor holds it yet")
	HardwareDiffers   = row("hardware_differs", RoleNote, "Its last inspection, at {at}, found {differences}")
	Owner             = row("owner", RoleWho, "{who}")
	AskedToEnd        = row("asked_to_end", RoleAsked, "{ask}[ by {who}][ ({reason})][ since {since}]")
	WaitsFor          = row("waits_for", RoleWaits, "{for}[; {otherwise}]")
	WaitsForTakeOver  = row("waits_for_take_over", RoleWaits, "another conductor, which takes step {step} over within seconds")
	StepNow           = row("step_now", RoleNow, "step {step}[ ({tries})]")
	StepNext          = row("step_next", RoleNext, "step {step}[ ({tries})][, {when}]")
	EndNext           = row("end_next", RoleNext, "the operation ends[, and the node is {state}][, {when}][; then operation {earlier} ({earlier kind}) can be retried]")
	FailsNext         = row("fails_unless_decided", RoleNext, "it fails unless somebody decides")
	TryNext           = row("try_next", RoleNext, "another try of step {step}")
	UndoNext          = row("undo_next", RoleNext, "an undo of what earlier work left: {undo}")
	ClosedNext        = row("closed_next", RoleNext, "reconciliation ends it some seconds after its workflow has ended, and undoes what it left half done")
	LostNext          = row("lost_next", RoleNext, "reconciliation ends it when Temporal has not known it for some seconds or, where very many are unknown at once, for ten minutes")
	EndsAfter         = row("ends_next", RoleNext, "[step {step} ends, then ][what it may have left half done is undone ({undo}), then ]it ends[ and {then}]")
	FailsWithout      = row("fails_without_conductor", RoleOtherwise, "{fails} at {at} if none comes[ ({overdue})]")
	UsualTime         = row("usual_time", RoleUsual, "{runs}; {usually}")
	CodeAdvice        = row("advice", RoleAdvice, "What to do: {advice}")
	CoverFirst        = row("advice_conductor_first", RoleAdvice, "What to do first: {first}. What to do about the failure: {advice}")
	ChooseRetry       = row("choose_retry", RoleAdvice, "Retry one of them: {which}")
	ReachAgent        = row("reach_agent", RoleAdvice, "The agent still calls, so it runs and reaches Temper. Check whether the conductors reach the agent's address: a firewall may stop them, or the agent may give a wrong address")
	AsAdvised         = row("as_advised", RoleAdvice, "{advice}")
	RetryCovered      = row("retry_covered", RoleAdvice, "A conductor covers the node now, so retry")
	RetryReachChanged = row("retry_reach_changed", RoleAdvice, "How the BMC is reached was changed at {at}, after that failure, so retry")
	RetryImageChanged = row("retry_image_changed", RoleAdvice, "What is deployed, or to which disk, was changed at {at}, after that failure, so retry")
	Ended             = row("operation_ended", RoleWhat, "operation {operation} ({kind}) {how}")
	Since             = fact("since", "Since", "{at}")
	At                = fact("at", "At", "{at}")
	RunsStep          = fact("runs_step", "Runs step", "{step}[ ({tries})][, since {at}]")
	Error             = fact("error", "Error", "{error}")
	Cause             = fact("cause", "Cause", "{cause}")
	Given             = fact("given_to_conductors", "Who", "with the conductors of driver {driver} since {at}")
	OnConductor       = fact("on_conductor", "Who", "on {conductor}")
	AtTheLatest       = fact("at_the_latest", "At the latest", "{at}")
	ToldAt            = fact("told_at", "Told at", "{at}")
)

// Clauses about what a running step waits for.
var (
	PowerAsked     = step("power_asked", "{power} asked at {at}")
	PowerNoAnswer  = step("power_not_answered", "the BMC has not answered that request")
	PowerNotNoted  = step("power_answer_not_recorded", "no answer to that request is recorded")
	MediumAsked    = step("medium_asked", "{medium} asked for at {at}")
	PoweredOn      = step("powered_on", "[medium {medium} inserted, ]power on at {at}")
	AgentHas       = step("agent_has", "at {at} its agent {did}")
	AgentHasNot    = step("agent_has_not_called", "its agent has not called since")
	BIOSWritten    = step("bios_settings_written", "BIOS settings {settings} written at {at}, for the boot to apply")
	FirmwareSent   = step("firmware_update_sent", "update of the firmware {component} sent at {at}")
	MediumMade     = step("medium_being_made", "the API makes the CD {medium} of its kernel and its ramdisk since {at}")
	ImageAwaited   = step("image_being_fetched", "Temper fetches the image since {at}, to serve it to the agent")
	MediumRead     = step("medium_was_read", "it has read {read}, the last at {at}")
	BootLookedAt   = step("boot_looked_at", "without a sign of the boot until {at} it is switched off and on again, or the step fails")
	MediumUnread   = step("medium_was_not_read", "nothing has read its CD yet")
	CommandSent    = step("command_sent", "[{command} was ]sent to the agent at {at}")
	CalledLast     = step("called_last", "it called last at {at}")
	StillCalls     = step("still_calls", "it still calls, last at {at}")
	NoTimeLimit    = step("no_time_limit", "it has no time limit as long as the agent answers")
	EndsAbout      = step("ends_about", "ends about {at}")
	CallAwaited    = step("call_awaited", "the step waits for the next call of the agent since {at}")
	AgentAsked     = step("agent_asked", "the agent at {address}[ called at {called} and] was asked at {at}, and has not answered yet")
	AgentNoAnswer  = step("agent_not_answered", "the agent at {address}[ called at {called} and] has not answered since {at}[ ({error})]")
	BMCNoAnswer    = step("bmc_not_answered", "the BMC has not answered since {at}[ ({error})]")
	BMCSlow        = step("bmc_slow", "the BMC answers slowly ({took})")
	BMCAsked       = step("bmc_asked", "the BMC was asked at {at}")
	EarlierRequest = step("earlier_request", "the BMC may still carry out an earlier request ({request})")
	PauseSince     = step("pause_since", "a pause since {at}")
	AnswersSlowly  = step("answers_slowly", "it answers slowly ({took})")
	Shows          = step("shows", "{who} {seen}[, and no more since {still}]")
	HasShown       = step("has_shown", "at {at} {who} {seen}")
	NoAnswerSince  = step("no_answer_since", "{who} has not answered since {at} ({error})")
	LookedAgain    = step("looked_at_again", "looked at again every {every}")
	LookedAgainIf  = step("looked_at_again_if_alive", "looked at again every {every} if {conductor} is still alive, whose last heartbeat was at {at}")
	LookedAlive    = step("looked_at_while_alive", "looked at again every {every} as long as its conductor is alive")
	NotLooked      = step("not_looked_at", "no conductor has looked since {at}[: {conductor} has to][, and {away}]")
	NoConductorFor = step("no_live_conductor_looks", "{conductor} is not alive: the conductor that takes the step over looks again")
	AttemptEnds    = step("attempt_ends", "attempt {attempt} of {attempts} ends at {at}[ {latest}], then it is tried again")
	ThisAttempt    = step("this_attempt_ends", "this attempt ends at {at}[ {latest}], then it is tried again")
	WaitEnds       = step("wait_ends", "ends at {at}[ {latest}]")
	GivesUp        = step("gives_up", "gives up at {at}[ {latest}]")
	OffMeanwhile   = step("off_meanwhile", "at {at} the BMC said {power}")
	AttemptsFailed = step("attempts_failed", "{failures} of {limit} attempts have failed, and after the last one {then}")
	FirstAttempt   = step("first_attempt", "the first of {limit} attempts sends it again until {at}, and after the last one {then}")
)

// titleOfRole are the titles of the other rows.
var titleOfRole = map[Role]string{
	RoleTrouble: "Trouble", RoleAsked: "Asked to end", RoleWaits: "Waits for", RoleNow: "Now", RoleNext: "Next", RoleStep: "Its step waits",
}

// Title names f in a list of facts.
func (f Finding) Title() string { return cmp.Or(Rows[f.Code].Title, titleOfRole[f.Role]) }
