package tui

import (
	"context"
	"errors"
	"io"
	"os"

	"charm.land/huh/v2"

	"durward"
)

// InitAnswers are the answers to the three questions of durward init. What is
// empty was not answered yet.
type InitAnswers struct {
	For         string // personal, team or locked-down
	Destructive string // remember, always, block or never: what happens before something is destroyed
	Record      string // all or calls
}

// AskInit asks for the answers that are missing. Leaving the form is an error of
// kind Invalid. With TERM=dumb, or ACCESSIBLE set, it asks line by line.
func AskInit(ctx context.Context, in io.Reader, out io.Writer, a *InitAnswers) error {
	var fields []huh.Field
	for _, q := range initQuestions(a) {
		if *q.answer != "" {
			continue
		}
		var options []huh.Option[string]
		for _, o := range q.options {
			options = append(options, huh.NewOption(o.text, o.word))
		}
		fields = append(fields, huh.NewSelect[string]().Title(q.title).Description(q.about).Options(options...).Value(q.answer))
	}
	if len(fields) == 0 {
		return nil
	}
	form := huh.NewForm(huh.NewGroup(fields...)).WithInput(in).WithOutput(out).
		WithAccessible(os.Getenv("ACCESSIBLE") != "" || os.Getenv("TERM") == "dumb")
	err := form.RunWithContext(ctx)
	if errors.Is(err, huh.ErrUserAborted) || ctx.Err() != nil {
		return durward.Errorf(durward.Invalid, "init", "the questions were not answered; nothing was changed")
	}
	if err != nil {
		return durward.Errorf(durward.Unavailable, "init", "nobody can be asked here: %w; --for, --ask-destructive and --record answer as well", err)
	}
	return nil
}

type initQuestion struct {
	title, about string
	options      []initOption
	answer       *string
}

type initOption struct{ word, text string }

func initQuestions(a *InitAnswers) []initQuestion {
	return []initQuestion{
		{"Who uses this Durward?", "It decides which policy is written; every line of it is yours to change.", []initOption{
			{"personal", "I do, at my own desk"}, {"team", "a team, or several agents that share servers"}, {"locked-down", "agents that may do nothing that was not accepted"},
		}, &a.For},
		{"Before a tool destroys something …", "What servers say of their tools decides which ones that are.", []initOption{
			{"remember", "ask me, and let me say that it holds again"}, {"always", "ask me every time"}, {"block", "do not let it happen"}, {"never", "do not ask"},
		}, &a.Destructive},
		{"What is kept of each call?", "That there was a call is always recorded, before it acts.", []initOption{
			{"all", "all of its arguments and its result, for 30 days"}, {"calls", "the beginning of both, and no more"},
		}, &a.Record},
	}
}
