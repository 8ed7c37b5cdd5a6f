package worker

// MakeSchedule makes the reconciliation's schedule where it is missing.
var MakeSchedule = makeSchedule

// TriggerUnlessPaused is what a conductor does that joins or leaves.
var TriggerUnlessPaused = triggerUnlessPaused
