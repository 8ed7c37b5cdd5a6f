package explain

import (
	"cmp"
	"strings"
	"time"

	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// say makes the words of the findings.
func (v *view) say() {
	v.Trouble, v.Notes = []string{}, []string{}
	var advice []string
	subject := ""
	for i := range v.Findings {
		f := &v.Findings[i]
		words := f.Words(v.reader())
		switch f.Role {
		case finding.RoleWhat:
			if f.Code != finding.Maintained { // the time belongs to the paragraph; programs have it in a field
				v.What = words
				f.Parameters["since"] = since(v.Since)
				subject += finding.Of(f.Code, f.Parameters).Words(v.reader())
				*f = finding.Of(f.Code, f.Parameters)
				continue
			}
			subject += words
			bare := finding.Of(f.Code, f.Parameters)
			delete(bare.Parameters, "since")
			v.What += bare.Words(v.reader())
		case finding.RoleTrouble:
			v.Trouble = append(v.Trouble, words)
		case finding.RoleNote:
			v.Notes = append(v.Notes, words)
		case finding.RoleAdvice:
			advice = append(advice, words)
		case finding.RoleWho:
			v.Who = words
		case finding.RoleAsked:
			v.Asked = words
		case finding.RoleWaits:
			v.WaitingFor = words
		case finding.RoleNow:
			v.Now = words
		case finding.RoleNext:
			v.Next = words
		case finding.RoleOtherwise:
			v.Otherwise = words
		case finding.RoleUsual:
			v.Usual = words
		}
	}
	v.Advice = strings.Join(advice, ". ")
	v.subject = "Node " + finding.Label(v.n) + " is " + subject
	v.Timing = v.timing()
}

// timing says when Now ends or Next happens; "" if that is not known. What a dead conductor did begins again when another one takes
// it over, and nothing says when.
func (v *view) timing() string {
	if v.NextAt == nil || v.Now == "" && (v.Otherwise != "" || v.interrupted) {
		return ""
	}
	words := "at "
	if v.Now != "" {
		words = "until "
	}
	words += text.Moment(*v.NextAt)
	if !v.exact {
		words += " at the latest"
	}
	if late := finding.Overdue(*v.NextAt, v.answer, v.f.Now, v.away); late != "" {
		return words + text.Because(late)
	}
	return words + " (in " + text.Duration(max(v.NextAt.Sub(v.f.Now), 0).Round(time.Second)) + ")"
}

// Paragraph returns the whole explanation. commands are the Actions as commands.
func (e *Explanation) Paragraph(commands []string) string {
	out := append([]string{e.subject}, e.Trouble...)
	add := func(before, words string) {
		if words != "" {
			out = append(out, before+words)
		}
	}
	add("The operation is ", e.Who)
	add("It is asked to end: ", e.Asked)
	story := e.Story
	if story.running {
		words := text.Capital(story.Sentence)
		if story.Wait == nil && story.usually != "" {
			words += "; " + story.usually
		}
		out = append(out, words)
	}
	switch {
	case story.covers(e.WaitingFor):
	case e.WaitingFor == node.PausedForMaintenance:
		out = append(out, "It is "+node.PausedForMaintenance)
	default:
		add("It waits for ", e.WaitingFor+otherwise(e.Otherwise))
	}
	if (e.Power.SeenAt != nil || e.Power.Wanted != "") && !story.tellsPower(e.Power.Seen) {
		add("Its power: ", strings.ReplaceAll(e.Power.Text, "power ", ""))
	}
	out = append(out, e.Notes...)
	if e.Now != "" && !story.running {
		out = append(out, "Now: "+e.Now+after(", ", e.Timing))
	}
	if e.Next != "" {
		next := "Next: " + e.Next
		if e.Now == "" {
			next += after(", ", e.Timing)
		}
		out = append(out, next)
	}
	if !story.running || story.Wait != nil { // otherwise the story has it
		if !e.unusual {
			add("", capital(e.Usual))
		}
	}
	add("", e.Advice)
	if len(commands) > 0 {
		out = append(out, "You can: "+strings.Join(commands, "; "))
	}
	return strings.Join(out, ". ") + "."
}

// Brief returns three lines: what happens and why, until when or what comes next, and what to do. command is the first of the Actions
// as a command; "" = there is none.
func (e *Explanation) Brief(command string) []string {
	what := e.subject
	switch {
	case len(e.Trouble) > 0:
		what += ". " + e.Trouble[0]
	case e.Story.running:
		what += ". " + text.Capital(e.Story.Sentence)
	}
	until := "Next: nothing, until somebody asks for it"
	switch {
	case e.Otherwise != "":
		until = "Until: " + e.WaitingFor + " is there; " + e.Otherwise
	case e.Now != "" && e.Timing != "":
		until = text.Capital(e.Timing) + "; then " + e.Next
	case e.Next != "":
		until = "Next: " + e.Next + after(", ", e.Timing)
	}
	return []string{what + ".", until + ".", "You can: " + cmp.Or(command, "wait")}
}

func after(before, words string) string {
	if words == "" {
		return ""
	}
	return before + words
}

// capital is text.Capital, also of "".
func capital(s string) string {
	if s == "" {
		return ""
	}
	return text.Capital(s)
}

// otherwise appends what happens if what is waited for does not come.
func otherwise(clause string) string { return after("; ", clause) }
